from __future__ import annotations

from stepgen.cosim.waveform import without_clutter

DESIGN = r"""module a (x);
  reg \$12 ;
  reg [3:0] \$auto$verilog_backend.cc:2355:dump_module$1  = 0;
  reg [7:0] \rows$3 [15:0];
  wire [9:0] \p$7 ;
  wire [7:0] \p$7.data ;
  wire [9:0] q;
  assign q = \$12 ? 1 : 2;
endmodule
module b (x);
  wire [9:0] \p$7 ;
  wire signed [9:0] \$3 ;
endmodule
"""


def test_what_is_hidden() -> None:
    shown = without_clutter(DESIGN).splitlines()
    hidden = [line for line in shown if line.startswith("/*verilator tracing_off*/")]
    assert [line.split("*/")[1].split(";")[0].strip() for line in hidden] == [
        r"reg \$12",
        r"reg [3:0] \$auto$verilog_backend.cc:2355:dump_module$1  = 0",
        r"wire [9:0] \p$7",  # its field is shown; in module b it has none
        r"wire signed [9:0] \$3",
    ]
    assert all(line.endswith(";/*verilator tracing_on*/") for line in hidden)


def test_the_design_stays_the_same() -> None:
    text = without_clutter(DESIGN)
    for mark in ("/*verilator tracing_off*/", "/*verilator tracing_on*/"):
        text = text.replace(mark, "")
    assert text == DESIGN
