"""What a simulated board has around its top module."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.board.sdram.simulated import simulated_chip
from stepgen.hw.board.top import BoardTop, Surroundings
from stepgen.hw.design.table import Design
from stepgen.hw.library import inline

__all__ = ["Simulated"]


class Simulated(wiring.Component):
    """A `BoardTop`, with a simulated SDRAM at its pins if it has them.

    Parameters
    ----------
    design : Design
    around : Surroundings
    part : callable
        As for `Accelerator`.

    Members
    -------
    rx : ``In(1)``
    put, get : ``In(1)``
        The SDRAM reads its contents from a file, or writes what is asked for to another one.
    tx, running : ``Out(1)``
    """

    def __init__(self, design: Design, around: Surroundings, *, part=inline):
        self.top = BoardTop(design, around, part=part)
        super().__init__(
            {
                **{"rx": In(1, init=1), "tx": Out(1, init=1), "running": Out(1)},
                **{"put": In(1), "get": In(1)},
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.top = top = self.top
        m.d.comb += [top.rx.eq(self.rx), self.tx.eq(top.tx), self.running.eq(top.running)]
        if top.pins:
            m.submodules.chip = simulated_chip(
                top.around.sdram, top.sdram, put=self.put, get=self.get
            )
        return m
