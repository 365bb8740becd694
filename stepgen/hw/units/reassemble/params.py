"""Reassemble: merges chunks of the streams that a selector names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import RUN, UNALIGNED, Extents, Paces, Part
from stepgen.hw.design.params import UnitParams, numbered
from stepgen.hw.design.table import Design, Unit


@dataclass(frozen=True)
class Reassemble(UnitParams):
    """A group of chunks in ``y`` per selector: one from each of ``x_0``, ``x_1``, … that it names.

    ``sel`` has the selectors, a bit per input.

    Parameters
    ----------
    producers : int
        Number of streams to merge.
    level : int
        Wire level of a chunk (tiles: 2 + rank), the wire rank of every ``x``. Level k of ``sel``
        becomes level ``level + 1 + k`` of ``y``.
    order : {"index", "arrival"}
        ``"index"``: the selected inputs in ascending order. ``"arrival"``: in order of arrival.
    in_step : tuple of int
        Inputs whose chunks were routed by the same selectors, so that they come in the order in
        which they are taken. Of others all may come before the first that is taken.
    single : bool
        Whether a selector names one input at most.
    """

    producers: int
    level: int
    order: Literal["index", "arrival"]
    in_step: tuple[int, ...] = ()
    single: bool = False

    kind: ClassVar = "reassemble"
    main: ClassVar = "merge"
    outputs: ClassVar = ("y",)

    @property
    def xs(self) -> tuple[str, ...]:
        """The ports of the streams to merge."""
        return numbered("x", self.producers)

    @property
    def inputs(self) -> tuple[str, ...]:
        """One per producer, and the selectors."""
        return (*self.xs, "sel")

    @property
    def by_arrival(self) -> bool:
        """Where the chunks of a selector come in that order."""
        return self.order == "arrival"

    def problem(self, unit: Unit, design: Design) -> str | None:
        if self.producers < 1:
            return f"it needs at least 1 producer, not {self.producers}"
        if self.level < 0:
            return f"the level of a chunk must be at least 0, not {self.level}"
        first, sel = (design.channel[unit.inputs[port]] for port in ("x_0", "sel"))
        if sel.rank is None:
            return "sel must have stops, a raw channel has none"
        x = Format(first.lanes, first.bits, self.level)
        y = Format(first.lanes, first.bits, self.level + 1 + sel.rank)
        xs = dict.fromkeys(self.xs, x)
        return misfit(unit, design, **xs, sel=Format(self.producers, 1, sel.rank), y=y)

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One, which consumes a selector before the chunks that it names."""
        xs, y_name = [unit.inputs[port] for port in self.xs], unit.outputs["y"]
        sel_name = unit.inputs["sel"]

        def follow(paces: Paces) -> Paces:
            sel = paces.get(sel_name)
            if sel is None:
                return {y_name: UNALIGNED}
            chunks = [paces[x].moved(self.level, 1) for x in xs if x in paces]
            y = sel.moved(0, self.level + 1).after(*chunks)
            return {y_name: replace(y, opened=False, replayed="")}

        meets = {x: self.level if n in self.in_step else RUN for n, x in enumerate(xs)}
        return [
            Part(
                (*xs, sel_name),
                (y_name,),
                follow,
                meets=meets,
                keeps={sel_name: 1},
                picks=tuple(xs),
                single=self.single,
            )
        ]
