"""What stands between the pins of a board and its top: pads of all kinds, reset, the clock."""

from __future__ import annotations

import subprocess

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from icarus import needs_icarus
from seeds import slow

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


LOCKS = """
  wire locked;
  reg [3:0] n = 0;
  always @(posedge clock) if (n != 9) n <= n + 1;
  assign locked = n == 9;
"""

ECP5 = """
module IB(input I, output O); assign O = I; endmodule
module OB(input I, output O); assign O = I; endmodule
module BB(inout B, input I, input T, output O); assign B = T ? 1'bz : I; assign O = B; endmodule
module ODDRX1F(input SCLK, RST, D0, D1, output Q); assign Q = SCLK ? D0 : D1; endmodule
module EHXPLLL(input CLKI, CLKFB, RST, STDBY, PHASESEL0, PHASESEL1, PHASEDIR, PHASESTEP,
    PHASELOADREG, PLLWAKESYNC, ENCLKOP, ENCLKOS, output CLKOP, CLKOS, LOCK);
  parameter CLKI_DIV = 0, CLKFB_DIV = 0, CLKOP_DIV = 0, CLKOP_CPHASE = 0, CLKOP_FPHASE = 0;
  parameter PLLRST_ENA = "", INTFB_WAKE = "", STDBY_ENABLE = "", DPHASE_SOURCE = "";
  parameter OUTDIVIDER_MUXA = "", OUTDIVIDER_MUXB = "", OUTDIVIDER_MUXC = "";
  parameter OUTDIVIDER_MUXD = "", CLKOP_ENABLE = "", FEEDBK_PATH = "";
  parameter CLKOS_ENABLE = "", CLKOS_DIV = 0, CLKOS_CPHASE = 0, CLKOS_FPHASE = 0;
  wire clock = CLKI;
  LOCKS
  assign CLKOP = CLKI, CLKOS = ~CLKI;
  assign LOCK = locked;
  initial if (CLKI_DIV != 1 || CLKFB_DIV != 2) $fatal;
  initial if (2 * (CLKOS_CPHASE - CLKOP_CPHASE) != CLKOS_DIV) $fatal;
endmodule
"""

AMD = """
module IBUF(input I, output O); assign O = I; endmodule
module IBUFDS(input I, IB, output O); assign O = I & ~IB; endmodule
module OBUF(input I, output O); assign O = I; endmodule
module IOBUF(inout IO, input I, T, output O); assign IO = T ? 1'bz : I; assign O = IO; endmodule
module BUFG(input I, output O); assign O = I; endmodule
module ODDR(input C, CE, D1, D2, R, S, output Q); assign Q = C ? D1 : D2; endmodule
module ODDRE1(input C, D1, D2, SR, output Q); assign Q = C ? D1 : D2; endmodule
module MMCM(input CLKIN1, CLKFBIN, PWRDWN, RST, output CLKFBOUT, CLKOUT0, CLKOUT1, LOCKED);
  parameter BANDWIDTH = "", CLKIN1_PERIOD = 0.0, DIVCLK_DIVIDE = 0;
  parameter CLKFBOUT_MULT_F = 0.0, CLKOUT0_DIVIDE_F = 0.0;
  parameter CLKOUT1_DIVIDE = 0, CLKOUT1_PHASE = 0.0;
  wire clock = CLKIN1;
  LOCKS
  assign CLKFBOUT = CLKFBIN, CLKOUT0 = CLKIN1, CLKOUT1 = ~CLKIN1;
  assign LOCKED = locked;
  initial if (CLKIN1_PERIOD != 40.0 || CLKFBOUT_MULT_F != 2 * CLKOUT0_DIVIDE_F) $fatal;
  initial if (CLKOUT1_DIVIDE != CLKOUT0_DIVIDE_F || CLKOUT1_PHASE != 180.0) $fatal;
endmodule
"""

