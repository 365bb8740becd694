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

  import "DPI-C" function void stepgen_record_open(input string path);
  import "DPI-C" function void stepgen_record_close();
  import "DPI-C" function void stepgen_record(
    input longint cycle, input int words,
    input bit [32*WORDS-1:0] push, input bit [32*WORDS-1:0] pop
  );

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
