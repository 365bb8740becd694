"""Memory that nobody wrote holds anything, and no result depends on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from programs import SMALL, example, shipped_programs
from seeds import some_slow
from unwritten import KINDS, Unwritten, behind, filled, same, tensors_only_written

import stepgen as sg
from stepgen.program.program import load
from stepgen.semantics.executor import run
from stepgen.semantics.tokens import same_value

LENGTHS = {"attention": np.array([0, 1, 3, 4, 9]), "decoder": np.array([3, 0])}


def check(graph: sg.Graph, inputs: Mapping[str, Any], unwritten: Unwritten, seed: int) -> None:
    """A run with each kind of junk gives what one with zeros does, but for what it leaves alone."""
    rng = np.random.default_rng(seed)
    zeros = filled(graph, inputs, unwritten, rng, None)
    clean = run(graph, zeros)
    for kind in KINDS:
        given = filled(graph, inputs, unwritten, rng, kind)
        result = run(graph, given)
        for name in graph.outputs:
            pairs = zip(result.streams[name], clean.streams[name], strict=True)
            assert all(same_value(a.value, b.value) for a, b in pairs), f"{name} with {kind}"
        for name, after in result.tensors.items():
            agrees = same(after, clean.tensors[name])
            if name in unwritten:
                stays = same(after, given[name]) & same(clean.tensors[name], zeros[name])
                agrees |= unwritten[name] & stays
            assert agrees.all(), f"{name} with {kind}"


@pytest.mark.parametrize("name", shipped_programs())
def test_shipped_programs(name: str) -> None:
    lengths = LENGTHS.get(name)
    program = load(name, SMALL.get(name, {}), lengths=lengths)
    unwritten = tensors_only_written(program.graph, program.inputs)
    caches = {} if lengths is None else behind(program.graph, lengths)
    assert len(caches) == (0 if lengths is None else 2)
    check(program.graph, program.inputs, {**unwritten, **caches}, 1)


@pytest.mark.parametrize("seed", some_slow(range(24), 8))
def test_drawn_attention(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tile = int(rng.integers(1, 6))
    lengths = rng.integers(0, 3 * tile + 2, rng.integers(1, 5))
    graph, inputs = example("attention").attention(
        lengths,
        rows=int(rng.integers(1, 4)),
        width=2 * int(rng.integers(1, 6)),
        tile=tile,
        element=str(rng.choice(["bf16", "f32", "int8"])),
        seed=seed,
    )
    check(graph, inputs, behind(graph, lengths), seed)


@pytest.mark.parametrize("seed", some_slow(range(40), 8))
def test_drawn_programs_with_a_cache(seed: int) -> None:
    check(*drawn(seed), seed)


def drawn(seed: int) -> tuple[sg.Graph, dict[str, Any], Unwritten]:
    """Caches of requests of drawn lengths, masked in one of the ways there are, and folded."""
    rng = np.random.default_rng(seed)
    tile, width = int(rng.integers(1, 6)), int(rng.integers(1, 10))
    lengths = rng.integers(1, 3 * tile + 1, rng.integers(1, 5))
    counts, batch = -(-lengths // tile), len(lengths)
    most = int(counts.max())
    element = rng.choice([sg.bf16, sg.f32])
    g = sg.Graph(f"cached_{seed}")
    spans = g.input("span", sg.address[1, 2], (batch,))
    filled = g.input("filled", sg.address[1, 1], (batch,))
    x = g.input("x", element[2, width], (batch,))
    cache = g.tensor("cache", (batch * most * tile, width), element)
    addresses = spans.flat_map(sg.fn.span(most), rank=1)
    tiles = sg.random_offchip_load(addresses, cache, tile=(tile, width))
    is_last = spans.flat_map(sg.fn.span_last(most), rank=1)

    def masked(x: sg.Stream, mask: Any) -> sg.Stream:
        last, others = sg.partition(x, is_last, rank=0)
        return sg.reassemble([last.map(mask, filled), others], is_last, rank=0).flatten(0, 1)

    by_row = masked(tiles, sg.fn.mask_rows(0))
    scores = masked(
        x.promote(0).expand(tiles).map(sg.fn.matmul(transpose=True), tiles), sg.fn.mask_cols(-1e30)
    )
    sums = by_row.accum(sg.fn.add(), rank=1)
    g.output(sums, "sums")
    g.output(by_row.map(sg.fn.square()).accum(sg.fn.maximum(), rank=1), "most")
    g.output(scores.map(sg.fn.row_max()).accum(sg.fn.maximum(), rank=1), "highest")
    weights = scores.map(sg.fn.exp())
    if element == sg.bf16:
        weights = weights.map(sg.fn.convert(sg.bf16))
        g.output(weights.accum(sg.fn.matmul(), by_row, rank=1), "mean")
    spans_of = np.stack([np.arange(batch) * most, counts], axis=1).reshape(batch, 1, 2)
    inputs = {
        "span": spans_of,
        "filled": ((lengths - 1) % tile + 1).reshape(batch, 1, 1),
        "x": rng.normal(size=(batch, 2, width)),
        "cache": rng.normal(size=cache.shape),
    }
    rows = np.arange(most * tile)
    empty = (rows >= lengths[:, None]).reshape(-1, 1)
    return g, inputs, {"cache": np.broadcast_to(empty, cache.shape)}
