"""split: takes a static dim apart."""

from __future__ import annotations

from stepgen.ir.wire import BARE, DONE
from stepgen.semantics.process import Process, Use
from stepgen.semantics.tokens import Token


def run(use: Use) -> Process:
    """The last token of each part gets the stop of the group, which comes with its last one.

    Where groups have no dim above but the outermost, their stop is known before.
    """
    x, outs, dim, sizes = use.inputs[0], use.outputs, use["dim"], use["sizes"]
    inside, waits = x.stream.rank > dim, x.stream.rank > dim + 1
    while True:
        lasts = []
        for out, size in zip(outs, sizes, strict=True):
            for chunk in range(size):
                while True:
                    token = yield from x.take()
                    above = token.kind == BARE and token.low > dim + 1
                    if token.kind == DONE or above:
                        for each in outs:
                            each.put(token)
                    if token.kind == DONE:
                        return
                    if above:
                        continue
                    if chunk == size - 1 and token.stop >= dim and waits:
                        lasts.append(token)
                    elif chunk == size - 1 and token.stop >= dim and inside:
                        out.put(Token(token.kind, token.value, dim + 1, token.low))
                    else:
                        out.put(token)
                    if token.stop >= dim:
                        break
        for out, last in zip(outs, lasts, strict=False):
            out.put(Token(last.kind, last.value, token.stop, last.low))
