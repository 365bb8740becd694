"""Operators as users write them, in a file of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stepgen as sg
from stepgen.ir.operator import Call, Operator, operators
from stepgen.ir.own import OwnOperator
from stepgen.ir.stream import Node, Out
from stepgen.ir.wire import DONE
from stepgen.semantics.process import Process, Use
from stepgen.timing.tiles.ops import promote


class Lift(OwnOperator):
    """A dim of 1, which no element of the stream is outside of; timed on tiles."""

    def __call__(self, x: sg.Stream, *, level: int = 0, name: str | None = None) -> sg.Stream:
        made: sg.Stream = self.add((x,), {"level": level}, name)[0]
        return made

    def infer(self, call: Call) -> Sequence[Out]:
        shipped: Operator = operators()["promote"]
        return shipped.infer(call)

    def run(self, use: Use) -> Process:
        made: Process = operators()["promote"].run(use)
        return made

    def build(self, node: Node, to: Any) -> None:
        promote.build(node, to)


class Same(OwnOperator):
    """The stream as it is, without a circuit and without timing on tiles."""

    def __call__(self, x: sg.Stream) -> sg.Stream:
        made: sg.Stream = self.add((x,), {})[0]
        return made

    def infer(self, call: Call) -> Sequence[Out]:
        (x,) = call.inputs
        return [Out(x.shape, x.dtype, dict(enumerate(x.totals)), x.volume)]

    def run(self, use: Use) -> Process:
        while True:
            (token,) = yield from use.take_all(use.inputs)
            use.outputs[0].put(token)
            if token.kind == DONE:
                return


lift, same = Lift(), Same()
