"""flat_map: makes a stream of each element, and concatenates the streams."""

from __future__ import annotations

from typing import Any

from stepgen.ir.function import Cut
from stepgen.ir.wire import BARE, DONE
from stepgen.semantics.access_order import Known
from stepgen.semantics.applying import checked, setting, tiles
from stepgen.semantics.process import Holding, Process, Reader, Steps, Use, structure
from stepgen.semantics.tokens import Token, encode


def run(use: Use) -> Process:
    """Sends the stream of each element without its end; the last token gets the element's stop.

    The last token is held where elements may give an empty stream, since the group may end with it.
    """
    function: Cut = use["fn"]
    at, rank = setting(use), use["rank"]
    x, flags = use.inputs[0], use.inputs[1] if len(use.inputs) > 1 else None
    out = Holding(use.outputs[0], rank == 0 and x.stream.rank > 0 and _may_vanish(use))
    while True:
        token = yield from x.take()
        if token.kind != BARE and token.kind != DONE:
            pieces = [checked(use, piece) for piece in function.pieces(at, tiles([token])[0])]
            known = [use.outputs[0].known] * len(pieces)
            if flags is not None:
                pieces, known = yield from _keep(use, x, token, flags, pieces)
            for _ in range(rank):
                pieces = [pieces]
            *inner, _ = encode(pieces, rank)
            for piece, past in zip(inner[:-1], known, strict=False):
                out.put(piece, known=past)
            if not inner:
                if token.stop:
                    out.close(rank + 1, rank + token.stop)
                continue
            last, stop, past = inner[-1], token.stop and rank + token.stop, (known or [None])[-1]
            made = Token(last.kind, last.value, stop or last.stop, last.low)
            out.put(made, final=stop > 0, known=past)
            continue
        if flags is not None:
            yield from _follow(use, x, token, flags)
        if token.kind == DONE:
            out.done()
            return
        out.put(Token(BARE, None, token.stop + rank, token.low + rank), final=True)


def _may_vanish(use: Use) -> bool:
    element = use.inputs[0].stream.dtype
    return len(use.inputs) > 1 or bool(use["fn"].may_vanish(element))


def _keep(
    use: Use, x: Reader, token: Token, flags: Reader, pieces: list[Any]
) -> Steps[tuple[list[Any], list[Known]]]:
    """The pieces whose flag is not set, and what was known with each flag."""
    kept: list[Any] = []
    known: list[Known] = []
    for i, piece in enumerate(pieces):
        flag = yield from flags.take()
        last = i + 1 == len(pieces)
        if flag.kind == DONE or flag.kind == BARE or flag.stop != (token.stop + 1 if last else 0):
            use.mismatch(x, token, flags, flag, lift=1)
        if not flag.value.any():
            kept.append(piece)
            known.append(use.outputs[0].known)
    if not pieces:
        flag = yield from flags.take()
        if structure(flag) != (BARE, token.stop + 1, 1):
            use.mismatch(x, token, flags, flag, lift=1)
    return kept, known


def _follow(use: Use, x: Reader, token: Token, flags: Reader) -> Process:
    """Take the token of the flags that corresponds to an empty group or the end."""
    flag = yield from flags.take()
    up = 1 if token.kind == BARE else 0
    if structure(flag) != (token.kind, token.stop + up, token.low + up):
        use.mismatch(x, token, flags, flag, lift=1)
