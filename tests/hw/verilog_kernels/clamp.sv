// The elements of a beat between LOW and HIGH, one cycle later; empty tokens pass.
module clamp #(
    parameter int LANES = 1,
    parameter int STOP_BITS = 1,
    parameter int DATA_BITS = 8,
    parameter int LOW = -128,
    parameter int HIGH = 127
) (
    input  logic clk,
    input  logic rst,
    input  logic x_valid,
    output logic x_ready,
    input  logic [DATA_BITS+STOP_BITS+1:0] x_payload,  // {data, stop, kind}
    output logic y_valid,
    input  logic y_ready,
    output logic [DATA_BITS+STOP_BITS+1:0] y_payload
);
  // A beat waits here; it can leave in the cycle in which the next one comes.
  logic full;
  logic [DATA_BITS+STOP_BITS+1:0] beat;
  assign x_ready = !full || y_ready;
  assign y_valid = full;
  assign y_payload = beat;

  logic [DATA_BITS-1:0] clamped;
  for (genvar lane = 0; lane < LANES; lane++) begin : lanes
    logic signed [7:0] x;
    assign x = x_payload[2+STOP_BITS+8*lane+:8];
    assign clamped[8*lane+:8] = x < LOW ? LOW[7:0] : x > HIGH ? HIGH[7:0] : x;
  end

  always_ff @(posedge clk)
    if (rst) full <= 0;
    else if (x_ready) begin
      full <= x_valid;
      beat <= x_payload[1:0] == 0 ? {clamped, x_payload[STOP_BITS+1:0]} : x_payload;
    end
endmodule
