"""Matrices in off-chip memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stepgen.ir.arguments import ADDRESS_BITS, checked
from stepgen.ir.dtypes import ElementType
from stepgen.ir.errors import StepError
from stepgen.ir.where import user_line

if TYPE_CHECKING:
    from stepgen.ir.graph import Graph


WORD = 8
"""Bytes of a bus word, if no other is asked for; where tensors may begin."""


@dataclass(frozen=True)
class Tensor:
    """A matrix in off-chip memory.

    Attributes
    ----------
    graph : Graph
        The graph that it belongs to.
    name : str
        Unique among the graph's tensors.
    shape : tuple of int
        Rows and columns.
    element : ElementType
        Type of its elements.
    base : int or None
        Byte address; None leaves it to the compiler.
    """

    graph: Graph = field(hash=False)
    name: str
    shape: tuple[int, int]
    element: ElementType
    base: int | None = None

    def __post_init__(self) -> None:
        if self.shape[1] % self.element.packed:
            raise StepError(
                f"tensor {self.name} at {user_line()}: rows of {self.shape[1]} columns of "
                f"{self.element} end within a byte"
            )

    def check_place(self, prefix: str, others: Iterable[Tensor]) -> None:
        """Check that a tensor fits into the addresses, and does not overlap others.

        Parameters
        ----------
        prefix : str
            Of messages.
        others : iterable of Tensor
            Those without an address of their own lie wherever there is room.

        Raises
        ------
        StepError
            If it does not fit, begins within a bus word or overlaps another.
        """
        if (self.base or 0) + self.bytes > 1 << ADDRESS_BITS:
            where = "" if self.base is None else f" at {self.base}"
            raise StepError(
                f"{prefix} {self.bytes} bytes{where} do not fit into the {ADDRESS_BITS} bits of "
                f"an address"
            )
        if self.base is None:
            return
        if self.base % WORD:
            raise StepError(
                f"{prefix} its address must be a multiple of {WORD} bytes, the bus word, not "
                f"{self.base}"
            )
        for other in others:
            if (
                other.base is not None
                and self.base < other.base + other.bytes
                and other.base < self.base + self.bytes
            ):
                raise StepError(
                    f"{prefix} its {self.bytes} bytes at {self.base} overlap tensor {other.name} "
                    f"of {other.bytes} bytes at {other.base}"
                )

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return self.shape[0] * self.shape[1] * self.element.bytes // self.element.packed

    @checked
    def grid(self, tile: tuple[int, int]) -> tuple[int, int]:
        """Number of tiles of this shape, in both directions.

        Parameters
        ----------
        tile : tuple of int
            Rows and columns of a tile, in elements.

        Returns
        -------
        tuple of int
            Tiles that fit into a column and into a row of the tensor.

        Raises
        ------
        StepError
            If an extent of the tile is below 1.
        """
        if min(tile) < 1:
            raise StepError(
                f"grid at {user_line()}: a tile of {self.name} must have positive extents, "
                f"not {tile}"
            )
        return self.shape[0] // tile[0], self.shape[1] // tile[1]

    def __repr__(self) -> str:
        return f"Tensor({self.name}, {self.element} {self.shape[0]}x{self.shape[1]})"
