"""bufferize: stores each chunk in on-chip memory and sends a reference."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.ir.wire import BARE, DONE
from stepgen.semantics.process import Process, Use
from stepgen.semantics.tokens import Token


@dataclass(frozen=True, eq=False)
class Reference:
    """A reference to a chunk in on-chip memory; may be routed, multicast and read several times.

    Attributes
    ----------
    tokens : tuple of Token
        The rank-`rank` tensor of the chunk, without DONE.
    rank : int
        Rank of the chunk.
    """

    tokens: tuple[Token, ...]
    rank: int


def run(use: Use) -> Process:
    """A reference has the stop of its chunk, less `rank`."""
    x, out, rank = use.inputs[0], use.outputs[0], use["rank"]
    most = use.node.attrs.get("most")
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
            rows = sum(1 if one.value is None else max(1, len(one.value)) for one in chunk)
            if most is not None and rows > most:
                use.fail(
                    f"it stores a buffer of {x.name} of {rows} rows, and has memory for {most}"
                )
            out.value(Reference(tuple(chunk), rank), token.stop - rank)
            chunk = []
