// A small design with everything that a test bench touches: control registers, a stream in and a
// stream out with two channels between, and a copier of memory words with a channel of its own.

module mini_fifo #(
    parameter int WIDTH = 8,
    parameter int DEPTH = 4
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             w_valid,
    output logic             w_ready,
    input  logic [WIDTH-1:0] w_payload,
    output logic             r_valid,
    input  logic             r_ready,
    output logic [WIDTH-1:0] r_payload
);
  logic [WIDTH-1:0] store[DEPTH];
  logic [$clog2(DEPTH)-1:0] head, tail;
  logic [$clog2(DEPTH):0] level;

  assign w_ready = level != DEPTH;
  assign r_valid = level != 0;
  assign r_payload = store[head];

  always_ff @(posedge clk) begin
    if (w_valid && w_ready) store[tail] <= w_payload;
    if (rst) {head, tail, level} <= '0;
    else begin
      level <= level + (w_valid && w_ready) - (r_valid && r_ready);
      tail <= tail + (w_valid && w_ready);
      head <= head + (r_valid && r_ready);
    end
  end
endmodule

module mini #(
    parameter int BURSTS = 8,  // of four words, from address 0 to what lies behind
    parameter int CHANNELS = 3
) (
    input logic clk,
    input logic rst,

    input  logic [15:0] csr_awaddr,
    input  logic        csr_awvalid,
    output logic        csr_awready,
    input  logic [31:0] csr_wdata,
    input  logic [ 3:0] csr_wstrb,
    input  logic        csr_wvalid,
    output logic        csr_wready,
    output logic [ 1:0] csr_bresp,
    output logic        csr_bvalid,
    input  logic        csr_bready,
    input  logic [15:0] csr_araddr,
    input  logic        csr_arvalid,
    output logic        csr_arready,
    output logic [31:0] csr_rdata,
    output logic [ 1:0] csr_rresp,
    output logic        csr_rvalid,
    input  logic        csr_rready,

    input  logic        x_valid,
    output logic        x_ready,
    input  logic [35:0] x_payload,  // 4 lanes of 8 bits, stop 2, kind 2
    output logic        y_valid,
    input  logic        y_ready,
    output logic [35:0] y_payload,

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
    output logic        mem_bready,

    output logic                running,
    output logic [        47:0] cycle,
    output logic                done,
    output logic [CHANNELS-1:0] probe_push,
    output logic [CHANNELS-1:0] probe_pop
);

  // Channels 0: x, 1: y, 2: words
  logic [CHANNELS-1:0] w_valid, w_ready, r_valid, r_ready;
  logic [35:0] head_x;
  mini_fifo #(36, 2) fifo_x (clk, rst, w_valid[0], w_ready[0], x_payload, r_valid[0], r_ready[0], head_x);
  mini_fifo #(36, 4) fifo_y (clk, rst, w_valid[1], w_ready[1], head_x, r_valid[1], r_ready[1], y_payload);
  mini_fifo #(64, 8) fifo_m (clk, rst, w_valid[2], w_ready[2], mem_rdata, r_valid[2], r_ready[2], mem_wdata);

  assign w_valid[0] = x_valid;
  assign x_ready = w_ready[0];
  assign {w_valid[1], r_ready[0]} = {2{r_valid[0] && w_ready[1]}};
  assign y_valid = r_valid[1];
  assign r_ready[1] = y_ready;
  assign probe_push = w_valid & w_ready;
  assign probe_pop = r_valid & r_ready;

  // Copier: the address of burst n is 32 n, its copy lies BURSTS bursts further.
  logic [15:0] ar, aw, w, b;
  assign {mem_arsize, mem_awsize, mem_arburst, mem_awburst} = {3'd3, 3'd3, 2'd1, 2'd1};
  assign {mem_arlen, mem_awlen, mem_wstrb} = {8'd3, 8'd3, 8'hff};
  assign mem_arvalid = running && ar != BURSTS;
  assign mem_araddr = 32 * ar;
  assign w_valid[2] = mem_rvalid;
  assign mem_rready = w_ready[2];
  assign mem_awvalid = running && aw != BURSTS;
  assign mem_awaddr = 32 * (BURSTS + aw);
  assign mem_wvalid = r_valid[2];
  assign r_ready[2] = mem_wready;
  assign mem_wlast = w[1:0] == 3;
  assign mem_bready = '1;

  logic ended;
  logic [31:0] reads, writes;
  logic [31:0] busy[CHANNELS], starved[CHANNELS], full[CHANNELS];
  always_ff @(posedge clk) begin
    ar <= ar + (mem_arvalid && mem_arready);
    aw <= aw + (mem_awvalid && mem_awready);
    w <= w + (mem_wvalid && mem_wready);
    b <= b + (mem_bvalid && mem_bready);
    reads <= reads + (mem_rvalid && mem_rready);
    writes <= writes + (mem_wvalid && mem_wready);
    if (y_valid && y_ready && y_payload[1:0] == 2) ended <= '1;
    if (running) begin
      cycle <= cycle + 1;
      for (int c = 0; c < CHANNELS; c++) begin
        busy[c] <= busy[c] + probe_pop[c];
        starved[c] <= starved[c] + !r_valid[c];
        full[c] <= full[c] + !w_ready[c];
      end
    end
    if (running && ended && b == BURSTS) begin
      running <= '0;
      done <= '1;
    end
    if (csr_awvalid && csr_awready && csr_awaddr == 0 && csr_wdata[0]) running <= '1;
    if (rst) begin
      {ar, aw, w, b, reads, writes, ended, running, done, cycle} <= '0;
      for (int c = 0; c < CHANNELS; c++) {busy[c], starved[c], full[c]} <= '0;
    end
  end

  // Control registers; a write needs address and data together.
  assign csr_awready = csr_awvalid && csr_wvalid && !csr_bvalid;
  assign csr_wready = csr_awready;
  assign csr_arready = !csr_rvalid;
  assign {csr_bresp, csr_rresp} = '0;
  wire [11:4] channel = csr_araddr[11:4];
  always_ff @(posedge clk) begin
    csr_bvalid <= !rst && (csr_awready || (csr_bvalid && !csr_bready));
    csr_rvalid <= !rst && ((csr_arvalid && csr_arready) || (csr_rvalid && !csr_rready));
    if (csr_arvalid && csr_arready)
      if (csr_araddr[12])
        csr_rdata <= csr_araddr[3:2] == 0 ? busy[channel]
            : csr_araddr[3:2] == 1 ? starved[channel] : full[channel];
      else
        case (csr_araddr[11:0])
          12'h04: csr_rdata <= {30'b0, done, running};
          12'h10: csr_rdata <= cycle[31:0];
          12'h14: csr_rdata <= {16'b0, cycle[47:32]};
          12'h18: csr_rdata <= reads;
          12'h1c: csr_rdata <= writes;
          default: csr_rdata <= '0;
        endcase
  end

endmodule
