"""The pins of a board, its clock and reset, around `BoardTop`."""

from amaranth.hdl import (
    ClockDomain,
    ClockSignal,
    Const,
    Elaboratable,
    Instance,
    IOPort,
    Module,
    ResetSignal,
    Signal,
)
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from stepgen.hw import private
from stepgen.hw.board.family import Family, Pll
from stepgen.hw.board.uart import ASYNCHRONOUS

__all__ = ["CLOCK", "Chip", "ports"]

CLOCK = "clock"
"""Name of the pin with the board's clock."""

TIED = {"cke": 1, "cs_n": 0, "cattrip": 0}
"""Pads that never change, by the last part of their names: of a memory chip, or an alarm of one."""

RESET_BITS = 6
"""The reset lasts 2 to that power cycles from the lock of the PLL on."""


def ports(top: wiring.Component) -> dict[str, tuple[object, bool]]:
    """Ports of a board's top by name: the signal, and whether it leaves."""
    return {
        "__".join(map(str, path)): (value, member.flow == Out)
        for path, member, value in top.signature.flatten(top)
    }


class Chip(Elaboratable):
    """What goes onto an FPGA: an instance of a board's top, a PLL, a reset, pins.

    Parameters
    ----------
    name : str
        Of the module of `top`, which is made apart.
    top : BoardTop
        Three ports ``<pad>_o``, ``<pad>_oe`` and ``<pad>_i`` are one pad of both directions.
    family : Family
    pll : Pll
        For the clock of the domain ``sync``.
    pads : dict of str to int
        Wires of each pad, which is called like its port, and of `CLOCK`. Another one for which
        there is no port is `TIED` or gets the second clock; a port without a pad stays open.
    step : int, optional
        The phase of a second clock, as of `Family.clock`.

    Attributes
    ----------
    pins : list of IOPort
        All pads.
    """

    def __init__(
        self,
        name: str,
        top,
        family: Family,
        pll: Pll,
        pads: dict[str, int],
        step: int | None = None,
    ):
        self.name, self.top, self.family, self.pll, self.step = name, top, family, pll, step
        self.pads = {pad: IOPort(wires, name=pad) for pad, wires in pads.items()}
        self.pins = list(self.pads.values())
        private.reused(top)  # it is elaborated where its module is made

    def elaborate(self, platform):
        m = Module()
        made, self.second, locked = self.family.clock(m, self.pads[CLOCK], self.pll, self.step)
        m.domains.sync = ClockDomain()
        m.domains.start = ClockDomain(reset_less=True)
        m.d.comb += [ClockSignal("sync").eq(made), ClockSignal("start").eq(made)]

        # Flip-flops have their initial values when the FPGA is configured: then, and while the PLL
        # is not locked, everything is in reset. A register drives its readers without a LUT.
        seen = [Signal(name=f"locked_{k}", attrs=ASYNCHRONOUS) for k in range(2)]
        waited, ready, reset = Signal(RESET_BITS), Signal(), Signal(init=1)
        m.d.start += [seen[0].eq(locked), seen[1].eq(seen[0])]
        with m.If(~seen[1]):
            m.d.start += [waited.eq(0), ready.eq(0)]
        with m.Else():
            m.d.start += [waited.eq(waited + 1), ready.eq(ready | waited.all())]
        m.d.start += reset.eq(~ready)
        m.d.comb += ResetSignal("sync").eq(reset)

        outside = ports(self.top)
        given = {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
        inner = {}
        for port, (value, leaves) in outside.items():
            inner[port] = Signal(len(value), name=port)
            given[f"{'o' if leaves else 'i'}_{port}"] = inner[port]
        m.submodules.board = Instance(self.name, **given)
        for pad, wires in self.pads.items():
            if pad == CLOCK:
                continue
            for k in range(len(wires)):
                self._connect(m, pad, wires[k], k, inner, outside)
        return m

    def _connect(self, m, pad, wire, k, inner, outside):
        """Connect a wire of a pad with bit k of its port."""
        if f"{pad}_oe" in inner:
            enable = inner[f"{pad}_oe"]
            self.family.bidirectional(
                m,
                wire,
                inner[f"{pad}_o"][k],
                enable[k if len(enable) > 1 else 0],
                inner[f"{pad}_i"][k],
            )
        elif pad not in inner and pad.rpartition("__")[2] in TIED:
            self.family.output(m, wire, Const(TIED[pad.rpartition("__")[2]], 1))
        elif pad not in inner:
            self.family.forwarded(m, wire, self.second)
        elif outside[pad][1]:
            self.family.output(m, wire, inner[pad][k])
        else:
            self.family.input(m, wire, inner[pad][k])
