"""The circuit of an epilogue: a pipeline between a unit and the FIFO behind it."""

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.arithmetic.circuits.lane import Lane
from stepgen.hw.design.epilogue import REGISTERED
from stepgen.hw.primitives import delayed
from stepgen.hw.stream import payload_shape
from stepgen.ir.wire import VALUE

__all__ = ["EpilogueCore"]


class EpilogueCore(wiring.Component):
    """Applies an element-wise function to all lanes of the payloads that leave a unit.

    Parameters
    ----------
    pipeline : Pipeline
        The arithmetic of one lane.
    before, after : Channel
        The output as the unit sees it, and the channel.
    lanes : int
        Lanes that have a pipeline.

    Members
    -------
    x : ``In``
        A payload.
    y : ``Out``
        What becomes of it, as many cycles later as the pipeline has stages, and one.
    """

    def __init__(self, pipeline, before, after, lanes):
        self.pipeline, self.lanes = pipeline, lanes
        self.bits = before.bits
        super().__init__({"x": In(payload_shape(before)), "y": Out(payload_shape(after))})

    def elaborate(self, platform):
        m = Module()
        x, y = self.x, self.y
        data = delayed(m, x.data, REGISTERED, reset_less=True)
        lanes = []
        for n in range(self.lanes):
            m.submodules[f"lane_{n}"] = lane = Lane(self.pipeline)
            m.d.comb += lane.operands[0].eq(data.word_select(n, self.bits))
            lanes.append(lane.y)
        late = REGISTERED + self.pipeline.stages
        kind, stop, low = (
            delayed(m, value, late, reset_less=True)
            for value in (x.kind, x.stop, x.data[: len(x.stop)])
        )
        m.d.comb += [
            y.kind.eq(kind),
            y.stop.eq(stop),
            y.data.eq(Mux(kind == VALUE, Cat(lanes), low)),
        ]
        return m
