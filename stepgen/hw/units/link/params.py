"""Link: the way of a stream from one design of a system to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import UNALIGNED, Extent, Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.dims import static
from stepgen.ir.wire import TILE_LEVELS


@dataclass(frozen=True)
class Link(UnitParams):
    """``y`` is the stream ``x``, in beats of other lanes.

    Parameters
    ----------
    take, give : int
        Lanes of ``x`` and of ``y``, of which one is a multiple of the other. Where they are equal
        beats stay as they are, also those of streams without rows.
    columns : int
        Elements of a row.
    """

    take: int = 1
    give: int = 1
    columns: int = 1

    kind: ClassVar = "link"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    @property
    def ratio(self) -> int:
        """Narrow beats of a wide one."""
        return max(self.take, self.give) // min(self.take, self.give)

    @property
    def rest(self) -> int:
        """Narrow beats of the wide one that ends a row."""
        return -(-((self.columns - 1) % max(self.take, self.give) + 1) // min(self.take, self.give))

    def problem(self, unit: Unit, design: Design) -> str | None:
        few, many = sorted((self.take, self.give))
        if few < 1 or many % few:
            return f"beats of {self.take} lanes can't become beats of {self.give}"
        if self.columns < 1:
            return f"a row needs at least 1 column, not {self.columns}"
        x = design.channel[unit.inputs["x"]]
        if few == many:
            return misfit(unit, design, y=Format(x.lanes, x.bits, x.rank))
        if x.rank is None or x.rank < TILE_LEVELS:
            return "x must have tiles"
        y = Format(self.give, x.bits, x.rank)
        return misfit(unit, design, x=y._replace(lanes=self.take), y=y)

    def extents(self, x: Extents) -> Extents:
        if self.take == self.give:
            return x
        return [Extent.of(static(-(-self.columns // self.give))), *x[1:]]

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; beats become more, or several wait until they are one."""
        x_name, y_name = unit.inputs["x"], unit.outputs["y"]
        before, after = (-(-self.columns // lanes) for lanes in (self.take, self.give))

        def follow(paces: Paces) -> Paces:
            x = paces[x_name]
            if after > before:
                groups = x.groups * self.ratio if x.level == 0 else x.groups
                return {y_name: replace(x, groups=groups, prompt=False)}
            if after < before:
                y = replace(x, opened=x.prompt)
                return {y_name: UNALIGNED if x.level == 0 else y}
            return {y_name: x}

        turn = self.ratio if after > before else 1
        return [Part((x_name,), (y_name,), follow, turn=turn)]
