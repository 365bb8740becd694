// An SDR SDRAM of four banks that checks what a controller does: order and distances of commands.
//
// It takes commands at the falling edge of `clk`, as a chip does whose clock is shifted by half a
// cycle. A violation is reported on standard error and ends the simulation.

module sdram #(
    parameter int DATA_BITS = 16,
    parameter int COLUMN_BITS = 9,
    parameter int ROW_BITS = 13,
    parameter int ADDRESS_BITS = 13,
    parameter int CAS = 3,
    parameter int RCD = 3,   // activate to column
    parameter int RP = 3,    // precharge to activate
    parameter int RAS = 5,   // activate to precharge
    parameter int RC = 8,    // activate to activate of a bank
    parameter int RRD = 2,   // activate to activate of another bank
    parameter int WR = 2,    // last data to precharge
    parameter int RFC = 8,   // refresh to any command
    parameter int MRD = 2,   // mode to any command
    parameter int REFI = 780,  // between refreshes, on average; eight may be late
    parameter int WAKE = 100,  // to the first command
    parameter int WORDS = 1 << (2 + ROW_BITS + COLUMN_BITS)  // that are simulated
) (
    input  logic                     clk,
    input  logic                     put,  // take contents.hex in the folder of +room=FOLDER
    input  logic                     get,  // write words to found.hex; wanted.txt says which
    input  logic                     ras_n,
    input  logic                     cas_n,
    input  logic                     we_n,
    input  logic [              1:0] ba,
    input  logic [ ADDRESS_BITS-1:0] a,
    input  logic [DATA_BITS / 8-1:0] dqm,
    input  logic [    DATA_BITS-1:0] dq_o,
    input  logic                     dq_oe,
    output logic [    DATA_BITS-1:0] dq_i
);
  // Each can be another one than the controller's: +tRCD=4.
  int rcd = RCD, rp = RP, ras = RAS, rc = RC, rrd = RRD, wr = WR, rfc = RFC, mrd = MRD;
  int refi = REFI, wake = WAKE;
  string room;
  initial begin
    void'($value$plusargs("tRCD=%d", rcd));
    void'($value$plusargs("tRP=%d", rp));
    void'($value$plusargs("tRAS=%d", ras));
    void'($value$plusargs("tRC=%d", rc));
    void'($value$plusargs("tRRD=%d", rrd));
    void'($value$plusargs("tWR=%d", wr));
    void'($value$plusargs("tRFC=%d", rfc));
    void'($value$plusargs("tMRD=%d", mrd));
    void'($value$plusargs("tREFI=%d", refi));
    void'($value$plusargs("wake=%d", wake));
    if (!$value$plusargs("room=%s", room)) room = ".";
  end

  localparam int INDEX = $clog2(WORDS);
  localparam int SLOTS = 16;
  localparam int LATE = 8;
  localparam int WAKE_REFRESHES = 8;

  logic [DATA_BITS-1:0] mem[WORDS];

  longint now = 0;
  longint activated[4], precharged[4], written[4], column[4];
  longint last_activate = -1000, refreshed = -1000, mode_set = -1000;
  longint debt_since = 0;
  int debt = 0, refreshes = 0;
  logic [3:0] is_open = '0;
  logic [ROW_BITS-1:0] row[4];
  logic configured = '0;
  int burst = 0;

  // Reads under way: the bank and the place of what is driven after each of the next edges.
  logic [SLOTS-1:0] reading = '0;
  logic [INDEX-1:0] places[SLOTS];
  logic [1:0] read_banks[SLOTS];
  // The write under way.
  int write_left = 0;
  logic [INDEX-1:0] write_place;
  logic [1:0] write_bank;
  logic [DATA_BITS/8-1:0] masked[2];
  logic driven = '0;

  initial
    for (int b = 0; b < 4; b++) begin
      activated[b] = -1000;
      precharged[b] = -1000;
      written[b] = -1000;
      column[b] = -1000;
    end

  function automatic void wrong(input string what);
    $fwrite(32'h8000_0002, "SDRAM: cycle %0d: %s\n", now, what);
    $fatal(0);
  endfunction

  function automatic void apart(input longint since, input int least, input string what);
    if (now - since < longint'(least))
      wrong($sformatf("%s: %0d cycles instead of %0d", what, now - since, least));
  endfunction

  // A place of a burst: the lowest bits of the column wrap.
  function automatic logic [INDEX-1:0] place(input logic [1:0] bank,
                                             input logic [COLUMN_BITS-1:0] from, input int k);
    logic [COLUMN_BITS-1:0] low;
    low = COLUMN_BITS'(burst - 1);
    return INDEX'({row[bank], bank, (from & ~low) | ((from + COLUMN_BITS'(k)) & low)});
  endfunction

  function automatic void close(input logic [1:0] bank);
    if (is_open[bank]) begin
      apart(activated[bank], ras, "activate to precharge (tRAS)");
      apart(written[bank], wr, "write to precharge (tWR)");
      if (write_left > 0 && write_bank == bank) wrong("a precharge cuts a write");
      if (now < column[bank] + longint'(burst)) wrong("a precharge cuts a read");
    end
    is_open[bank]    = '0;
    precharged[bank] = now;
  endfunction

  // Words to a file, for each line of another one: first place and number.
  function automatic void tell();
    int wanted, found, first, count;
    wanted = $fopen({room, "/wanted.txt"}, "r");
    found  = $fopen({room, "/found.hex"}, "w");
    while ($fscanf(wanted, "%d %d", first, count) == 2)
      for (int k = first; k < first + count; k++) $fwrite(found, "%x\n", mem[INDEX'(k)]);
    $fclose(found);
    $fclose(wanted);
  endfunction

  wire [2:0] command = {ras_n, cas_n, we_n};

  always @(negedge clk) begin
    now <= now + 1;
    if (put) $readmemh({room, "/contents.hex"}, mem);
    if (get) tell();
    masked[0] <= dqm;
    masked[1] <= masked[0];

    if (command != 3'b111) begin
      apart(refreshed, rfc, "refresh to command (tRFC)");
      apart(mode_set, mrd, "mode to command (tMRD)");
      if (now < longint'(wake)) wrong("a command before the SDRAM is awake");
    end
    if (!configured && command inside {3'b011, 3'b100, 3'b101}) wrong("no mode is set");
    // A chip needs a refresh at least every REFI cycles on average.
    if (configured) begin
      if (now - debt_since >= longint'(refi)) begin
        debt_since <= now;
        debt = debt + 1;
      end
      if (debt > LATE) wrong("refreshes are late (tREFI)");
    end

    reading = reading >> 1;
    for (int k = 0; k < SLOTS - 1; k++) begin
      places[k] = places[k+1];
      read_banks[k] = read_banks[k+1];
    end

    if (write_left > 0) begin
      if (!dq_oe) wrong("nobody drives the data of a write");
      for (int i = 0; i < DATA_BITS / 8; i++)
        if (!dqm[i]) mem[write_place][8*i+:8] = dq_o[8*i+:8];
      write_place = place(write_bank, COLUMN_BITS'(write_place) , 1);
      write_left = write_left - 1;
      written[write_bank] = now;
    end

    case (command)
      3'b000: begin
        for (int b = 0; b < 4; b++) begin
          if (is_open[b]) wrong("a mode is set while a row is open");
          apart(precharged[b], rp, "precharge to mode (tRP)");
        end
        if (refreshes < WAKE_REFRESHES) wrong("too few refreshes before the mode is set");
        if (a[6:4] != 3'(CAS)) wrong("another CAS latency is set");
        if (a[3] || a[ADDRESS_BITS-1:7] != '0) wrong("a mode that is not known");
        burst = 1 << a[2:0];
        configured = '1;
        mode_set = now;
        debt_since <= now;
      end
      3'b001: begin
        for (int b = 0; b < 4; b++) begin
          if (is_open[b]) wrong("a refresh while a row is open");
          apart(precharged[b], rp, "precharge to refresh (tRP)");
        end
        refreshed = now;
        refreshes = refreshes + 1;
        if (debt > 0) debt = debt - 1;
      end
      3'b010: if (a[10]) for (int b = 0; b < 4; b++) close(2'(b)); else close(ba);
      3'b011: begin
        if (is_open[ba]) wrong("a row is opened in a bank that has one open");
        apart(precharged[ba], rp, "precharge to activate (tRP)");
        apart(activated[ba], rc, "activate to activate (tRC)");
        apart(last_activate, rrd, "activate to activate of another bank (tRRD)");
        is_open[ba] = '1;
        row[ba] = a[ROW_BITS-1:0];
        activated[ba] = now;
        last_activate = now;
      end
      3'b100, 3'b101: begin
        if (!is_open[ba]) wrong("a column of a bank without an open row");
        apart(activated[ba], rcd, "activate to column (tRCD)");
        if (a[10]) wrong("precharge by itself is not known");
        if (write_left > 0) wrong("a command cuts a write");
        column[ba] = now;
        if (command == 3'b100) begin
          if (!dq_oe) wrong("nobody drives the data of a write");
          if (reading != '0) wrong("a write cuts a read");
          write_bank = ba;
          write_place = place(ba, a[COLUMN_BITS-1:0], 0);
          for (int i = 0; i < DATA_BITS / 8; i++)
            if (!dqm[i]) mem[write_place][8*i+:8] = dq_o[8*i+:8];
          write_place = place(ba, a[COLUMN_BITS-1:0], 1);
          write_left = burst - 1;
          written[ba] = now;
        end else
          for (int k = 0; k < burst; k++) begin
            if (reading[CAS-1+k]) wrong("a read cuts a read");
            reading[CAS-1+k] = '1;
            places[CAS-1+k] = place(ba, a[COLUMN_BITS-1:0], k);
            read_banks[CAS-1+k] = ba;
          end
      end
      default: ;
    endcase

    // What is read lies on the pins until the next edge; for half a cycle more the pins are taken.
    if (dq_oe && (driven || reading[0])) wrong("both sides drive the data");
    driven <= reading[0];
    for (int i = 0; i < DATA_BITS / 8; i++)
      dq_i[8*i+:8] <= reading[0] && !masked[0][i] ? mem[places[0]][8*i+:8] : 8'($urandom);
  end

endmodule
