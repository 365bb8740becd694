"""Cycle model of the PCU: one beat of every operand at a time; the pipeline is behind it."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.pcu.params import Pcu
from stepgen.ir.wire import BARE, TILE_LEVELS, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("y", "operands", "x")
# The operands' channels lie one after the other from `x`.
B = record("y", "operands", "lead", "single", "slices", "slice", "drops", "first", "x")
# From `x` on lie the channel and the role of each operand. `first` is set in the first row of a
# tile, `drops` if a stored row is dropped where a tile has no rows.

WHOLE, COLUMN, KEPT, STORED = range(4)
"""Roles of operands: not broadcast, held for a row, held for a tile, in a memory for a tile."""


@step
def flow(M: Memory, a: int, t: int) -> int:
    wait = all_ready(M, a + P.x, M[a + P.operands], t)
    if wait != READY:
        return wait
    wait = room(M, M[a + P.y], t)
    if wait != READY:
        return wait
    for n in range(1, M[a + P.operands]):
        pop(M, M[a + P.x + n], t)
    push(M, M[a + P.y], t, pop(M, M[a + P.x], t))
    return acted(M, t)


@step
def spread(M: Memory, a: int, t: int) -> int:
    y, first = M[a + B.y], M[a + B.first]
    for n in range(M[a + B.operands]):
        if first or M[a + B.x + 2 * n + 1] != STORED:
            wait = ready(M, M[a + B.x + 2 * n], t)
            if wait != READY:
                return wait
    beat = head(M, M[a + B.lead])
    kind, stop = kind_of(beat), stop_of(beat)
    empty = kind == BARE and low_of(beat) <= TILE_LEVELS
    counts = kind == VALUE or (empty and M[a + B.drops])
    ends_row = not counts or M[a + B.slice] + 1 == M[a + B.slices]
    if M[a + B.single]:
        ends_row = not counts or stop > 0
    ends = ends_row and (kind != VALUE or stop >= TILE_LEVELS)
    if kind == VALUE or ends_row:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        push(M, y, t, make_beat(kind, stop if ends_row else 0, low_of(beat), 0))
    for n in range(M[a + B.operands]):
        role = M[a + B.x + 2 * n + 1]
        done = ends
        if role == WHOLE:
            done = kind == VALUE or ends_row
        elif role == COLUMN:
            done = ends_row
        elif role == STORED:
            done = first != 0
        if done:
            pop(M, M[a + B.x + 2 * n], t)
    if counts and not M[a + B.single]:
        M[a + B.slice] = 0 if ends_row else M[a + B.slice] + 1
    if ends_row:
        M[a + B.first] = ends
    return acted(M, t)


def build(unit: Unit, params: Pcu, layout: DesignLayout) -> None:
    """One actor; the pipeline is the output channel's delay."""
    x = [layout.channel(name) for name in unit.inputs.values()]
    y = layout.channel(unit.outputs["y"])
    if any(params.broadcast):
        roles = [STORED if params.stored(n) else ROLES[h] for n, h in enumerate(params.broadcast)]
        fields = packed(
            B,
            y=y,
            operands=len(x),
            lead=x[params.lead],
            single=params.single,
            slices=params.slices,
            slice=0,
            drops=params.rows_stored > 0,
            first=True,
            x=[word for pair in zip(x, roles, strict=True) for word in pair],
        )
        layout.actor(unit.name, "compute", spread, fields, reads=x, writes=[y])
        return
    fields = packed(P, y=y, operands=len(x), x=x)
    layout.actor(unit.name, "compute", flow, fields, reads=x, writes=[y])


ROLES = {"": WHOLE, "cols": COLUMN, "rows": KEPT, "both": KEPT}
"""Roles of operands that are in no memory, by how they are broadcast."""
