// Records which channels move in each running cycle; sim/verilator/recorder.cpp writes the file.

module recorder #(
    parameter int CHANNELS = 1
) (
    input logic                clk,
    input logic                running,
    input logic [        47:0] cycle,
    input logic [CHANNELS-1:0] push,
    input logic [CHANNELS-1:0] pop,

    // <folder>/<case_number>/record.bin is opened by `load` and closed by `dump`
    input logic [31:0] case_number,
    input logic        load,
    input logic        dump
);

  localparam int WORDS = (CHANNELS + 31) / 32;

`ifdef __ICARUS__
  // It has no DPI: the same file, from here.
  integer file = 0;
  longint last;

  task stepgen_record_close;
    if (file != 0) $fclose(file);
    file = 0;
  endtask

  task stepgen_record_open(input string path);
    stepgen_record_close();
    file = $fopen(path, "wb");
    last = 0;
  endtask

  task stepgen_record(
      input longint now, input int words,
      input bit [32*WORDS-1:0] pushed, input bit [32*WORDS-1:0] popped
  );
    if (file != 0) begin
      if (last > now) last = 0;
      while (now - last >= 64'h80000000) begin
        $fwrite(file, "%u", 32'hffffffff);
        last = last + 64'h7fffffff;
      end
      $fwrite(file, "%u", 32'h80000000 | 32'(now - last));
      last = now;
      for (int i = 0; i < CHANNELS; i++) if (pushed[i]) $fwrite(file, "%u", 2 * i);
      for (int i = 0; i < CHANNELS; i++) if (popped[i]) $fwrite(file, "%u", 2 * i + 1);
    end
  endtask
`else
  import "DPI-C" function void stepgen_record_open(input string path);
  import "DPI-C" function void stepgen_record_close();
  import "DPI-C" function void stepgen_record(
    input longint cycle, input int words,
    input bit [32*WORDS-1:0] push, input bit [32*WORDS-1:0] pop
  );
`endif

  string folder;
  logic recording;
  initial begin
    if (!$value$plusargs("folder=%s", folder)) folder = ".";
    recording = $test$plusargs("norecord") == 0;
  end

  always @(posedge clk) if (recording) begin
    if (load) stepgen_record_open($sformatf("%s/%0d/record.bin", folder, case_number));
    else if (dump) stepgen_record_close();
    else if (running && ((|push) || (|pop)))
      stepgen_record({16'b0, cycle}, WORDS, (32 * WORDS)'(push), (32 * WORDS)'(pop));
  end

endmodule
