"""Accounting models (policies): how bytes are counted in the symbolic metrics."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.ir.dtypes import DataType, Tile
from stepgen.ir.expr import Expr


@dataclass(frozen=True)
class Policy:
    """An accounting model.

    Attributes
    ----------
    name : str
        ``paper`` or ``published``.
    buffering : int
        On-chip copies of the data of off-chip operators and Bufferize: 2 for double buffers.
    element_bytes : int or None
        Bytes per tile element on chip and in stores, for any element type; None: those of the type.
        Traffic of loads is always counted in bytes of the type.
    matmul_state : bool
        Whether matmuls count their weight tile and operand registers.
    idle_loads_are_free : bool
        Whether the memory of a load that is triggered once per non-empty group is not counted if
        the group is empty.
    silu_per_inner : bool
        Whether SiLU is counted once per element of the inner dim of the matmul before it.
    """

    name: str
    buffering: int
    element_bytes: int | None
    matmul_state: bool
    idle_loads_are_free: bool
    silu_per_inner: bool

    def on_chip(self, dtype: DataType) -> Expr:
        """Bytes of one element of a stream that is held on chip or stored."""
        if not isinstance(dtype, Tile):
            return dtype.bytes
        return dtype.elements * self.bytes_per_element(dtype)

    def bytes_per_element(self, tile: Tile) -> int:
        """Bytes of one element of a tile that is held on chip or stored."""
        return tile.element.bytes if self.element_bytes is None else self.element_bytes


PAPER = Policy("paper", 2, None, True, False, False)
"""The formulas in the paper's text (section 4.2)."""

PUBLISHED = Policy("published", 1, 4, False, True, True)
"""As in the paper's figures: loads in bytes of their type, single-buffered, all tiles on chip
and all stores in 4 bytes per element, no memory for matmul operands, SiLU's operations counted
once per column of the model."""
