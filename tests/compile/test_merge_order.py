"""Merges by selectors of their own, not those of the route: depths hold what comes too early."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from seeds import some_slow

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.fuzz.case import Case
from stepgen.fuzz.compare import stuck
from stepgen.hw.units.reassemble.params import Reassemble
from stepgen.ir.stalls import Stalls

KINDS = ("routed", "copies", "buffers", "nested", "references")


def branch(x: sg.Stream, kind: int) -> sg.Stream:
    """One of several ways to the merge, of other latency and other clocks."""
    if kind == 0:
        return x
    if kind == 1:
        return x.map(sg.fn.offset(1))
    if kind == 2:
        return x.bufferize(rank=1).streamify()
    return x.accum(sg.fn.maximum(), rank=1).promote(0).expand(x)


def orders(rng: np.random.Generator, chosen: np.ndarray) -> np.ndarray:
    """The same choices in another order, often an adverse one."""
    how = rng.integers(4)
    return (
        rng.permutation(chosen) if how == 3 else [chosen, np.sort(chosen), -np.sort(-chosen)][how]
    )


def drawn(seed: int) -> tuple[sg.Graph, dict[str, Any]]:
    """A program and inputs; what is merged has as many chunks as the selectors name."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    chunks, rows, ways = (int(rng.integers(*r)) for r in ((1, 9), (1, 4), (2, 4)))
    g = sg.Graph(kind)
    x = g.input("x", sg.int8[1, 8], (chunks, rows))
    inputs: dict[str, Any] = {"x": rng.integers(-9, 9, (chunks, rows, 1, 8))}

    def selectors(name: str, chosen: np.ndarray) -> sg.Stream:
        inputs[name] = np.eye(ways, dtype=bool)[chosen]
        return g.input(name, sg.Selector(ways, hot=1), (len(chosen),))

    chosen = rng.integers(0, ways, chunks)
    if kind in ("copies", "buffers"):
        chosen = np.repeat(np.arange(ways), chunks)
        buffers = x.bufferize(rank=1) if kind == "buffers" else None
        parts = [x if buffers is None else buffers.streamify() for _ in range(ways)]
    elif kind == "references":
        refs = sg.partition(x.bufferize(rank=1), selectors("s", chosen), rank=0)
        parts = [ref.streamify() for ref in refs]
    else:
        sel = selectors("s", chosen)
        parts = list(sg.partition(x, sel, rank=1))
    if kind == "nested":
        inner, other = rng.integers(0, ways, (2, chunks))
        other[chosen == 0] = orders(rng, inner[chosen == 0])
        to, back = (
            sg.partition(selectors(name, chosen), sel, rank=0)
            for name, chosen in (("t", inner), ("u", other))
        )
        for n, unused in enumerate((*to[1:], *back[1:])):
            g.output(unused, f"unused{n}")
        again = sg.partition(parts[0], to[0], rank=1)
        parts[0] = sg.reassemble(again, back[0], rank=1).flatten(1, 2)
    if kind != "references":
        parts = [branch(part, int(rng.integers(4))) for part in parts]
    f = selectors("f", orders(rng, chosen))
    g.output(sg.reassemble(parts, f, rank=1), "y")
    return g, inputs


@pytest.mark.parametrize("seed", some_slow(range(200), 20))
def test_no_order_deadlocks(seed: int) -> None:
    g, inputs = drawn(seed)
    rng = np.random.default_rng(seed)
    shares = {name: float(rng.choice([0, 0, 0.5, 0.9])) for name in (*g.inputs, "y")}
    for stalls in (Stalls(), Stalls(seed, shares)):
        assert stuck(Case(g, inputs, lanes=int(rng.choice([1, 4])), stalls=stalls), {}) is None


def test_merges_by_the_selectors_of_the_route_hold_a_chunk_alone() -> None:
    """Also of nested routes, and behind what keeps the order of chunks."""
    g = sg.Graph("in_step")
    x = g.input("x", sg.int8[1, 8], (64, 2))
    one, two = (g.input(name, sg.Selector(2, hot=1), (64,)) for name in ("one", "two"))
    first, other = sg.partition(x, one, rank=1)
    inner, unused = sg.partition(two, one, rank=0)
    g.output(unused, "unused")
    split = sg.partition(first, inner, rank=1)
    merged = sg.reassemble([branch(split[0], 1), split[1]], inner, rank=1).flatten(1, 2)
    g.output(sg.reassemble([merged, branch(other, 1)], one, rank=1), "y")
    design = lower(g)
    merges = [u.params for u in design.units if isinstance(u.params, Reassemble)]
    assert [m.in_step for m in merges] == [(0, 1), (0, 1)]
    assert max(c.depth for c in design.channels) < 16
