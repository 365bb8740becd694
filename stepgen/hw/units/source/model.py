"""Cycle model of an input stream port."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.source.params import Source
from stepgen.ir.stalls import stalled
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("y", "beats", "left", "offered", "key", "threshold", "late")


@step
def offer(M: Memory, a: int, t: int) -> int:
    if M[a + P.left] == 0:
        return NEVER
    if not M[a + P.offered] and (t < M[a + P.late] or stalled(M[a + P.key], M[a + P.threshold], t)):
        return held_back(M, t)
    M[a + P.offered] = 1
    wait = room(M, M[a + P.y], t)
    if wait != READY:
        return wait
    push(M, M[a + P.y], t, M[M[a + P.beats]])
    M[a + P.beats] += 1
    M[a + P.left] -= 1
    M[a + P.offered] = 0
    return acted(M, t)


def build(unit: Unit, params: Source, layout: DesignLayout) -> None:
    """A source offers a beat from the first cycle without a stall until it is accepted.

    It is closed after its ``DONE``. For the next run the first of the beats offered early counts as
    offered before cycle 0.
    """
    y = layout.channel(unit.outputs["y"])
    beats = layout.stimulus(unit)
    key, threshold = layout.run.stalls.of(unit.name)
    offered = int(unit.name in layout.run.early)
    own = packed(
        P,
        y=y,
        beats=layout.reserve(beats),
        left=len(beats),
        offered=offered,
        key=key,
        threshold=threshold,
        late=layout.run.stalls.late.get(unit.name, 0),
    )
    layout.actor(unit.name, "offer", offer, own, reads=[], writes=[y])
