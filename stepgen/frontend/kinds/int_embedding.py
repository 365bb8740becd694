"""Embedding in integers: rows of a table of int16 by id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from stepgen.frontend.form import Form, Weights
from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.kinds.embedding import Embedding
from stepgen.frontend.rows import Rows
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Weight
from stepgen.ir.dtypes import int16

if TYPE_CHECKING:
    from stepgen.frontend.quantizing.making import Making


@dataclass(frozen=True)
class IntEmbedding(Embedding, Form):
    """Row ``x`` of the weight ``table`` [entries, width] of int16, of ids or of positions.

    Parameters
    ----------
    places : int
        Of the table.
    """

    places: int

    of: ClassVar = Embedding
    gives: ClassVar = ("int16",)

    @classmethod
    def reads(cls, kind: Kind) -> tuple[str, ...]:
        """Rows."""
        return ("",)

    @classmethod
    def made(cls, making: Making) -> tuple[IntEmbedding, Weights]:
        """By the places of its result."""
        return cls(making.places), {"table": making.integers("table", "int16", making.places)}

    def result(self, given: Operands) -> Value:
        """A row of the table for each id."""
        given.element("int16", "table")
        return super().result(given).quantized("int16", self.places)

    def lower(self, at: Site, x: Rows, table: Weight) -> Rows:  # type: ignore[override]
        """Tiles by address."""
        return at.look_up("table", table, x, int16)
