"""expand: repeats elements, by a reference stream or a count."""

from __future__ import annotations

from stepgen.ir.wire import BARE, DONE, VALUE
from stepgen.semantics.process import Process, Use, structure


def run(use: Use) -> Process:
    """With or without a reference stream."""
    return _counted(use) if len(use.inputs) == 1 else _by_reference(use)


def _counted(use: Use) -> Process:
    x, out = use.inputs[0], use.outputs[0]
    while True:
        token = yield from x.take()
        if token.kind == VALUE:
            for _ in range(use["count"] - 1):
                out.value(token.value)
        out.put(token)
        if token.kind == DONE:
            return


def _by_reference(use: Use) -> Process:
    """One element of x belongs to each rank-`rank` group of ref, also to an empty one.

    An empty group inside that group does not wait for the element.
    """
    (x, ref), out, rank = use.inputs, use.outputs[0], use["rank"]
    while True:
        mark = yield from ref.peek()
        if mark.kind == DONE or (mark.kind == BARE and mark.low > rank):
            tokens = yield from use.take_all((x, ref))
            out.put(tokens[0])
            if mark.kind == DONE:
                return
            continue
        if mark.kind == BARE and mark.stop < rank:
            yield from ref.take()
            out.put(mark)
            continue
        item = yield from x.peek()
        mark = yield from ref.take()
        if mark.kind == BARE:
            out.put(mark)
        elif item.kind == VALUE:
            out.value(item.value, mark.stop)
        if item.kind != VALUE or mark.stop >= rank:
            yield from x.take()
            if structure(item) != (VALUE, mark.stop, 0):
                use.mismatch(x, item, ref, mark)
