// Passes beats on, but for the mistakes that lane 0 of a value asks for.
module broken #(
    parameter int WIDTH = 1,
    parameter int STOP_BITS = 1
) (
    input  logic clk,
    input  logic rst,
    input  logic running,
    output logic error,
    input  logic x_valid,
    output logic x_ready,
    input  logic [WIDTH-1:0] x_payload,
    output logic y_valid,
    input  logic y_ready,
    output logic [WIDTH-1:0] y_payload
);
  typedef enum logic [7:0] {
    NONE, WRONG_VALUE, LOSES, CHANGES, KIND, DONE_CARRIES, AFTER_DONE, NO_DONE, OWN_ERROR, LOW
  } mistake_t;
  localparam logic [7:0] FIRST = 100;

  // What was asked for lasts until the end of the run.
  mistake_t mistake;
  logic more;
  logic [7:0] lane;
  logic [1:0] kind;
  assign lane = x_payload[2+STOP_BITS+:8];
  assign kind = x_payload[1:0];
  always_ff @(posedge clk)
    if (rst || !running) mistake <= NONE;
    else if (x_valid && x_ready && kind == 0 && lane > FIRST && lane <= FIRST + LOW)
      mistake <= mistake_t'(lane - FIRST);

  logic [7:0] waiting;
  always_ff @(posedge clk) waiting <= x_valid && !y_ready ? waiting + 1 : 0;
  always_ff @(posedge clk)
    if (rst) more <= 0;
    else more <= mistake == AFTER_DONE && (more || x_valid && x_ready && kind == 2);

  always_comb begin
    x_ready = x_valid && (y_ready || mistake == LOSES);
    y_valid = (x_valid && x_ready || more) && !(mistake == NO_DONE && kind == 2);
    y_payload = x_payload;
    error = mistake == OWN_ERROR;
    unique case (mistake)
      WRONG_VALUE: if (kind == 0) y_payload[2+STOP_BITS] = !x_payload[2+STOP_BITS];
      CHANGES: if (kind == 0) y_payload[2+STOP_BITS+:8] = x_payload[2+STOP_BITS+:8] + waiting;
      KIND: y_payload[1:0] = 3;
      DONE_CARRIES: if (kind == 2) y_payload[WIDTH-1] = 1;
      LOW: if (kind == 1) y_payload[WIDTH-1] = 1;
      default: ;
    endcase
    if (more) y_payload = 0;
  end
endmodule
