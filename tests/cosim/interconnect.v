// What stands around a design in a system on chip: two masters before one memory, and a bridge to
// registers, in the manner of the interconnects of vendors.
//
// Masters take turns as chance has it, and any channel waits as it has it. The memory answers
// bursts of different masters and IDs in any order, and mixes their beats; those of one ID stay in
// order. `stall` of 256 is the share of waits.

// Numbers of slots and masters are integers.
// verilator lint_off WIDTH

`default_nettype none

module chance (
    input  wire clk,
    input  wire resetn,
    input  wire [31:0] seed,
    output reg  [63:0] bits
);
  wire [63:0] a = bits ^ (bits << 13);
  wire [63:0] b = a ^ (a >> 7);
  always @(posedge clk) bits <= resetn ? b ^ (b << 17) : {32'h9e3779b9, seed | 32'd1};
endmodule

module fabric #(
    parameter ID = 4,
    parameter WORDS = 8192
) (
    input  wire clk,
    input  wire resetn,
    input  wire [31:0] seed,
    input  wire [7:0] stall,
    // Sticky: something was asked that AXI or the size of the memory forbids.
    output reg  broken,
    // How many beats were answered before those of a burst that was asked for earlier.
    output reg  [31:0] overtaken,
    // In how many cycles both masters asked.
    output reg  [31:0] contended,

    input  wire [1:0] arvalid,
    output wire [1:0] arready,
    input  wire [2*ID-1:0] arid,
    input  wire [2*32-1:0] araddr,
    input  wire [2*8-1:0] arlen,
    input  wire [2*3-1:0] arsize,
    input  wire [2*2-1:0] arburst,
    output wire [1:0] rvalid,
    input  wire [1:0] rready,
    output wire [2*ID-1:0] rid,
    output wire [2*64-1:0] rdata,
    output wire [1:0] rlast,

    input  wire [1:0] awvalid,
    output wire [1:0] awready,
    input  wire [2*ID-1:0] awid,
    input  wire [2*32-1:0] awaddr,
    input  wire [2*8-1:0] awlen,
    input  wire [2*3-1:0] awsize,
    input  wire [2*2-1:0] awburst,
    input  wire [1:0] wvalid,
    output wire [1:0] wready,
    input  wire [2*64-1:0] wdata,
    input  wire [2*8-1:0] wstrb,
    input  wire [1:0] wlast,
    output wire [1:0] bvalid,
    input  wire [1:0] bready,
    output wire [2*ID-1:0] bid
);
  localparam SLOTS = 8;
  wire [63:0] luck;
  chance chance (.clk(clk), .resetn(resetn), .seed(seed), .bits(luck));

  reg [63:0] memory [0:WORDS-1];

  // A request of each master that has been taken.
  reg [1:0] ar_full, aw_full;
  reg [ID-1:0] ar_id [0:1], aw_id [0:1];
  reg [31:0] ar_word [0:1], aw_word [0:1];
  reg [7:0] ar_len [0:1], aw_len [0:1];

  // Bursts that are being read, and when they were asked for.
  reg [SLOTS-1:0] reads;
  reg read_master [0:SLOTS-1];
  reg [ID-1:0] read_id [0:SLOTS-1];
  reg [31:0] read_word [0:SLOTS-1];
  reg [7:0] read_left [0:SLOTS-1];
  reg [31:0] read_time [0:SLOTS-1];
  reg [31:0] now;

  // The burst that is being written, and answers that wait.
  reg writing, write_master;
  reg [ID-1:0] write_id;
  reg [31:0] write_word;
  reg [7:0] write_left;
  reg [SLOTS-1:0] answers;
  reg answer_master [0:SLOTS-1];
  reg [ID-1:0] answer_id [0:SLOTS-1];

  // Beats on their way to the masters.
  reg [1:0] r_full, r_last, b_full;
  reg [ID-1:0] r_id [0:1], b_id [0:1];
  reg [63:0] r_data [0:1];

  genvar g;
  generate
    for (g = 0; g < 2; g = g + 1) begin : port
      assign arready[g] = resetn && !ar_full[g] && luck[8*g+:8] >= stall;
      assign awready[g] = resetn && !aw_full[g] && luck[16+8*g+:8] >= stall;
      assign wready[g] = writing && write_master == g && luck[32+:8] >= stall;
      assign rvalid[g] = r_full[g];
      assign rlast[g] = r_last[g];
      assign rid[ID*g+:ID] = r_id[g];
      assign rdata[64*g+:64] = r_data[g];
      assign bvalid[g] = b_full[g];
      assign bid[ID*g+:ID] = b_id[g];
    end
  endgenerate

  // A burst crosses no border of 4 KiB and stays in the memory.
  function wrong(input [31:0] address, input [7:0] length, input [2:0] size, input [1:0] burst);
    wrong = size != 3'd3 || burst != 2'd1 || {1'b0, address[11:3]} + {2'b0, length} > 10'd511
        || address[31:3] >= WORDS;
  endfunction

  integer m, s, t, k;
  reg found, first, older;

  always @(posedge clk) begin
    now <= now + 1;
    if (&ar_full || &aw_full) contended <= contended + 1;

    for (m = 0; m < 2; m = m + 1) begin
      if (arvalid[m] && arready[m]) begin
        ar_full[m] <= 1'b1;
        ar_id[m] <= arid[ID*m+:ID];
        ar_word[m] <= araddr[32*m+:32] >> 3;
        ar_len[m] <= arlen[8*m+:8];
        if (wrong(araddr[32*m+:32], arlen[8*m+:8], arsize[3*m+:3], arburst[2*m+:2])) broken <= 1'b1;
      end
      if (awvalid[m] && awready[m]) begin
        aw_full[m] <= 1'b1;
        aw_id[m] <= awid[ID*m+:ID];
        aw_word[m] <= awaddr[32*m+:32] >> 3;
        aw_len[m] <= awlen[8*m+:8];
        if (wrong(awaddr[32*m+:32], awlen[8*m+:8], awsize[3*m+:3], awburst[2*m+:2])) broken <= 1'b1;
      end
      if (rvalid[m] && rready[m]) r_full[m] <= 1'b0;
      if (bvalid[m] && bready[m]) b_full[m] <= 1'b0;
    end

    // One of the masters that ask is chosen, and its burst gets a slot.
    found = 1'b0;
    for (k = 0; k < 2; k = k + 1) begin
      m = luck[40] ^ k;
      if (!found && ar_full[m] && !(&reads)) begin
        found = 1'b1;
        ar_full[m] <= 1'b0;
        first = 1'b1;
        for (s = 0; s < SLOTS; s = s + 1)
          if (first && !reads[s]) begin
            first = 1'b0;
            reads[s] <= 1'b1;
            read_master[s] <= m;
            read_id[s] <= ar_id[m];
            read_word[s] <= ar_word[m];
            read_left[s] <= ar_len[m];
            read_time[s] <= now;
          end
      end
    end

    // A beat of one of the bursts is read, of each ID from the one that was asked for first.
    found = luck[48+:8] < stall;
    for (k = 0; k < SLOTS; k = k + 1) begin
      s = (luck[43:41] + k) % SLOTS;
      older = 1'b0;
      first = 1'b1;
      for (t = 0; t < SLOTS; t = t + 1)
        if (reads[t] && read_time[t] < read_time[s]) begin
          older = 1'b1;
          if (read_master[t] == read_master[s] && read_id[t] == read_id[s]) first = 1'b0;
        end
      if (!found && reads[s] && first && !r_full[read_master[s]]) begin
        found = 1'b1;
        if (older) overtaken <= overtaken + 1;
        r_full[read_master[s]] <= 1'b1;
        r_id[read_master[s]] <= read_id[s];
        r_data[read_master[s]] <= memory[read_word[s]];
        r_last[read_master[s]] <= read_left[s] == 0;
        read_word[s] <= read_word[s] + 1;
        read_left[s] <= read_left[s] - 1;
        if (read_left[s] == 0) reads[s] <= 1'b0;
      end
    end

    // One burst after the other is written; its answer waits among the others.
    if (!writing && !(&answers)) begin
      found = 1'b0;
      for (k = 0; k < 2; k = k + 1) begin
        m = luck[44] ^ k;
        if (!found && aw_full[m]) begin
          found = 1'b1;
          aw_full[m] <= 1'b0;
          writing <= 1'b1;
          write_master <= m;
          write_id <= aw_id[m];
          write_word <= aw_word[m];
          write_left <= aw_len[m];
        end
      end
    end
    if (wvalid[write_master] && wready[write_master]) begin
      for (k = 0; k < 8; k = k + 1)
        if (wstrb[8*write_master+k]) memory[write_word][8*k+:8] <= wdata[64*write_master+8*k+:8];
      write_word <= write_word + 1;
      write_left <= write_left - 1;
      if (wlast[write_master] != (write_left == 0)) broken <= 1'b1;
      if (write_left == 0) begin
        writing <= 1'b0;
        first = 1'b1;
        for (s = 0; s < SLOTS; s = s + 1)
          if (first && !answers[s]) begin
            first = 1'b0;
            answers[s] <= 1'b1;
            answer_master[s] <= write_master;
            answer_id[s] <= write_id;
          end
      end
    end
    found = luck[56+:8] < stall;
    for (k = 0; k < SLOTS; k = k + 1) begin
      s = (luck[47:45] + k) % SLOTS;
      if (!found && answers[s] && !b_full[answer_master[s]]) begin
        found = 1'b1;
        answers[s] <= 1'b0;
        b_full[answer_master[s]] <= 1'b1;
        b_id[answer_master[s]] <= answer_id[s];
      end
    end

    if (!resetn) begin
      {ar_full, aw_full, r_full, b_full, reads, answers, writing, write_master} <= 0;
      {broken, overtaken, contended, now} <= 0;
    end
  end
endmodule

// From addresses of the system to registers; other addresses are a decode error.
module registers_bridge #(
    parameter BITS = 16,
    parameter BASE = 32'h4000_0000
) (
    input  wire clk,
    input  wire resetn,
    input  wire [31:0] seed,
    input  wire [7:0] stall,

    input  wire [31:0] s_awaddr,
    input  wire s_awvalid,
    output wire s_awready,
    input  wire [31:0] s_wdata,
    input  wire [3:0] s_wstrb,
    input  wire s_wvalid,
    output wire s_wready,
    output wire [1:0] s_bresp,
    output wire s_bvalid,
    input  wire s_bready,
    input  wire [31:0] s_araddr,
    input  wire s_arvalid,
    output wire s_arready,
    output wire [31:0] s_rdata,
    output wire [1:0] s_rresp,
    output wire s_rvalid,
    input  wire s_rready,

    output wire [BITS-1:0] m_awaddr,
    output wire m_awvalid,
    input  wire m_awready,
    output wire [31:0] m_wdata,
    output wire [3:0] m_wstrb,
    output wire m_wvalid,
    input  wire m_wready,
    input  wire [1:0] m_bresp,
    input  wire m_bvalid,
    output wire m_bready,
    output wire [BITS-1:0] m_araddr,
    output wire m_arvalid,
    input  wire m_arready,
    input  wire [31:0] m_rdata,
    input  wire [1:0] m_rresp,
    input  wire m_rvalid,
    output wire m_rready
);
  wire [63:0] luck;
  chance chance (.clk(clk), .resetn(resetn), .seed(~seed), .bits(luck));

  // A write: its address and its data come, and go on, each when it likes.
  reg aw_here, aw_sent, w_here, w_sent, b_here;
  reg [31:0] aw_address, w_data;
  reg [3:0] w_strobes;
  reg [1:0] b_answer;
  wire aw_known = aw_address[31:BITS] == BASE[31:BITS];
  assign s_awready = resetn && !aw_here && luck[0+:8] >= stall;
  assign s_wready = resetn && !w_here && luck[8+:8] >= stall;
  assign m_awvalid = aw_here && aw_known && !aw_sent;
  assign m_awaddr = aw_address[BITS-1:0];
  assign m_wvalid = w_here && aw_here && aw_known && !w_sent;
  assign m_wdata = w_data;
  assign m_wstrb = w_strobes;
  assign m_bready = aw_sent && w_sent && !b_here && luck[16+:8] >= stall;
  assign s_bvalid = b_here;
  assign s_bresp = b_answer;

  // A read.
  reg ar_here, ar_sent, r_here;
  reg [31:0] ar_address, r_data;
  reg [1:0] r_answer;
  wire ar_known = ar_address[31:BITS] == BASE[31:BITS];
  assign s_arready = resetn && !ar_here && luck[24+:8] >= stall;
  assign m_arvalid = ar_here && ar_known && !ar_sent;
  assign m_araddr = ar_address[BITS-1:0];
  assign m_rready = ar_sent && !r_here && luck[32+:8] >= stall;
  assign s_rvalid = r_here;
  assign s_rdata = r_data;
  assign s_rresp = r_answer;

  always @(posedge clk) begin
    if (s_awvalid && s_awready) {aw_here, aw_address} <= {1'b1, s_awaddr};
    if (s_wvalid && s_wready) {w_here, w_data, w_strobes} <= {1'b1, s_wdata, s_wstrb};
    if (m_awvalid && m_awready) aw_sent <= 1'b1;
    if (m_wvalid && m_wready) w_sent <= 1'b1;
    if (m_bvalid && m_bready) {b_here, b_answer} <= {1'b1, m_bresp};
    if (aw_here && w_here && !aw_known && !b_here) {b_here, b_answer} <= {1'b1, 2'd3};
    if (s_bvalid && s_bready) {aw_here, aw_sent, w_here, w_sent, b_here} <= 0;

    if (s_arvalid && s_arready) {ar_here, ar_address} <= {1'b1, s_araddr};
    if (m_arvalid && m_arready) ar_sent <= 1'b1;
    if (m_rvalid && m_rready) {r_here, r_data, r_answer} <= {1'b1, m_rdata, m_rresp};
    if (ar_here && !ar_known && !r_here) {r_here, r_data, r_answer} <= {1'b1, 32'd0, 2'd3};
    if (s_rvalid && s_rready) {ar_here, ar_sent, r_here} <= 0;

    if (!resetn) {aw_here, aw_sent, w_here, w_sent, b_here, ar_here, ar_sent, r_here} <= 0;
  end
endmodule

// verilator lint_on WIDTH

`default_nettype wire
