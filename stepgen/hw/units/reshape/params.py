"""Reshape: splits the innermost dim into chunks, and pads short groups."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.arithmetic.pipeline import pattern
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import UNALIGNED, Extents, Pace, Paces, Part, span
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Channel, Design, Unit
from stepgen.ir.dtypes import ElementType, address
from stepgen.ir.wire import TILE_LEVELS


def bits_of(pad: float, element: ElementType) -> int:
    """The bits of one lane of padding with a number, rounded to the element type of the tiles."""
    return pattern(pad, element)


@dataclass(frozen=True)
class Reshape(UnitParams):
    """``y`` has the elements of the stream ``x`` in chunks.

    ``padding`` has one beat (1 lane of 1 bit) per element of ``y``, of wire rank
    ``rank of y - level``: whether the element is padding.

    Parameters
    ----------
    level : int
        Wire level that closes an element: 2 for tiles, 0 for selectors and flags.
    chunk : int
        Extent of the new innermost dim.
    rows, slices : int
        Rows of a padding element and beats of one of its rows; 1 and 1 if elements are not tiles.
        0 rows: the padding element is an empty tile.
    pad : int
        Bits of one lane of the padding, negative numbers in two's complement; see `bits_of`.
    prompt : bool
        Whether a flag is sent with the first beat of its element, for consumers that ignore stops:
        all its stops are then 0, and empty groups have no flag. Else it is sent with the last beat.
    flagged : bool
        Whether the unit has the output ``padding``.
    """

    level: int
    chunk: int
    rows: int
    slices: int
    pad: int
    prompt: bool
    flagged: bool = True

    kind: ClassVar = "reshape"
    inputs: ClassVar = ("x",)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The chunks, and the flags if there are any."""
        return ("y", "padding") if self.flagged else ("y",)

    def problem(self, unit: Unit, design: Design) -> str | None:
        x = design.channel[unit.inputs["x"]]
        if x.rank is None or self.level not in (0, TILE_LEVELS) or self.level > x.rank:
            allowed = f"0 or {TILE_LEVELS}" if (x.rank or 0) >= TILE_LEVELS else "0"
            return f"the level of an element must be {allowed}, not {self.level}"
        if self.chunk < 1:
            return f"a chunk must have at least 1 element, not {self.chunk}"
        if self.level and (self.rows < 0 or self.slices < 1):
            return (
                f"padding must have at least 0 rows of 1 slice, "
                f"not {self.rows} rows of {self.slices}"
            )
        if not self.level and (self.rows, self.slices) != (1, 1):
            return f"padding must have 1 row of 1 slice, not {self.rows} rows of {self.slices}"
        formats = {"y": Format(x.lanes, x.bits, x.rank + 1)}
        if self.flagged:
            formats["padding"] = Format(1, 1, x.rank + 1 - self.level)
        return misfit(unit, design, **formats)

    def lane(self, y: Channel) -> int:
        """The bits of one lane of padding; an address that is too large becomes all ones."""
        most = (1 << y.bits) - 1
        return min(self.pad, most) if y.element == address.name else self.pad & most

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; padding follows a group's end, so an element may have to wait for its chunk."""
        level, chunk, prompt = self.level, self.chunk, self.prompt
        x_name, outputs = unit.inputs["x"], tuple(unit.outputs.values())
        y_dims = extents[unit.outputs["y"]]

        def data(x: Pace) -> Pace:
            x = replace(x, replayed="")
            if x.level > level:
                return x.moved(level + 1, 1)
            padding = (chunk - 1) * span(y_dims, x.level, level)
            late = math.inf if x.sparse else x.lag + 1
            return replace(
                x,
                groups=x.groups + padding,
                lag=late if chunk > 1 else x.lag,
                prompt=x.prompt and chunk == 1,
            )

        def flags(x: Pace, y: Pace) -> Pace:
            one = x.level == level and x.groups == 1 and chunk == 1
            pace = y.moved(level, -level)
            return replace(
                pace,
                opened=x.prompt or (prompt and x.opened),
                prompt=y.prompt or (prompt and x.opened and one),
            )

        def follow(paces: Paces) -> Paces:
            x = paces[x_name]
            y = data(x)
            both = (y, flags(x, y)) if x.level >= level else (y, UNALIGNED)
            return dict(zip(outputs, both, strict=False))

        def start(y: Pace) -> Paces:
            flag = UNALIGNED
            if y.level >= level:
                flag = replace(
                    y.moved(level, -level), opened=prompt, prompt=prompt and y.level == level
                )
            return dict(zip(outputs, (y, flag), strict=False))

        return [Part((x_name,), outputs, follow, start=start)]
