// AXI4 memory with defined timing; the rules are in docs/memory-timing.md.
//
// Every `ready` and `valid` depends on registers and on the run's cycle alone, never on what the
// master does in the same cycle. Bursts are answered in order; there are no IDs.

`include "stalls.svh"

module axi_memory #(
    parameter int ADDRESS_BITS = 32,
    parameter int DATA_BYTES   = 8,
    // Contents: COUNT words from FIRST on, window after window, 64 bits each, the first lowest.
    parameter int WINDOWS      = 1,
    parameter logic [64*WINDOWS-1:0] FIRST = '0,
    parameter logic [64*WINDOWS-1:0] COUNT = '1,
    parameter int WORDS        = 1024,   // of all windows
    parameter int QUEUE        = 64     // bursts that can be in flight, a power of two
) (
    input logic        clk,
    input logic        rst,
    input logic        running,
    input logic [47:0] cycle,

    // settings, constant during a run
    input logic [31:0] words,  // of the image; addresses beyond it are errors
    input logic [31:0] read_latency,
    input logic [31:0] read_interval,
    input logic [31:0] read_outstanding,
    input logic [31:0] write_latency,
    input logic [31:0] write_interval,
    input logic [31:0] write_outstanding,
    input logic [159:0] stall_key,  // 32 bits each of B, W, AW, R, AR
    input logic [159:0] stall_threshold,
    input logic        refusing,       // whether there are answers that are errors:
    input logic [31:0] refused_read,   // to this word that is read, counted from 1 since `load`
    input logic [31:0] refused_write,  // to this burst that is written
    input logic [ 1:0] refusal,

    // memory image: <folder>/<case_number>/memory.hex, written back to memory_after.hex
    input logic [31:0] case_number,
    input logic        load,  // before a run, when no burst may be in flight
    input logic        dump,

    input  logic [ADDRESS_BITS-1:0] araddr,
    input  logic [             7:0] arlen,
    input  logic                    arvalid,
    output logic                    arready,
    output logic [8*DATA_BYTES-1:0] rdata,
    output logic [             1:0] rresp,
    output logic                    rlast,
    output logic                    rvalid,
    input  logic                    rready,
    input  logic [ADDRESS_BITS-1:0] awaddr,
    input  logic [             7:0] awlen,
    input  logic                    awvalid,
    output logic                    awready,
    input  logic [8*DATA_BYTES-1:0] wdata,
    input  logic [  DATA_BYTES-1:0] wstrb,
    input  logic                    wlast,
    input  logic                    wvalid,
    output logic                    wready,
    output logic [             1:0] bresp,
    output logic                    bvalid,
    input  logic                    bready,

    output logic error  // this module has reported a mistake since reset
);

  localparam int WORD_SHIFT = $clog2(DATA_BYTES);
  localparam int Q = $clog2(QUEUE);
  localparam int INDEX = WORDS > 1 ? $clog2(WORDS) : 1;
  localparam logic [1:0] OKAY = 2'b00, SLVERR = 2'b10;

  logic [8*DATA_BYTES-1:0] mem[WORDS];

  // Where a word of the address space lies in `mem`; beyond its end where no window holds it.
  function automatic logic [63:0] place(input logic [63:0] word);
    logic [63:0] passed;
    passed = '0;
    place = '1;
    for (int i = 0; i < WINDOWS; i++) begin
      if (word >= FIRST[64*i+:64] && word - FIRST[64*i+:64] < COUNT[64*i+:64])
        place = passed + word - FIRST[64*i+:64];
      passed += COUNT[64*i+:64];
    end
  endfunction

  logic [63:0] now;  // latencies and intervals count real cycles, stalls those of the run

  logic [4:0] stall;
  always_comb
    for (int c = 0; c < 5; c++)
      stall[c] = running && stepgen_stalled(stall_key[32*c+:32], stall_threshold[32*c+:32], cycle[31:0]);

  // ------------------------------------------------------------------------------------ reads

  // Public, because Verilator 5.048 breaks off where a queue of a design that never reads, or never
  // writes, becomes a constant.
  logic [ADDRESS_BITS-1:0] r_address[QUEUE] /* verilator public_flat_rd */;
  logic [7:0] r_length[QUEUE] /* verilator public_flat_rd */;
  logic [63:0] r_start[QUEUE] /* verilator public_flat_rd */;
  logic [Q:0] r_accepted, r_finished;
  logic [7:0] r_beat;
  logic [63:0] r_next;
  logic r_held;  // offered and not accepted: stays valid, independent of the stalls
  logic [8*DATA_BYTES-1:0] r_held_data;

  logic [31:0] r_moved;
  wire r_refused = refusing && refused_read == r_moved + 1'b1;

  wire [Q-1:0] r_head = r_finished[Q-1:0];
  wire [ADDRESS_BITS-1:0] r_word = (r_address[r_head] >> WORD_SHIFT) + ADDRESS_BITS'(r_beat);
  wire [63:0] r_place = place(64'(r_word));
  wire r_beyond = r_place >= 64'(words);
  wire [Q:0] r_level = r_accepted - r_finished;

  assign arready = 32'(r_level) < read_outstanding && !stall[0];
  assign rvalid = r_held
      || (r_level != 0 && now >= r_start[r_head] && now >= r_next && !stall[1]);
  assign rdata = r_held ? r_held_data : r_beyond ? '0 : mem[r_place[INDEX-1:0]];
  assign rresp = r_beyond ? SLVERR : r_refused ? refusal : OKAY;
  assign rlast = r_beat == r_length[r_head];

  always_ff @(posedge clk) begin
    if (rst) begin
      r_accepted <= '0;
      r_finished <= '0;
      r_beat <= '0;
      r_next <= '0;
      r_held <= '0;
      r_moved <= '0;
    end else begin
      if (arvalid && arready) begin
        r_address[r_accepted[Q-1:0]] <= araddr;
        r_length[r_accepted[Q-1:0]] <= arlen;
        r_start[r_accepted[Q-1:0]] <= now + 64'(read_latency);
        r_accepted <= r_accepted + 1'b1;
      end
      r_held <= rvalid && !rready;
      r_held_data <= rdata;
      if (load) begin  // independent of the previous run
        r_next <= '0;
        r_moved <= '0;
      end
      if (rvalid && rready) begin
        r_moved <= r_moved + 1'b1;
        r_next <= now + 64'(read_interval);
        r_beat <= rlast ? '0 : r_beat + 1'b1;
        r_finished <= r_finished + (Q + 1)'(rlast);
      end
    end
  end

  // ----------------------------------------------------------------------------------- writes

  logic [ADDRESS_BITS-1:0] w_address[QUEUE] /* verilator public_flat_rd */;
  logic [7:0] w_length[QUEUE] /* verilator public_flat_rd */;
  logic [63:0] b_start[QUEUE] /* verilator public_flat_rd */;
  logic b_failed[QUEUE] /* verilator public_flat_rd */;
  logic [Q:0] w_accepted, w_filled, w_finished;
  logic [7:0] w_beat;
  logic [63:0] w_next;
  logic w_failed;
  logic b_held;

  logic [31:0] b_moved;
  wire b_refused = refusing && refused_write == b_moved + 1'b1;

  wire [Q-1:0] w_head = w_filled[Q-1:0];
  wire [Q-1:0] b_head = w_finished[Q-1:0];
  wire [ADDRESS_BITS-1:0] w_word = (w_address[w_head] >> WORD_SHIFT) + ADDRESS_BITS'(w_beat);
  wire [63:0] w_place = place(64'(w_word));
  wire w_beyond = w_place >= 64'(words);
  wire w_end = w_beat == w_length[w_head];
  wire w_bad = w_beyond || wlast != w_end;
  wire [Q:0] w_level = w_accepted - w_finished;

  assign awready = 32'(w_level) < write_outstanding && !stall[2];
  assign wready = w_accepted != w_filled && now >= w_next && !stall[3];
  assign bvalid = b_held || (w_filled != w_finished && now >= b_start[b_head] && !stall[4]);
  assign bresp = b_failed[b_head] ? SLVERR : b_refused ? refusal : OKAY;

  always_ff @(posedge clk) begin
    if (rst) begin
      w_accepted <= '0;
      w_filled <= '0;
      w_finished <= '0;
      w_beat <= '0;
      w_next <= '0;
      w_failed <= '0;
      b_held <= '0;
      b_moved <= '0;
    end else begin
      if (awvalid && awready) begin
        w_address[w_accepted[Q-1:0]] <= awaddr;
        w_length[w_accepted[Q-1:0]] <= awlen;
        w_accepted <= w_accepted + 1'b1;
      end
      if (load) begin
        w_next <= '0;
        b_moved <= '0;
      end
      if (wvalid && wready) begin
        w_next <= now + 64'(write_interval);
        w_beat <= w_end ? '0 : w_beat + 1'b1;
        w_failed <= !w_end && (w_failed || w_bad);
        if (w_end) begin
          b_start[w_head] <= now + 64'(write_latency);
          b_failed[w_head] <= w_failed || w_bad;
          w_filled <= w_filled + 1'b1;
        end
      end
      b_held <= bvalid && !bready;
      if (bvalid && bready) begin
        w_finished <= w_finished + 1'b1;
        b_moved <= b_moved + 1'b1;
      end
    end
  end

  // --------------------------------------------------------------------------- contents, errors

  string folder, image;
  initial if (!$value$plusargs("folder=%s", folder)) folder = ".";

  // The image is loaded between runs, when no write is in flight.
  /* verilator lint_off BLKANDNBLK */
  always @(posedge clk) begin
    if (load && words != 0) begin
      image = $sformatf("%s/%0d/memory.hex", folder, case_number);
      $readmemh(image, mem, 0, words - 1);
    end
    if (dump && words != 0) begin
      image = $sformatf("%s/%0d/memory_after.hex", folder, case_number);
      $writememh(image, mem, 0, words - 1);
    end
    if (!rst && wvalid && wready && !w_beyond)
      for (int i = 0; i < DATA_BYTES; i++)
        if (wstrb[i]) mem[w_place[INDEX-1:0]][8*i+:8] <= wdata[8*i+:8];
  end

  always_ff @(posedge clk) begin
    if (rst) error <= '0;
    else begin
      if (rvalid && rready && r_beyond) begin
        error <= '1;
        $display("memory: cycle %0d: read of byte address 0x%0h, beyond the image of %0d bytes",
                 cycle, r_word << WORD_SHIFT, 64'(words) * DATA_BYTES);
      end
      if (wvalid && wready && w_beyond) begin
        error <= '1;
        $display("memory: cycle %0d: write of byte address 0x%0h, beyond the image of %0d bytes",
                 cycle, w_word << WORD_SHIFT, 64'(words) * DATA_BYTES);
      end
      if (load && (arvalid || awvalid || wvalid || r_level != 0 || w_level != 0)) begin
        error <= '1;
        $display("memory: %0d reads and %0d writes are under way before a run", r_level, w_level);
      end
      if (wvalid && wready && wlast != w_end) begin
        error <= '1;
        $display("memory: cycle %0d: wlast is %0d in beat %0d of a burst of %0d",
                 cycle, wlast, w_beat, w_length[w_head] + 9'd1);
      end
    end
    if (!rst) now <= now + 1'b1;
    else now <= '0;
  end

endmodule
