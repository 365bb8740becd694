"""output: a stream that leaves the program (`Graph.output`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from stepgen.ir.dtypes import TupleType
from stepgen.ir.operator import Call, Operator
from stepgen.ir.stream import Out


class Output(Operator):
    """Any stream but of tuples -> nothing."""

    port = "out"
    is_sink: ClassVar[bool] = True

    def infer(self, call: Call) -> Sequence[Out]:
        """It has no outputs."""
        x = call.inputs[0]
        if isinstance(x.dtype, TupleType):
            call.fail(f"each item of {x.name}, {x}, needs an output of its own: unzip it")
        return []
