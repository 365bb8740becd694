"""Draws programs whose requests go to whichever region is free: a loop through an EagerMerge."""

from __future__ import annotations

from typing import Any

import numpy as np

import stepgen as sg
from stepgen.compile.transforms.parallelize import parallelize
from stepgen.ir.stream import Stream


def drawn(seed: int, data: int = 0, *, memory: bool = True) -> tuple[sg.Graph, dict[str, Any]]:
    """A program and its inputs.

    Parameters
    ----------
    seed : int
        Decides the program.
    data : int
        Decides with `seed` the rows of each request, and their contents.
    memory : bool
        Whether it may use off-chip memory.
    """
    rng = np.random.default_rng(seed)
    count, cols = int(rng.choice([1, 2, 7, 12])), int(rng.choice([4, 8]))
    longest = int(rng.choice([1, 3, 9]))
    regions, in_flight = int(rng.integers(1, 4)), int(rng.choice([1, 1, 2, 5]))
    kind = rng.choice(["fold", "packed", "both", *(["product", "stored"] if memory else [])])
    g = sg.Graph("requests")
    x = g.input("x", sg.int8[1, cols], (count, sg.ragged("N", bound=longest)))
    inputs: dict[str, Any] = {}
    done = None
    if kind == "packed":
        g.output(x.accum(sg.fn.retile_row(), rank=1).map(sg.fn.scale(3)), "y")
    elif kind == "both":
        g.output(x.map(sg.fn.offset(1)), "rows")
        done = x.accum(sg.fn.maximum(), rank=1, name="highest")
        g.output(done, "y")
    else:
        rows = x if kind == "fold" else _product(x, cols)
        best = rows.accum(sg.fn.maximum(), rank=1)
        if kind == "stored":
            place = g.input("place", sg.address[1, 1], (count,))
            kept = g.tensor("kept", (count, cols), sg.int8)
            sg.random_offchip_store(place, best, kept, tile=(1, cols))
        else:
            g.output(best, "y")
    own = np.random.default_rng([seed, data])
    for name, tensor in g.tensors.items():
        if name != "kept":
            inputs[name] = own.integers(-128, 128, tensor.shape).astype(np.int8)
    if kind == "stored":
        inputs["place"] = own.permutation(count).reshape(count, 1, 1)
    lengths = own.integers(0, longest + 1, count)
    inputs["x"] = [[*own.integers(-128, 128, (n, 1, cols)).astype(np.int8)] for n in lengths]
    new = parallelize(g, regions=regions, in_flight=in_flight, done=done)
    return new.graph, new.inputs(inputs)


def _product(x: Stream, cols: int) -> Stream:
    """The rows of each request times a matrix that is loaded for it."""
    tile = x.accum(sg.fn.retile_row(), rank=1)
    w = x.graph.tensor("w", (cols, cols), sg.int8)
    loaded = sg.linear_offchip_load(w, tile=(cols, cols), shape=(1,), stride=(1,), ref=tile)
    y = tile.map(sg.fn.matmul(), loaded.flatten(0, 1)).map(sg.fn.requantize(shift=6))
    return y.flat_map(sg.fn.retile_streamify("row"), rank=1)
