"""bufferize: each chunk kept in on-chip memory; a reference goes on."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.ir.wire import BARE, DONE
from stepgen.semantics.process import Process, Use
from stepgen.semantics.tokens import Token


@dataclass(frozen=True, eq=False)
class Reference:
    """A reference to a chunk in on-chip memory: it may be routed, multicast and read many times.

    Attributes
    ----------
    tokens : tuple of Token
        The one rank-`rank` tensor that the chunk is, without DONE.
    rank : int
        Rank of the chunk.
    """

    tokens: tuple[Token, ...]
    rank: int


def run(use: Use) -> Process:
    """A reference closes what its chunk closed above `rank`."""
    x, out, rank = use.inputs[0], use.outputs[0], use["rank"]
    chunk: list[Token] = []
    while True:
        token = yield from x.take()
        if token.kind == DONE:
            out.done()
            return
        if token.kind == BARE and token.low > rank:
            out.bare(token.low - rank, token.stop - rank)
            continue
        chunk.append(Token(token.kind, token.value, min(token.stop, rank), token.low))
        if token.stop >= rank:
            out.value(Reference(tuple(chunk), rank), token.stop - rank)
            chunk = []
