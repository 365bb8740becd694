"""The actor that requests bursts when there is space for their words, common to what loads."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.timing.bursts import burst_length
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("bursts", "req", "data", "asked", "longest")


@step
def grant(M: Memory, a: int, t: int) -> int:
    wait = can_pass(M, M[a + P.bursts], M[a + P.req], t)
    if wait != READY:
        return wait
    words = M[a + P.asked] + M[a + P.longest]
    wait = room_for(M, M[a + P.data], words, t - 1)  # credits return one cycle late
    if wait != READY:
        return max(wait, t + 1) if wait > 0 else wait
    M[a + P.asked] += burst_length(head(M, M[a + P.bursts]))
    push(M, M[a + P.req], t, pop(M, M[a + P.bursts], t))
    return acted(M, t)


def build_grant(unit: Unit, layout: DesignLayout, bursts: int, longest: int) -> None:
    """Add the actor.

    Parameters
    ----------
    unit : Unit
        Its channels of words and requests are ``data`` and ``req``.
    layout : DesignLayout
    bursts : int
        Address of the queue of bursts.
    longest : int
        Words of the longest one.
    """
    data, req = layout.channel(unit.inputs["data"]), layout.channel(unit.outputs["req"])
    own = packed(P, bursts=bursts, req=req, data=data, asked=0, longest=longest)
    layout.actor(unit.name, "grant", grant, own, reads=[bursts], writes=[req, data])
