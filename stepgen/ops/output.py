"""output: a stream that leaves the program (`Graph.output`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.ir.dtypes import TupleType
from stepgen.ir.operator import Call, Operator
from stepgen.ir.stream import Node, Out
from stepgen.ir.wire import DONE
from stepgen.semantics.process import Process, Use

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering


class Output(Operator, Circuit):
    """Any stream but of tuples -> nothing."""

    port = "out"
    is_sink = True

    def infer(self, call: Call) -> Sequence[Out]:
        """It has no outputs."""
        x = call.inputs[0]
        if isinstance(x.dtype, TupleType):
            call.fail(f"each item of {x.name}, {x}, needs an output of its own: unzip it")
        return []

    def run(self, use: Use) -> Process:
        """Take all tokens; the stream's writer has the record."""
        while (yield from use.inputs[0].take()).kind != DONE:
            pass

    def lower(self, node: Node, to: Lowering) -> None:
        """One sink."""
        from stepgen.hw.units.sink.params import Sink

        to.unit(node.name, Sink(), x=to.input(node, 0))
