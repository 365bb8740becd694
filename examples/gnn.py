"""A layer of a graph neural network: ``relu(aggregate(neighbours) @ w)``.

Nodes have any number of neighbours, including none: a ragged dim. The list of all neighbours lies
in memory node after node; each node's part of it is a range of addresses. It holds the numbers of
the neighbours, by which their features are fetched. A node is among its own neighbours, so the
mean of an isolated one is defined. The weight is read once and kept on chip.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

import stepgen as sg


def gnn(
    neighbours: Sequence[Sequence[int]] | None = None,
    nodes: int = 24,
    degree: float = 3,
    width: int = 16,
    hidden: int = 32,
    tile: int = 8,
    columns: int = 16,
    aggregate: str = "mean",
    element: str = "bf16",
    seed: int = 0,
    data: bool = True,
) -> tuple[sg.Graph, dict[str, Any]]:
    """Build the layer and its inputs.

    Parameters
    ----------
    neighbours : sequence of sequences of int, optional
        The neighbours of each node; drawn if not given.
    nodes, degree : int, float
        For drawing: number of nodes, and their mean degree; about a quarter of the nodes has no
        neighbours, some have many.
    width, hidden : int
        Features of a node before and after.
    tile : int
        Nodes per tile that is multiplied with the weight.
    columns : int
        Columns of a tile of the weight.
    aggregate : {"mean", "sum"}
        How the features of a node and its neighbours are combined, in f32.
    element : {"bf16", "f32"}
        Element type of features and weights; products have a circuit in bf16.
    seed : int
        Seed of everything drawn.
    data : bool
        Whether to draw features and weights; without them the program can be costed. The list of
        neighbours is always drawn, since addresses depend on it.

    Returns
    -------
    graph : Graph
    inputs : dict
        Ranges, list of neighbours and, with `data`, features and weights, by name.
    """
    if aggregate not in ("mean", "sum"):
        raise sg.StepError(f'gnn needs aggregate "mean" or "sum", not {aggregate!r}')
    if element not in ("bf16", "f32"):
        raise sg.StepError(f'gnn needs element "bf16" or "f32", not {element!r}')
    if columns < 1 or hidden % columns:
        raise sg.StepError(f"gnn needs hidden divisible by columns, not {hidden} by {columns}")
    if neighbours is None and not (nodes >= 1 and degree >= 0):
        raise sg.StepError(
            f"gnn needs at least 1 node and a degree of at least 0, not {nodes} and {degree}"
        )
    rng = np.random.default_rng(seed)
    if neighbours is None:
        neighbours = _drawn(rng, nodes, degree)
    nodes = len(neighbours)
    lists = [int(node) for near in neighbours for node in near]
    if not nodes or any(not 0 <= node < nodes for node in lists):
        raise sg.StepError(f"gnn needs neighbours within its {nodes} nodes")
    lengths = np.array([len(near) for near in neighbours])
    starts = np.cumsum(lengths) - lengths

    g = sg.Graph(f"gnn_{aggregate}")
    kind = sg.bf16 if element == "bf16" else sg.f32
    x = g.tensor("x", (nodes, width), kind)
    w = g.tensor("w", (width, hidden), kind)
    y = g.tensor("y", (nodes, hidden), sg.f32)
    edges = g.tensor("edges", (max(1, len(lists)), 1), sg.address)
    ranges = g.input("ranges", sg.address[1, 2], (nodes,))

    places = ranges.flat_map(sg.fn.span(), rank=1)
    near = sg.random_offchip_load(places, edges, tile=(1, 1), name="edges")
    features = sg.random_offchip_load(near, x, tile=(1, width), name="neighbours")
    own = sg.linear_offchip_load(x, tile=(1, width), shape=(nodes,), stride=(1,), name="x")
    wide = sg.fn.convert(sg.f32)
    total = features.map(wide).accum(sg.fn.add(), rank=1).map(sg.fn.add(), own.map(wide))
    if aggregate == "mean":
        count = features.accum(sg.fn.count(), rank=1).map(wide)
        total = total.map(sg.fn.div(), count.map(sg.fn.offset(1)))

    rows, padding = total.map(sg.fn.convert(kind), name="gathered").reshape(chunk=tile)
    tiles = rows.accum(sg.fn.retile_row(), rank=1).promote()
    steps = hidden // columns
    weight = sg.linear_offchip_load(
        w, tile=(width, columns), shape=(1, steps), stride=(0, 1), name="w"
    )
    kept = weight.bufferize(rank=1).streamify(tiles)
    product = tiles.promote(0).expand(count=steps).map(sg.fn.matmul(), kept)
    joined = product.map(sg.fn.at_least(0)).accum(sg.fn.retile_col(), rank=1).flatten(0, 1)
    result = joined.flat_map(sg.fn.retile_streamify("row"), rank=0, padding=padding)
    sg.linear_offchip_store(result, y, name="y")

    inputs: dict[str, Any] = {
        "ranges": np.stack([starts, lengths], axis=1).reshape(nodes, 1, 2),
        "edges": np.array(lists or [0], np.uint64).reshape(-1, 1),
    }
    if data:
        dtype = ml_dtypes.bfloat16 if kind is sg.bf16 else np.float32
        inputs["x"] = rng.normal(size=(nodes, width)).astype(dtype)
        inputs["w"] = rng.normal(0, width**-0.5, (width, hidden)).astype(dtype)
    return g, inputs


def _drawn(rng: np.random.Generator, nodes: int, degree: float) -> list[list[int]]:
    """Neighbour lists whose lengths are heavy-tailed, a quarter of them empty."""
    popularity = rng.pareto(2.0, nodes) + 1
    wanted = popularity * (rng.random(nodes) > 0.25)
    lengths = rng.poisson(wanted * degree * nodes / max(wanted.sum(), 1))
    lengths = np.minimum(lengths, nodes - 1)
    share = popularity / popularity.sum()
    return [sorted(rng.choice(nodes, n, replace=False, p=share).tolist()) for n in lengths]
