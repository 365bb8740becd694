// Checks in every cycle that a master follows AXI4: stable requests, legal bursts.

module axi_checks #(
    parameter int ADDRESS_BITS = 32,
    parameter int DATA_BYTES   = 8
) (
    input logic        clk,
    input logic        rst,
    input logic [47:0] cycle,

    input logic [ADDRESS_BITS-1:0] araddr,
    input logic [             7:0] arlen,
    input logic [             2:0] arsize,
    input logic [             1:0] arburst,
    input logic                    arvalid,
    input logic                    arready,
    input logic [ADDRESS_BITS-1:0] awaddr,
    input logic [             7:0] awlen,
    input logic [             2:0] awsize,
    input logic [             1:0] awburst,
    input logic                    awvalid,
    input logic                    awready,
    input logic [8*DATA_BYTES-1:0] wdata,
    input logic [  DATA_BYTES-1:0] wstrb,
    input logic                    wlast,
    input logic                    wvalid,
    input logic                    wready,

    output logic error  // a rule was broken since reset
);

  localparam int REQUEST = ADDRESS_BITS + 8 + 3 + 2;
  localparam int BEAT = 9 * DATA_BYTES + 1;

  wire [REQUEST-1:0] ar = {araddr, arlen, arsize, arburst};
  wire [REQUEST-1:0] aw = {awaddr, awlen, awsize, awburst};
  wire [BEAT-1:0] w = {wdata, wstrb, wlast};
  logic ar_waits, aw_waits, w_waits;
  logic [REQUEST-1:0] ar_before, aw_before;
  logic [BEAT-1:0] w_before;

  function automatic logic legal(input string channel, input logic [REQUEST-1:0] request);
    logic [ADDRESS_BITS-1:0] address;
    logic [7:0] length;
    logic [2:0] size;
    logic [1:0] burst;
    {address, length, size, burst} = request;
    legal = '1;
    if (burst != 2'b01) begin
      legal = '0;
      $display("%s: cycle %0d: burst type %0d, only INCR (1) is served", channel, cycle, burst);
    end
    if (size != 3'($clog2(DATA_BYTES)) || address % DATA_BYTES != 0) begin
      legal = '0;
      $display("%s: cycle %0d: address 0x%0h, size %0d: only whole words of %0d bytes are served",
               channel, cycle, address, size, DATA_BYTES);
    end
    if (64'(address[11:0]) + (64'(length) + 1) * DATA_BYTES > 4096) begin
      legal = '0;
      $display("%s: cycle %0d: a burst of %0d beats from 0x%0h crosses a 4 KiB boundary",
               channel, cycle, length + 9'd1, address);
    end
  endfunction

  always_ff @(posedge clk) begin
    if (rst) begin
      error <= '0;
      ar_waits <= '0;
      aw_waits <= '0;
      w_waits <= '0;
    end else begin
      if (ar_waits && !(arvalid && ar == ar_before)) begin
        error <= '1;
        $display("mem_ar: cycle %0d: changed or withdrawn before it was accepted", cycle);
      end
      if (aw_waits && !(awvalid && aw == aw_before)) begin
        error <= '1;
        $display("mem_aw: cycle %0d: changed or withdrawn before it was accepted", cycle);
      end
      if (w_waits && !(wvalid && w == w_before)) begin
        error <= '1;
        $display("mem_w: cycle %0d: changed or withdrawn before it was accepted", cycle);
      end
      if (arvalid && arready && !legal("mem_ar", ar)) error <= '1;
      if (awvalid && awready && !legal("mem_aw", aw)) error <= '1;
      ar_waits <= arvalid && !arready;
      aw_waits <= awvalid && !awready;
      w_waits <= wvalid && !wready;
      ar_before <= ar;
      aw_before <= aw;
      w_before <= w;
    end
  end

endmodule
