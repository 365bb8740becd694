"""source: an input of the program (`Graph.input`)."""

from __future__ import annotations

from collections.abc import Sequence

from stepgen.ir.dims import as_dim
from stepgen.ir.dtypes import Buffer, DataType, TupleType
from stepgen.ir.operator import Call, Operator
from stepgen.ir.stream import Out


class Source(Operator):
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
