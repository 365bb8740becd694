"""reshape: splits a dim into two; of D0 the last chunk of a group is padded, or shorter."""

from __future__ import annotations

import numpy as np

from stepgen.ir.wire import BARE, DONE
from stepgen.semantics.numbers import DTYPES, Array, as_element, name_of
from stepgen.semantics.process import Holding, Process, Use
from stepgen.semantics.tokens import Token


def run(use: Use) -> Process:
    """For dim 0 counts elements and may pad, for a dim above counts its groups."""
    if use["pad"] is None:
        return _capped(use)
    return _innermost(use) if use["dim"] == 0 else _above(use)


def _flag(padding: bool) -> Array:
    return np.full((1, 1), padding, DTYPES["bool"])


def _innermost(use: Use) -> Process:
    x, chunk = use.inputs[0], use["chunk"]
    data, flags = use.outputs
    count = 0
    last = None

    def fill(stop: int) -> None:
        assert last is not None
        blank = np.broadcast_to(as_element(use["pad"], name_of(last), "pad"), last.shape)
        for i in range(count, chunk):
            data.value(blank, stop if i == chunk - 1 else 0)
            flags.value(_flag(True), stop if i == chunk - 1 else 0)

    while True:
        token = yield from x.take()
        if token.kind == DONE:
            if count:
                fill(1)
            data.done()
            flags.done()
            return
        if token.kind == BARE:
            for out in (data, flags):
                out.bare(token.low + 1, token.stop + 1)
            continue
        count, last = count + 1, token.value
        stop = token.stop + 1 if count == chunk else 0
        data.value(token.value, stop)
        flags.value(_flag(False), stop)
        if token.stop and count < chunk:
            fill(token.stop + 1)
        if token.stop or count == chunk:
            count = 0


def _capped(use: Use) -> Process:
    """Without an outer dim the last element is known by the end of the stream alone."""
    x, chunk = use.inputs[0], use["chunk"]
    out = Holding(use.outputs[0], x.stream.rank == 0)
    count = 0
    while True:
        token = yield from x.take()
        if token.kind == DONE:
            if count:
                out.close(1, 1)
            out.done()
            return
        if token.kind == BARE:
            out.put(Token(BARE, None, token.stop + 1, token.low + 1), final=True)
            continue
        count += 1
        ends = token.stop > 0 or count == chunk
        out.put(Token(token.kind, token.value, token.stop + ends), final=ends)
        if ends:
            count = 0


def _above(use: Use) -> Process:
    x, dim, chunk, out = use.inputs[0], use["dim"], use["chunk"], use.outputs[0]
    count = 0
    while True:
        token = yield from x.take()
        if token.kind == DONE:
            if count:
                use.fail(f"{x.name} ends with {count} of {chunk} items of dim D{dim}")
            out.done()
            return
        if token.kind == BARE and token.low > dim:
            out.bare(token.low + 1, token.stop + 1)
            continue
        stop = token.stop
        if stop >= dim:
            count += 1
            if stop > dim and count != chunk:
                use.fail(f"a group of {x.name} ends with {count} of {chunk} items of dim D{dim}")
            if count == chunk:
                stop, count = stop + 1, 0
        if token.kind == BARE:
            out.bare(token.low, stop)
        else:
            out.value(token.value, stop)
