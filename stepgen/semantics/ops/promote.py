"""promote: adds a dim of 1."""

from __future__ import annotations

from stepgen.ir.wire import BARE, DONE
from stepgen.semantics.process import Holding, Process, Use
from stepgen.semantics.tokens import Token


def run(use: Use) -> Process:
    """Levels from `level` on rise by one.

    A new outermost dim ends with the stream, so a token is held until it is known not to be the
    last; an empty stream stays empty.
    """
    x, level = use.inputs[0], use["level"]
    outermost = level == x.stream.rank + 1
    out = Holding(use.outputs[0], outermost)
    empty = True
    while True:
        token = yield from x.take()
        if token.kind == DONE:
            if outermost and not empty:
                out.close(level, level)
            out.done()
            return
        empty = False
        if outermost:
            out.put(token, final=token.stop < x.stream.rank)
            continue
        stop = token.stop + 1 if token.stop >= level else token.stop
        low = token.low + 1 if token.kind == BARE and token.low > level else token.low
        out.put(Token(token.kind, token.value, stop, low))
