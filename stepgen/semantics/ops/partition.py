"""partition: routes chunks to the consumers that their selector names."""

from __future__ import annotations

from stepgen.ir.wire import BARE, DONE
from stepgen.semantics.process import Process, Use, lowered, structure
from stepgen.semantics.tokens import Token


def run(use: Use) -> Process:
    """Sends complete chunks, which close level `rank`; the structure above chunks is dropped.

    In a loop there may be more selectors than chunks, since the loop keeps naming consumers until
    the end reaches it: the rest is dropped.
    """
    (x, sel), rank = use.inputs, use["rank"]
    while True:
        head = yield from x.peek()
        if head.kind == DONE:
            yield from x.take()
            for out in use.outputs:
                out.done()
            yield from _drain(use)
            return
        choice = yield from sel.take()
        if head.kind == BARE and head.low > rank:
            yield from x.take()
            if structure(choice) != lowered(head, rank):
                use.mismatch(x, head, sel, choice, lift=-rank)
            continue
        if choice.kind in (BARE, DONE):
            yield from x.take()
            use.mismatch(x, head, sel, choice, lift=-rank)
        outs = [out for out, bit in zip(use.outputs, choice.value, strict=True) if bit]
        while True:
            token = yield from x.take()
            stop = min(token.stop, rank)
            for out in outs:
                out.put(Token(token.kind, token.value, stop, token.low))
            if token.stop >= rank:
                break
        if token.stop - rank != choice.stop:
            use.mismatch(x, token, sel, choice, lift=-rank)


def _drain(use: Use) -> Process:
    x, sel = use.inputs
    while True:
        choice = yield from sel.take()
        if choice.kind == DONE:
            return
        if not use.cyclic:
            use.mismatch(x, Token(DONE), sel, choice)
