"""output: a stream that leaves the program (`Graph.output`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from stepgen.ir.operator import Call, Operator
from stepgen.ir.stream import Out


class Output(Operator):
    """Any stream -> nothing."""

    port = "out"
    is_sink: ClassVar[bool] = True

    def infer(self, call: Call) -> Sequence[Out]:
        """It has no outputs."""
        return []
