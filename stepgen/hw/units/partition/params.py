"""Partition: routes each chunk of a stream to the outputs that its selector names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import RUN, Extents, Pace, Paces, Part, copied
from stepgen.hw.design.params import UnitParams, numbered
from stepgen.hw.design.table import Design, Unit, index_bits

NEAR = 4
"""Outputs whose FIFOs can be placed next to the unit."""


@dataclass(frozen=True)
class Partition(UnitParams):
    """Routes each chunk of ``x`` to those of ``y_0``, ``y_1``, … that its selector names.

    ``sel`` has the selectors, a bit per output.

    Parameters
    ----------
    consumers : int
        Number of outputs.
    level : int
        Wire level of ``x`` that closes a chunk (tiles: 2 + rank). Level ``level + k`` of ``x``
        corresponds to level k of ``sel``; the outputs have wire rank `level`.
    surplus : bool
        Whether selectors may be left when ``x`` has ended: they are dropped. In a loop there may
        be some, since the loop keeps naming consumers until the end reaches it.
    shares : tuple of int
        For references to buffers that are counted: how many come back of one that is sent to an
        output. Empty for all else.
    given : int
        How many are to come back of one in ``x``. What the outputs chosen lack is given back at
        once, to ``rest``: the reference, and above it the number.
    rests : bool
        Whether they may lack any.
    once : tuple of int
        Outputs that one selector of each innermost group names.
    """

    consumers: int
    level: int
    surplus: bool
    shares: tuple[int, ...] = ()
    given: int = 0
    rests: bool = False
    once: tuple[int, ...] = ()

    kind: ClassVar = "partition"
    main: ClassVar = "route"
    inputs: ClassVar = ("x", "sel")

    @property
    def outputs(self) -> tuple[str, ...]:
        """One per consumer, and the references given back."""
        return (*self.ys, "rest") if self.rests else self.ys

    @property
    def ys(self) -> tuple[str, ...]:
        """One per consumer."""
        return numbered("y", self.consumers)

    @property
    def share_bits(self) -> int:
        """Bits of a number of references."""
        return index_bits(self.given + 1)

    def delay(self, lanes: int) -> int:
        """A register where the outputs are too many to lie close together."""
        return int(self.consumers > NEAR)

    def problem(self, unit: Unit, design: Design) -> str | None:
        x = design.channel[unit.inputs["x"]]
        if self.consumers < 1:
            return f"it needs at least 1 consumer, not {self.consumers}"
        if x.rank is None or not 0 <= self.level <= x.rank:
            return f"the level {self.level} of a chunk must be within 0..{x.rank or 0}"
        sel = Format(self.consumers, 1, x.rank - self.level)
        y = Format(x.lanes, x.bits, self.level, self.delay(design.lanes))
        if self.shares and len(self.shares) != self.consumers:
            return f"{self.consumers} consumers have {self.consumers} shares, not {self.shares}"
        rest = {"rest": Format(1, x.bits + self.share_bits, None)} if self.rests else {}
        return misfit(unit, design, sel=sel, **dict.fromkeys(self.ys, y), **rest)

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; an epoch may send nothing to an output."""
        x_name, sel_name = unit.inputs["x"], unit.inputs["sel"]
        y_names = tuple(unit.outputs[port] for port in self.ys)

        def routed(x: Pace, dims: Extents, base: int, *, once: bool) -> Pace:
            each = once and base < x.level < RUN
            if x.level > base:
                groups = x.count(dims, base + each)
                x = replace(x, groups=groups, level=base, opened=False, prompt=False)
            sparse = not each or x.sparse or any(d.may_be_empty for d in dims[base + 1 : x.level])
            return replace(x.moved(0, self.level - base), sparse=sparse, replayed="")

        def sent(paces: Paces, *, once: bool) -> Pace:
            x, sel = paces.get(x_name), paces.get(sel_name)
            if x is not None:
                return routed(x, extents[x_name], self.level, once=once).after(sel)
            assert sel is not None
            return routed(sel, extents[sel_name], 0, once=once)

        def follow(paces: Paces) -> Paces:
            made = {once: sent(paces, once=once) for once in (False, True)}
            some = copied(*y_names)({x_name: made[False]})
            one = copied(*y_names)({x_name: made[True]})
            return {y: (one if n in self.once else some)[y] for n, y in enumerate(y_names)}

        return [
            Part(
                (x_name, sel_name),
                y_names,
                follow,
                meets={x_name: self.level},
                clock=x_name,
                start=lambda x: follow({x_name: x}),
                routes_by=sel_name,
            )
        ]
