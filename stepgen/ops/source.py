"""source: an input of the program (`Graph.input`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.ir.dims import as_dim
from stepgen.ir.dtypes import Buffer, DataType, TupleType
from stepgen.ir.operator import Call, Operator
from stepgen.ir.stream import Node, Out
from stepgen.semantics.process import Process, Use

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering


class Source(Operator, Circuit):
    """Nothing -> the given shape. Attributes: ``dtype``, ``shape``."""

    port = "in"

    def infer(self, call: Call) -> Sequence[Out]:
        """The declared type."""
        shape = call.attrs["shape"] = tuple(as_dim(d) for d in call.attrs["shape"])
        dtype = call.attrs["dtype"]
        if not isinstance(dtype, DataType):
            call.fail(f"an input needs a data type such as int8[1, 64], not {dtype!r}")
        if isinstance(dtype, TupleType):
            call.fail(f"each item of {dtype} needs an input of its own: zip these")
        if isinstance(dtype, Buffer):
            call.fail("buffers exist only on chip: take their tiles as an input and bufferize them")
        if not shape:
            call.fail("an input needs at least 1 dim, the number of its elements")
        for dim in (*shape, *dtype.dims):
            call.symbols.claim(dim)
        return [Out(shape, dtype)]

    def run(self, use: Use) -> Process:
        """Emit the given tokens."""
        if use.given is None:
            use.fail("no tokens were given for this input")
        for token in use.given:
            use.outputs[0].put(token)
        yield from ()

    def lower(self, node: Node, to: Lowering) -> None:
        """One source."""
        from stepgen.hw.units.source.params import Source as Unit

        to.unit(node.name, Unit(), y=to.output(node))
