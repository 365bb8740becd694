// The larger of two elements at the same place, by lanes; one beat of each at a time.
`include "widths.vh"
module larger #(parameter LANES = 1, STOP_BITS = 1) (
    input wire clk,
    input wire rst,
    input wire a_valid,
    output wire a_ready,
    input wire [`PAYLOAD-1:0] a_payload,
    input wire b_valid,
    output wire b_ready,
    input wire [`PAYLOAD-1:0] b_payload,
    output wire y_valid,
    input wire y_ready,
    output wire [`PAYLOAD-1:0] y_payload
);
  wire fire = a_valid & b_valid & y_ready;
  assign {a_ready, b_ready, y_valid} = {3{fire}};
  assign y_payload[STOP_BITS+1:0] = a_payload[STOP_BITS+1:0];
  wire value = a_payload[1:0] == 0;
  genvar lane;
  generate
    for (lane = 0; lane < LANES; lane = lane + 1) begin : lanes
      localparam at = 2 + STOP_BITS + 8 * lane;
      wire second = value & ($signed(b_payload[at+:8]) > $signed(a_payload[at+:8]));
      assign y_payload[at+:8] = second ? b_payload[at+:8] : a_payload[at+:8];
    end
  endgenerate
endmodule
