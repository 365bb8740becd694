"""Draws programs in which a reference waits for what it causes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

import stepgen as sg
from stepgen.fuzz.generators import loops
from stepgen.ir.stream import Stream

LONGEST = 40
"""Elements of a group, at most."""

KINDS = ("group", "weights", "merged", "itself")


def drawn(seed: int, lanes: int, kind: str | None = None) -> tuple[sg.Graph, dict[str, Any]]:
    """A program and its inputs.

    Parameters
    ----------
    seed, lanes : int
    kind : str, optional
        ``"group"``: what a whole group results in is repeated for each of its elements;
        ``"weights"``: it triggers the load of what each of them is multiplied by; ``"merged"``: of
        three ways that meet again one lets nothing through before its end. Depths free them.
        ``"itself"``: the first chunk is to come from a loop that nothing has entered, which no
        depth frees.
    """
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(KINDS)) if kind is None else kind
    if kind == "itself":
        turns = loops.drawn(seed)
        entering, leaving = ([[0, 1], *bits] for bits in (turns.entering, turns.leaving))
        return loops.loop(replace(turns, entering=entering, leaving=leaving))
    if kind == "merged":
        return _merged(rng, lanes)
    g = sg.Graph("waiting")
    columns = lanes * int(rng.choice([4, 8] if kind == "weights" else [1, 2]))
    tile = sg.Tile(1, columns, sg.int8)
    x = g.input("x", tile, (sg.dynamic("N", bound=3), sg.ragged("G", bound=LONGEST)))
    if kind == "group":
        one, other = _worked(x, rng).fork(2)
        whole = one.accum(sg.fn.retile_row(), rank=1)
        g.output(whole.promote(0).expand(_worked(other, rng)), "y")
    else:
        one, other = x.fork(2)
        whole = one.accum(sg.fn.retile_row(), rank=1)
        w = g.tensor("w", (columns, columns), sg.int8)
        loaded = sg.linear_offchip_load(
            w, tile=(columns, columns), shape=(1,), stride=(1,), ref=whole
        )
        g.output(other.map(sg.fn.matmul(), loaded.expand(_worked(x, rng))), "y")

    def element() -> Any:
        return rng.integers(-9, 9, (1, columns)).astype(np.int8)

    count = int(rng.integers(1, 4))
    lengths = rng.choice([1, 7, LONGEST], count)
    lengths[-1] = LONGEST
    return g, {"x": [[element() for _ in range(n)] for n in lengths]}


def _merged(rng: np.random.Generator, lanes: int) -> tuple[sg.Graph, dict[str, Any]]:
    """Rows that take ways of different speed, and meet again in their order or by arrival."""
    g, count = sg.Graph("waiting"), int(rng.integers(12, LONGEST // 2))
    dim = sg.dynamic("N", bound=LONGEST // 2)
    x = g.input("x", sg.Tile(1, 4 * lanes, sg.int8), (dim,))
    sel = g.input("sel", sg.Selector(3), (dim,))
    slow, some, other = sg.partition(x, sel, rank=0)
    w = g.tensor("w", (4 * lanes, 4 * lanes), sg.int8)
    loaded = sg.linear_offchip_load(
        w, tile=(4 * lanes, 4 * lanes), shape=(1,), stride=(1,), ref=some
    )
    packed = slow.promote().accum(sg.fn.retile_row(), rank=1)
    ways = [
        packed.flat_map(sg.fn.retile_streamify("row"), rank=0),
        some.map(sg.fn.matmul(), loaded.flatten(0, 1)).map(sg.fn.requantize(shift=4)),
        _worked(other, rng),
    ]
    order: Literal["arrival", "index"] = "arrival" if rng.random() < 0.7 else "index"
    g.output(sg.reassemble(ways, sel, rank=0, order=order), "y")
    rows = [rng.integers(-9, 9, (1, 4 * lanes)).astype(np.int8) for _ in range(count)]
    return g, {"x": rows, "sel": [rng.random(3) < (0.5, 0.5, 0.8) for _ in range(count)]}


def _worked(x: Stream, rng: np.random.Generator) -> Stream:
    """The same stream, through some units or none."""
    for _ in range(int(rng.integers(0, 3))):
        x = x.promote(0).flatten(0, 1)
    return x