GOWIN = """
module IBUF(input I, output O); assign O = I; endmodule
module OBUF(input I, output O); assign O = I; endmodule
module IOBUF(inout IO, input I, OEN, output O); assign IO = OEN ? 1'bz : I; assign O = IO; endmodule
module ODDR(input CLK, D0, D1, TX, output Q0, Q1); assign Q0 = CLK ? D0 : D1; endmodule
module rPLL(input CLKIN, CLKFB, RESET, RESET_P, input [5:0] FBDSEL, IDSEL, ODSEL,
    input [3:0] PSDA, FDLY, DUTYDA, output CLKOUT, CLKOUTP, LOCK);
  parameter FCLKIN = "", IDIV_SEL = 0, FBDIV_SEL = 0, ODIV_SEL = 0, DEVICE = "";
  parameter DYN_IDIV_SEL = "", DYN_FBDIV_SEL = "", DYN_ODIV_SEL = "", CLKFB_SEL = "";
  parameter PSDA_SEL = "", DUTYDA_SEL = "", DYN_DA_EN = "";
  wire clock = CLKIN;
  LOCKS
  assign CLKOUT = CLKIN, CLKOUTP = ~CLKIN, LOCK = locked;
  initial if (IDIV_SEL != 0 || FBDIV_SEL != 1 || FCLKIN != "25") $fatal;
  initial if (PSDA_SEL != "1000" || DUTYDA_SEL != "0000") $fatal;
endmodule
"""

MODELS = {
    "ecp5": ECP5,
    "gowin": GOWIN,
    "artix7": AMD.replace("MMCM(", "MMCME2_BASE("),
    "ultrascale_plus": AMD.replace("MMCM(", "MMCME4_BASE("),
}
"""Of each family's blocks: the PLL passes its clock on, also inverted, and locks after 9 cycles."""

BENCH = """
module bench;
  reg clock = 0, ask = 0, mine = 1; wire [3:0] seen, bus; wire sent, cs_n, cke;
  assign bus = mine ? 4'd12 : 4'bz;
  toy_chip chip(.clock(CLOCK), .ask(ask), .seen(seen), .bus(bus), .sent(sent),
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
@pytest.mark.parametrize(
    ("name", "wires"),
    [("ecp5", 1), ("gowin", 1), slow(("artix7", 1)), slow(("artix7", 2)), ("ultrascale_plus", 2)],
)
def test_pads_reset_and_clock(tmp_path, name: str, wires: int) -> None:
    device, blocks = Device(name), family(name)
    pads = {CLOCK: wires, "ask": 1, "seen": 4, "bus": 4, "sent": 1, "chip__cs_n": 1, "chip__cke": 1}
    pll = blocks.pll(25_000_000, 50_000_000)
    chip = Chip("toy", Toy(), blocks, pll, pads, blocks.steps(pll) // 2)
    text = written("toy", lambda part: Toy(), platform=device)
    text += pins_written("toy_chip", chip, device)
    models = MODELS[name].replace("LOCKS", LOCKS)
    bench = BENCH.replace("CLOCK", "clock" if wires == 1 else "{~clock, clock}")
    (tmp_path / "toy.v").write_text(f"`timescale 1ns/1ns\n{text}{models}{bench}")
    subprocess.run(
        ["iverilog", "-g2012", "-o", "toy", "-s", "bench", "toy.v"], cwd=tmp_path, check=True
    )
    done = subprocess.run(
        ["vvp", "-n", "toy"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    lines = [line.split() for line in done.stdout.splitlines() if line[0].isdigit()]
    wait = 9 + 3 + (1 << RESET_BITS)  # until the PLL locks, is seen, and the reset ends
    seen = [int(line[1]) for line in lines]
    assert seen[wait + 4 : 100] == [12] * (96 - wait)
    assert seen[: wait - 2] == [0] * (wait - 2)
    shown = [int(line[2]) for line in lines[100:]]
    first = shown[0]
    assert shown == [(first + k) % 16 for k in range(20)]
    # The counter has begun with the end of the reset.
    begun = [k for k in range(wait - 3, wait + 4) if (5 + 100 - k) % 16 == first]
    assert len(begun) == 1
