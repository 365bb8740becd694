// The five channels of the memory bus as five raw streams: whoever drives the streams drives the bus.

module bus_pass (
    input logic clk,
    input logic rst,
    input logic running,

    input  logic        ar_valid,
    output logic        ar_ready,
    input  logic [39:0] ar_payload,  // {length, address}
    output logic        r_valid,
    input  logic        r_ready,
    output logic [66:0] r_payload,   // {last, response, data}
    input  logic        aw_valid,
    output logic        aw_ready,
    input  logic [39:0] aw_payload,
    input  logic        w_valid,
    output logic        w_ready,
    input  logic [72:0] w_payload,   // {last, strobe, data}
    output logic        b_valid,
    input  logic        b_ready,
    output logic [ 1:0] b_payload,

    output logic [31:0] mem_araddr,
    output logic [ 7:0] mem_arlen,
    output logic [ 2:0] mem_arsize,
    output logic [ 1:0] mem_arburst,
    output logic        mem_arvalid,
    input  logic        mem_arready,
    input  logic [63:0] mem_rdata,
    input  logic [ 1:0] mem_rresp,
    input  logic        mem_rlast,
    input  logic        mem_rvalid,
    output logic        mem_rready,
    output logic [31:0] mem_awaddr,
    output logic [ 7:0] mem_awlen,
    output logic [ 2:0] mem_awsize,
    output logic [ 1:0] mem_awburst,
    output logic        mem_awvalid,
    input  logic        mem_awready,
    output logic [63:0] mem_wdata,
    output logic [ 7:0] mem_wstrb,
    output logic        mem_wlast,
    output logic        mem_wvalid,
    input  logic        mem_wready,
    input  logic [ 1:0] mem_bresp,
    input  logic        mem_bvalid,
    output logic        mem_bready
);

  assign {mem_arlen, mem_araddr} = ar_payload;
  assign {mem_awlen, mem_awaddr} = aw_payload;
  assign {mem_wlast, mem_wstrb, mem_wdata} = w_payload;
  assign {mem_arsize, mem_awsize} = {3'd3, 3'd3};
  assign {mem_arburst, mem_awburst} = {2'd1, 2'd1};
  assign {mem_arvalid, mem_awvalid, mem_wvalid} = {ar_valid, aw_valid, w_valid};
  assign {ar_ready, aw_ready, w_ready} = {mem_arready, mem_awready, mem_wready};
  assign {r_valid, b_valid} = {mem_rvalid, mem_bvalid};
  assign {mem_rready, mem_bready} = {r_ready, b_ready};
  assign r_payload = {mem_rlast, mem_rresp, mem_rdata};
  assign b_payload = mem_bresp;

endmodule
