"""What stands between the pins of a board and its top: pads of all kinds, reset, the clock."""

from __future__ import annotations

import subprocess

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from icarus import needs_icarus

from stepgen.hw.board.chip import CLOCK, RESET_BITS, Chip
from stepgen.hw.board.family import family
from stepgen.hw.primitives import Device
from stepgen.hw.verilog import pins_written, written


class Toy(wiring.Component):
    """A counter that shows itself on a bus while another pin asks for it, and reads it else."""

    def __init__(self):
        super().__init__(
            {
                "ask": In(1),
                "seen": Out(4),
                "bus_o": Out(4),
                "bus_oe": Out(1),
                "bus_i": In(4),
                "unused": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        count = Signal(4, init=5)
        m.d.sync += [count.eq(count + 1), self.seen.eq(self.bus_i)]
        m.d.comb += [self.bus_o.eq(count), self.bus_oe.eq(self.ask)]
        return m


MODELS = """
module IB(input I, output O); assign O = I; endmodule
module OB(input I, output O); assign O = I; endmodule
module BB(inout B, input I, input T, output O); assign B = T ? 1'bz : I; assign O = B; endmodule
module ODDRX1F(input SCLK, RST, D0, D1, output Q); assign Q = SCLK ? D0 : D1; endmodule
module EHXPLLL(input CLKI, CLKFB, RST, STDBY, PHASESEL0, PHASESEL1, PHASEDIR, PHASESTEP,
    PHASELOADREG, PLLWAKESYNC, ENCLKOP, output CLKOP, output LOCK);
  parameter CLKI_DIV = 0, CLKFB_DIV = 0, CLKOP_DIV = 0, CLKOP_CPHASE = 0, CLKOP_FPHASE = 0;
  parameter PLLRST_ENA = "", INTFB_WAKE = "", STDBY_ENABLE = "", DPHASE_SOURCE = "";
  parameter OUTDIVIDER_MUXA = "", OUTDIVIDER_MUXB = "", OUTDIVIDER_MUXC = "";
  parameter OUTDIVIDER_MUXD = "", CLKOP_ENABLE = "", FEEDBK_PATH = "";
  reg [3:0] n = 0;
  always @(posedge CLKI) if (n != 9) n <= n + 1;
  assign CLKOP = CLKI;
  assign LOCK = n == 9;
  initial if (CLKI_DIV != 1 || CLKFB_DIV != 2) $fatal;
endmodule
module bench;
  reg clock = 0, ask = 0, mine = 1; wire [3:0] seen, bus; wire sent, cs_n, cke;
  assign bus = mine ? 4'd12 : 4'bz;
  toy_chip chip(.clock(clock), .ask(ask), .seen(seen), .bus(bus), .sent(sent),
    .chip__cs_n(cs_n), .chip__cke(cke));
  integer k;
  initial begin
    for (k = 0; k < 120; k = k + 1) begin
      if (k == 100) begin mine = 0; ask = 1; end
      #1 clock = 1; #1 if (sent || cs_n !== 0 || cke !== 1) $fatal;
      clock = 0; #1 if (!sent) $fatal;
      $display("%0d %0d %0d", k, seen, bus);
    end
    $finish;
  end
endmodule
"""


@needs_icarus
def test_pads_reset_and_clock(tmp_path) -> None:
    device, ecp5 = Device("ecp5"), family("ecp5")
    pads = {CLOCK: 1, "ask": 1, "seen": 4, "bus": 4, "sent": 1, "chip__cs_n": 1, "chip__cke": 1}
    chip = Chip("toy", Toy(), ecp5, ecp5.pll(25_000_000, 50_000_000), pads)
    text = written("toy", lambda part: Toy(), platform=device)
    text += pins_written("toy_chip", chip, device)
    (tmp_path / "toy.v").write_text(f"`timescale 1ns/1ns\n{text}{MODELS}")
    subprocess.run(
        ["iverilog", "-g2012", "-o", "toy", "-s", "bench", "toy.v"], cwd=tmp_path, check=True
    )
    done = subprocess.run(
        ["vvp", "-n", "toy"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    lines = [line.split() for line in done.stdout.splitlines() if line[0].isdigit()]
    wait = 9 + 2 + (1 << RESET_BITS)  # until the PLL locks, is seen, and the reset ends
    seen = [int(line[1]) for line in lines]
    assert seen[wait + 4 : 100] == [12] * (96 - wait)
    assert seen[: wait - 2] == [0] * (wait - 2)
    shown = [int(line[2]) for line in lines[100:]]
    first = shown[0]
    assert shown == [(first + k) % 16 for k in range(20)]
    # The counter has begun with the end of the reset.
    begun = [k for k in range(wait - 3, wait + 4) if (5 + 100 - k) % 16 == first]
    assert len(begun) == 1
