// -x with -128 as 127, in a pipeline of two stages behind the handshake.
module negate #(parameter LANES = 1, STOP_BITS = 1, DATA_BITS = 8) (
    input wire clk,
    input wire rst,
    input wire x_valid,
    output wire x_ready,
    input wire [DATA_BITS+STOP_BITS+1:0] x_payload,
    output wire y_valid,
    input wire y_ready,
    output reg [DATA_BITS+STOP_BITS+1:0] y_payload
);
  assign x_ready = x_valid & y_ready;
  assign y_valid = x_valid & y_ready;
  reg [DATA_BITS+STOP_BITS+1:0] first;
  integer lane, at;
  always @(posedge clk) begin
    first <= x_payload;
    y_payload <= first;
    if (first[1:0] == 0)
      for (lane = 0; lane < LANES; lane = lane + 1) begin
        at = 2 + STOP_BITS + 8 * lane;
        y_payload[at+:8] <= first[at+:8] == 8'h80 ? 8'h7f : -first[at+:8];
      end
  end
endmodule
