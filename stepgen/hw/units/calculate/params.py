"""Calculate: arithmetic and comparisons of addresses, and pairs of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from stepgen.hw.arithmetic.operations import product_multipliers
from stepgen.hw.design import stages
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.params import UnitParams, numbered
from stepgen.hw.design.registers import UNTOLD
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.dtypes import Tile
from stepgen.ir.wire import number_limit

RELATIONS = ("lt", "le", "eq", "ne", "ge", "gt")
"""Operations that make flags."""
Operation = Literal[
    "sum", "difference", "product", "larger", "smaller", "pair",
    "lt", "le", "eq", "ne", "ge", "gt",
]  # fmt: skip


@dataclass(frozen=True)
class Calculate(UnitParams):
    """``y`` is what an operation makes of the addresses of its operands.

    Parameters
    ----------
    operation : str
        What is computed of a and b.
    columns : tuple of int
        Addresses in a beat of each operand; one is repeated where the other has several.
    constant : int, optional
        In place of b, at least 0. A product needs it.
    """

    operation: Operation
    columns: tuple[int, ...]
    constant: int | None = None

    kind: ClassVar = "calculate"
    main: ClassVar = "calculate"
    outputs: ClassVar = ("y",)

    @property
    def inputs(self) -> tuple[str, ...]:
        """One operand is ``x``, two are ``x_0`` and ``x_1``."""
        return ("x",) if len(self.columns) == 1 else numbered("x", len(self.columns))

    @property
    def made(self) -> int:
        """Addresses in a beat of ``y``."""
        return 2 if self.operation == "pair" else max(self.columns)

    @property
    def decides(self) -> str:
        """Rows of several addresses, for which the cycle model has no room."""
        return "y" if self.made > 1 else ""

    @property
    def makes_flags(self) -> bool:
        """Whether it compares."""
        return self.operation in RELATIONS

    @property
    def shift(self) -> int:
        """Factors of 2 of the constant, which need no multiplication."""
        factor = self.constant or 1
        return (factor & -factor).bit_length() - 1

    @property
    def multiplies(self) -> bool:
        """Whether a product is more than a shift."""
        return self.operation == "product" and (self.constant or 0) >> self.shift > 1

    def clipped(self, bits: int) -> int:
        """The constant as it is on a wire of so many bits."""
        return min(self.constant or 0, number_limit(bits))

    def factor(self, bits: int) -> int:
        """What numbers of so many bits are multiplied by beside the shift."""
        return self.clipped(bits) >> self.shift

    def delay(self, lanes: int) -> int:
        """Pipeline of ``y`` in cycles."""
        return stages.MULTIPLIER if self.multiplies else 0

    def multipliers(self, design: Design) -> int:
        """Those of each address, where a product is more than a shift."""
        if not self.multiplies:
            return 0
        bits = next(design.channel[u.outputs["y"]].bits for u in design.units if u.params == self)
        return self.made * product_multipliers(bits, self.factor(bits).bit_length())

    def errors(self, unit: Unit, design: Design) -> dict[int, str]:
        given = ", ".join(unit.inputs.values())
        large = f"{unit.name} gets a number of {given} that is too large for its wires"
        below = ", or makes one below 0" if self.operation == "difference" else ""
        apart = ", or streams of different structure" if len(self.columns) > 1 else ""
        return {UNTOLD: f"{large}{below}{apart}"}

    def problem(self, unit: Unit, design: Design) -> str | None:
        operands = len(self.columns) + (self.constant is not None)
        if operands != 2 or not self.columns:
            return f"{self.operation} takes 2 operands, one of which may be a constant"
        if self.operation == "pair" and self.columns != (1, 1):
            return "a pair is made of two addresses"
        if self.operation == "product" and self.constant is None:
            return "a product needs a constant"
        if (self.constant or 0) < 0:
            return f"a constant must be at least 0, not {self.constant}"
        if min(self.columns) < 1 or len({*self.columns} - {1}) > 1:
            return f"beats of {' and '.join(map(str, self.columns))} addresses don't match"
        if self.makes_flags and self.made > 1:
            return f"{self.made} flags are not a beat"
        x = design.channel[unit.inputs[self.inputs[0]]]
        if x.rank is None:
            return f"{self.inputs[0]} needs a channel with structure, not a raw one"
        bits = max(1, x.bits)
        if self.operation in RELATIONS and (self.constant or 0) >= number_limit(bits):
            return f"{bits} bits can't be compared with {self.constant}"
        ports = {
            port: Format(columns, bits, x.rank)
            for port, columns in zip(self.inputs, self.columns, strict=True)
        }
        y = Format(self.made, 1 if self.makes_flags else bits, x.rank, self.delay(design.lanes))
        return misfit(unit, design, **ports, y=y)


def of_tiles(operation: Operation, tiles: Sequence[Tile], constant: int | None = None) -> Calculate:
    """The unit for operands that are rows of addresses, with the result behind them."""
    columns = tuple(tile.cols.static or 1 for tile in tiles[:-1])
    return Calculate(operation, columns, constant)
