"""A reference stream as one beat per element: an actor that several units have."""

from __future__ import annotations

from stepgen.ir.wire import BARE, VALUE
from stepgen.timing.kernel import *

E = record("ref", "elements", "base")


@step
def reduce(M: Memory, a: int, t: int) -> int:
    ref, elements, base = M[a + E.ref], M[a + E.elements], M[a + E.base]
    wait = ready(M, ref, t)
    if wait != READY:
        return wait
    beat = head(M, ref)
    kind, stop, low = kind_of(beat), stop_of(beat), low_of(beat)
    if kind != VALUE or stop >= base:
        wait = room(M, elements, t)
        if wait != READY:
            return wait
        if kind == BARE and low <= base:
            kind = VALUE
        if kind == BARE:
            beat = make_beat(BARE, stop - base, low - base, 0)
        elif kind == VALUE:
            beat = make_beat(VALUE, stop - base, 0, 0)
        push(M, elements, t, beat)
    pop(M, ref, t)
    return acted(M, t)
