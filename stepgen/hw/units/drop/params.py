"""Drop: removes flagged elements."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.wire import TILE_LEVELS


@dataclass(frozen=True)
class Drop(UnitParams):
    """Removes flagged tiles: ``y`` has the tiles of ``x`` whose beat of ``flags`` is 0.

    A beat of `flags` is 1 lane of 1 bit. Its stops and empty tokens are ignored.

    Parameters
    ----------
    hold : bool
        Whether groups close at wire level 3 and above, so that the last kept element of a group
        must wait for what follows. Not needed for a stream of rank 0.
    """

    hold: bool

    kind: ClassVar = "drop"
    inputs: ClassVar = ("x", "flags")
    outputs: ClassVar = ("y",)

    def problem(self, unit: Unit, design: Design) -> str | None:
        x = design.channel[unit.inputs["x"]]
        if x.rank is None or x.rank < TILE_LEVELS:
            return f"x must be a stream of tiles, of at least rank {TILE_LEVELS}, not {x.rank or 0}"
        if x.rank > TILE_LEVELS and not self.hold:
            return f"with x of rank {x.rank} it needs hold, for the last beat of a group"
        flags = Format(1, 1, design.channel[unit.inputs["flags"]].rank or 0)
        return misfit(unit, design, flags=flags, y=Format(x.lanes, x.bits, x.rank))

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; with `hold` the last kept element of a group may leave only with the group's end."""
        x_name, flags_name, y_name = *unit.inputs.values(), unit.outputs["y"]
        held = self.hold

        def follow(paces: Paces) -> Paces:
            x, flags = paces.get(x_name), paces.get(flags_name)
            kept = None if flags is None else flags.moved(0, TILE_LEVELS)
            y = kept if x is None else x.moved(TILE_LEVELS, 0).after(kept)
            assert y is not None
            if held and y.level == TILE_LEVELS:
                y = replace(y, sparse=True, lag=math.inf, prompt=False)
            y = replace(y, sparse=y.sparse or not held, opened=y.opened and not held, replayed="")
            return {y_name: y}

        return [Part((x_name, flags_name), (y_name,), follow, meets={x_name: TILE_LEVELS})]
