"""flatten: merges adjacent dims into one."""

from __future__ import annotations

from stepgen.ir.wire import BARE, DONE
from stepgen.semantics.process import Holding, Process, Use
from stepgen.semantics.tokens import Token


def run(use: Use) -> Process:
    """Levels up to `lo` stay, those of the merged dims vanish, those above are lowered.

    An empty group within the merged dims adds nothing to the merged group, but may end it: then the
    token held gets its stop, or the merged group is empty.
    """
    x, lo, hi = use.inputs[0], use["lo"], use["hi"]
    inner = [x.stream.dim(level) for level in range(lo, hi)]
    out = Holding(use.outputs[0], hi < x.stream.rank and any(d.may_be_empty for d in inner))
    down = hi - lo
    while True:
        token = yield from x.take()
        if token.kind == DONE:
            out.done()
            return
        if token.kind == BARE and lo < token.low <= hi:
            if token.stop > hi:
                out.close(lo + 1, token.stop - down)
            continue
        if token.stop <= hi:
            stop, final = min(token.stop, lo), token.stop < lo
        else:
            stop, final = token.stop - down, True
        low = token.low - down if token.low > hi else token.low
        out.put(Token(token.kind, token.value, stop, low), final=final)
