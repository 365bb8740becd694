"""reassemble: merges chunks of the streams that a selector names."""

from __future__ import annotations

from collections.abc import Iterable

from stepgen.ir.wire import BARE, DONE
from stepgen.semantics.process import Process, Use
from stepgen.semantics.tokens import Token


def run(use: Use) -> Process:
    """The last chunk of a group gets the selector's stop; without a set bit the group is empty.

    In order of arrival the chunks of a group have the order of `choices`, if given.
    """
    *xs, sel = use.inputs
    rank, out = use["rank"], use.outputs[0]
    while True:
        choice = yield from sel.take()
        if choice.kind == DONE:
            break
        if choice.kind == BARE:
            out.bare(choice.low + rank + 1, choice.stop + rank + 1)
            continue
        chosen = [i for i, bit in enumerate(choice.value) if bit]
        close = choice.stop + rank + 1
        if not chosen:
            out.bare(rank + 1, close)
        if use.choices is not None and use["order"] == "arrival":
            chosen = _replayed(use, chosen)
        for i in chosen:
            while True:
                token = yield from xs[i].take()
                if token.kind == DONE or (token.kind == BARE and token.low > rank):
                    use.mismatch(sel, choice, xs[i], token, lift=rank)
                ends = token.stop == rank
                stop = close if ends and i == chosen[-1] else token.stop
                out.put(Token(token.kind, token.value, stop, token.low))
                if ends:
                    break
    out.done()
    for x in xs:
        token = yield from x.take()
        if token.kind != DONE:
            use.fail(f"{x.name} has a chunk left when the selectors of {sel.name} have ended")


def _replayed(use: Use, chosen: Iterable[int]) -> list[int]:
    assert use.choices is not None
    order = [next(use.choices, -1) for _ in chosen]
    if sorted(order) != list(chosen):
        if use.guesses:
            use.choices = None
            return list(chosen)
        use.fail(
            f"the order of arrival that was given, {order}, does not fit inputs {list(chosen)}"
        )
    return order
