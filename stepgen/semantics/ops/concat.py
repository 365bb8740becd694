"""concat: joins streams along a dim."""

from __future__ import annotations

from stepgen.ir.wire import BARE, DONE, VALUE
from stepgen.semantics.process import Holding, Process, Reader, Steps, Use
from stepgen.semantics.tokens import Token


def run(use: Use) -> Process:
    """A group of every input, of which the last one closes that of the output."""
    dim, inside = use["dim"], use.inputs[0].stream.rank > use["dim"]
    out = Holding(use.outputs[0], inside)
    while True:
        ends: list[tuple[Reader, Token]] = []
        for x in use.inputs:
            ends.append((x, (yield from _group(x, out, dim))))
        first, end = ends[0]
        for x, its in ends[1:]:
            if (its.kind, its.stop) != (end.kind, end.stop):
                use.mismatch(first, end, x, its)
        if end.kind == DONE:
            out.done()
            return
        if end.kind == BARE:
            out.put(end, final=True)
        else:
            out.close(dim + 1, end.stop)


def _group(x: Reader, out: Holding, dim: int) -> Steps[Token]:
    """Pass a group on, up to its stop.

    Returns a token with the stop: empty, if all that it closes is empty too, or at the end.
    """
    while True:
        token = yield from x.take()
        if token.kind == DONE or (token.kind == BARE and token.low > dim + 1):
            return token
        closes = Token(VALUE, None, token.stop)
        if token.kind == BARE and token.low == dim + 1:
            return closes
        out.put(Token(token.kind, token.value, min(token.stop, dim), token.low))
        if token.stop > dim:
            return closes
