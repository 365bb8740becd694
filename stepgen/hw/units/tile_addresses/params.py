"""TileAddresses: a selector or a number becomes the addresses of as many tiles as each has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design import stages
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extent, Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.registers import UNTOLD
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.dims import static


@dataclass(frozen=True)
class TileAddresses(UnitParams):
    """``y`` has the addresses ``e * count`` .. ``e * count + count - 1`` for each e of ``x``.

    Parameters
    ----------
    count : int
        Addresses of each e.
    bits : int
        Bits of a selector, of which each that is set is a number e; 0 where ``x`` has addresses.
    grouped : bool
        Whether the addresses of each element of ``x`` are a group.
    hot : int
        How many bits of a selector are set.
    """

    count: int
    bits: int
    grouped: bool
    hot: int = 1

    kind: ClassVar = "tile_addresses"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    def errors(self, unit: Unit, design: Design) -> dict[int, str]:
        return {
            UNTOLD: f"{unit.name} gets a selector of {unit.inputs['x']} in which other than "
            f"{self.hot} bits are set"
        }

    def problem(self, unit: Unit, design: Design) -> str | None:
        x, y = (design.channel[c] for c in (unit.inputs["x"], unit.outputs["y"]))
        if self.count < 1:
            return f"each must have at least 1 address, not {self.count}"
        if self.bits < 0:
            return f"a selector must have at least 1 bit, not {self.bits}"
        if not 1 <= self.hot <= max(1, self.bits):
            return f"of {self.bits} bits there can't be {self.hot} set"
        if x.rank is None:
            return "x needs a channel with structure, not a raw one"
        bits = max(1, y.bits)
        taken = Format(self.bits, 1, x.rank) if self.bits else Format(1, bits, x.rank)
        made = Format(1, bits, x.rank + self.grouped, self.delay(design.lanes))
        return misfit(unit, design, x=taken, y=made)

    @property
    def shift(self) -> int:
        """Factors of 2 of the count, which need no multiplication."""
        return (self.count & -self.count).bit_length() - 1

    @property
    def factor(self) -> int:
        """What numbers are multiplied by beside the shift; 1 for selectors, which choose."""
        return 1 if self.bits else self.count >> self.shift

    def delay(self, lanes: int) -> int:
        """Pipeline of ``y`` in cycles."""
        return stages.MULTIPLIER if self.factor > 1 else 0

    def multipliers(self, design: Design) -> int:
        """One, where numbers are multiplied by what is not a power of two."""
        return int(self.factor > 1)

    def extents(self, x: Extents) -> Extents:
        each = Extent.of(static(self.hot * self.count))
        return [each, *x] if self.grouped else [x[0] * each, *x[1:]]

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; e becomes a group, or as many elements of its own group."""
        x_name, y_name = unit.inputs["x"], unit.outputs["y"]

        def follow(paces: Paces) -> Paces:
            x = paces[x_name]
            if self.grouped:
                y = x.moved(0, 1)
            elif x.level:
                y = x
            else:
                y = replace(x, groups=x.groups * self.hot * self.count)
            return {y_name: replace(y, replayed="")}

        return [Part((x_name,), (y_name,), follow, turn=self.hot * self.count)]
