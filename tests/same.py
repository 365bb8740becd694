"""Compares programs before and after a transform; small programs to transform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import stepgen as sg
from examples.moe import moe
from stepgen.compile.transforms import Transformed
from stepgen.ir.text import dumps, loads
from stepgen.semantics.executor import Result, run
from stepgen.semantics.inputs import multi_hot
from stepgen.semantics.shapes import measure
from stepgen.semantics.tokens import same_value


def stored(graph: sg.Graph) -> set[str]:
    """Names of the tensors that a program writes."""
    return {node.attrs["tensor"] for node in graph.nodes if node.face.writes == "tensor"}


def check_same(
    old: sg.Graph,
    new: Transformed,
    inputs: Mapping[str, Any],
    choices: Mapping[str, Sequence[int]] | None = None,
) -> Result:
    """Both programs give the same outputs, and the new one has a text and true types."""
    new.graph.check()
    assert loads(dumps(new.graph)) == new.graph
    before = run(old, inputs, lanes=2)
    after = run(new.graph, new.inputs(inputs), lanes=2, choices=choices)
    measure(new.graph, after)
    outputs = {node.name for node in old.nodes if node.op == "output"}
    assert outputs == {node.name for node in new.graph.nodes if node.op == "output"}
    for name in outputs:
        assert before.streams[name] == after.streams[name], name
    assert stored(old) == stored(new.graph)
    for name in stored(old):
        assert same_value(before.tensors[name], after.tensors[name]), name
    return after


ROUTINGS = {
    "none": [[]] * 4,
    "one token": [[1]],
    "all to one": [[2]] * 6,
    "everywhere": [[0, 1, 2, 3]] * 5,
    "uneven": [[0, 3], [0], [], [3, 1], [0], [0, 3], [0]],
}
"""Experts of each token, of four."""


def small_moe(
    chosen: Sequence[Sequence[int]], tiling: str, seed: int = 0, experts: int = 4
) -> tuple[sg.Graph, dict[str, Any]]:
    """The MoE example with a routing of each token to any number of experts."""
    top = max(map(len, chosen), default=1) or 1
    graph, inputs = moe(
        len(chosen), experts, top, 8, 16, tile=3, columns=8, tiling=tiling, seed=seed
    )
    return graph, inputs | {"route": multi_hot(chosen, experts)}


def expert(
    g: sg.Graph, rows: sg.Stream, number: int, *, shift: int = 1, steps: int = 2
) -> sg.Stream:
    """Rows ``[E]`` of 1 x 4, all in one dynamic tile, through one weight and some steps."""
    packed = rows.promote().accum(sg.fn.retile_row(), rank=1)
    weight = g.tensor(f"w{number}", (4, 8), sg.int8)
    tiles = sg.linear_offchip_load(weight, tile=(4, 4), shape=(2,), stride=(1,), ref=packed)
    product = packed.promote(0).expand(count=2).map(sg.fn.matmul(), tiles)
    for _ in range(steps):
        product = product.map(sg.fn.offset(shift))
    wide = product.accum(sg.fn.retile_col(), rank=1)
    return wide.flat_map(sg.fn.retile_streamify("row"), rank=0)


def draw_routing(seed: int, experts: int = 4) -> list[list[int]]:
    """A drawn routing: some tokens have no expert, some experts have many tokens."""
    rng = np.random.default_rng(seed)
    popular = rng.dirichlet(np.full(experts, 0.4)) + 1e-3
    popular /= popular.sum()
    return [
        sorted(int(e) for e in rng.choice(experts, rng.integers(0, 4), replace=False, p=popular))
        for _ in range(rng.integers(1, 10))
    ]
