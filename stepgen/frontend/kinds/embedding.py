"""Embedding: rows of a table by id."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array, Weight


@dataclass(frozen=True)
class Embedding(Kind):
    """Row ``x`` of the weight ``table`` [entries, width], of ids or of positions."""

    needs = ("table",)

    def result(self, given: Operands) -> Value:
        """A row of the table for each id."""
        if given.x.element != "int32" or len(given.x.shape) != 1:
            given.fail(f"it looks up ids, int32[T], not {given.x}")
        _, width = given.dims("table", 2)
        return Value((given.x.shape[0], width))

    def compute(self, at: OpRun, x: Array, table: Array) -> Array:  # type: ignore[override]
        """The rows."""
        at.op.check_numbers(x, len(table), "its table")
        return np.asarray(table[x])

    def bounds(self, given: Operands, positions: int) -> dict[int, tuple[int, str]]:
        """Ids are below the rows of the table."""
        return {0: (given.weights["table"][0], "its table")}

    def lower(self, at: Site, x: Rows, table: Weight) -> Rows:  # type: ignore[override]
        """Tiles by address, in the element type of factors."""
        return at.look_up("table", table, x)

    def touched(self, given: Operands) -> dict[str, int]:
        """One row."""
        return {"table": given.weights["table"][1]}
