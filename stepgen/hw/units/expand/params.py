"""Expand: repeats each element, from a ring buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design import stages
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part, Queue, copied
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.ram import Ram
from stepgen.hw.design.table import Channel, Design, Unit
from stepgen.ir.wire import TILE_LEVELS

ENDS = 16
"""Most ends of elements that are queued for the reading side."""


@dataclass(frozen=True)
class Expand(UnitParams):
    """Each element of ``x`` repeated: a number of times, or once per element of ``ref``.

    ``y`` is the output of the memory's pipeline.

    Parameters
    ----------
    count : int or None
        Times that each element is sent, at least 1; None where `ref` determines it.
    base : int
        Wire level that closes an element of `x`: 2 for tiles, 0 for selectors, flags and addresses.
    level : int
        Wire level of `x` that closes what is repeated: `base` + the number of its innermost dims of
        extent 1, at least one with `count`. Level k of `ref` is level ``base + k`` of `y`.
    ref_base : int
        Wire level that closes an element of `ref`: 2 for tiles, 0 for selectors and flags, or
        without `ref`.
    capacity : int
        Beats of the memory, at least 2, and at least those of the largest element that is sent more
        than once; twice that to go from element to element without a gap.
    """

    count: int | None
    base: int
    level: int
    ref_base: int
    capacity: int

    kind: ClassVar = "expand"
    outputs: ClassVar = ("y",)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The elements, and the reference if there is no count."""
        return ("x", "ref") if self.count is None else ("x",)

    def problem(self, unit: Unit, design: Design) -> str | None:
        x = design.channel[unit.inputs["x"]]
        rank = x.rank
        if self.base not in (0, TILE_LEVELS):
            return f"the level of an element of x must be 0 or {TILE_LEVELS}, not {self.base}"
        least = self.base if self.count is None else self.base + 1
        if rank is None or not least <= self.level <= rank:
            return f"the level {self.level} of an element must be within {least}..{rank or 0}"
        if self.count is not None and self.count < 1:
            return f"an element must be sent at least once, not {self.count} times"
        if self.capacity < 2:
            return f"the memory must hold at least 2 beats, not {self.capacity}"
        if self.ref_base not in (0, TILE_LEVELS):
            return f"the level of an element of ref must be 0 or {TILE_LEVELS}, not {self.ref_base}"
        sent = Format(x.lanes, x.bits, rank, self.delay(design.lanes))
        formats = {"y": sent}
        if self.count is None:
            ref = design.channel[unit.inputs["ref"]]
            formats["ref"] = Format(ref.lanes, ref.bits, rank - self.base + self.ref_base)
        elif self.ref_base:
            return f"without ref no element of it has the level {self.ref_base}"
        return misfit(unit, design, **formats)

    def delay(self, lanes: int) -> int:
        """Latency of the memory."""
        return stages.BLOCK_RAM

    def width(self, unit: Unit, design: Design) -> int:
        """Bits of a word of the memory: a beat and whether it ends a row."""
        x = design.channel[unit.inputs["x"]]
        return x.lanes * x.bits + 1

    def rams(self, unit: Unit, design: Design) -> list[Ram]:
        """The ring buffer."""
        return [Ram(self.width(unit, design), self.capacity)]

    @property
    def announced(self) -> int:
        """Depth of the queue of ends of elements."""
        return max(2, min(ENDS, self.capacity))

    def queues(self, unit: Unit, design: Design) -> list[Channel]:
        """``ends``: where elements end in the memory; ``elements``: `ref`, a beat per element."""
        rank = design.channel[unit.inputs["x"]].rank
        assert rank is not None
        address_bits = max(1, (self.capacity - 1).bit_length())
        ends = Channel("ends", 1, address_bits, rank, depth=self.announced)
        elements = Channel("elements", 0, 0, rank - self.base)
        return [ends, elements] if self.ref_base else [ends]

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """Two: one fills the ring buffer, the other reads it, again once an element is all in."""
        x, y, ring = unit.inputs["x"], unit.outputs["y"], f"{unit.name}.ring"
        dims = extents[x]
        queue = Queue(dims, [(0, self.capacity), (self.base, self.announced)])
        write = Part((x,), (ring,), copied(ring), queues={ring: queue})
        if self.count is None:
            return [write, self._following(ring, unit.inputs["ref"], y)]
        count = self.count

        def repeat(paces: Paces) -> Paces:
            element = paces[ring].moved(self.level, 0)
            copies = count > 1 and element.count(dims, self.base) == 1
            return {y: replace(element, replayed=ring if copies else "")}

        return [write, Part((ring,), (y,), repeat)]

    def _following(self, ring: str, ref: str, y: str) -> Part:
        """The part that reads what is repeated for each element of a reference."""
        base, ref_base = self.base, self.ref_base

        def follow(paces: Paces) -> Paces:
            stored, element = paces.get(ring), paces.get(ref)
            follower = None if element is None else element.moved(ref_base, base - ref_base)
            stored = None if stored is None else stored.moved(self.level, 0)
            main = follower if follower is not None else stored
            assert main is not None
            both = [p for p in (follower, stored) if p is not None]
            return {y: replace(main.after(*both), opened=False, replayed="")}

        meets = {ring: self.level, ref: ref_base + self.level - base}
        return Part((ring, ref), (y,), follow, meets=meets)
