"""Small programs for tasks that are often needed.

`stepgen show recipes:relu`, `stepgen run recipes:relu`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import stepgen as sg

Program = tuple[sg.Graph, dict[str, Any]]


def relu(rows: int = 4) -> sg.Graph:
    """ReLU: the larger of each element and 0; ``at_least`` takes any other constant too."""
    g = sg.Graph("relu")
    x = g.input("x", sg.int8[1, 8], (rows,))
    g.output(x.map(sg.fn.at_least(0)), "y")
    return g


def clip(rows: int = 4) -> sg.Graph:
    """Between two constants, such as ReLU6."""
    g = sg.Graph("clip")
    x = g.input("x", sg.f32[1, 8], (rows,))
    g.output(x.map(sg.fn.at_least(0)).map(sg.fn.at_most(6)), "y")
    return g


def bias(rows: int = 4) -> sg.Graph:
    """A bias per column: a row from off-chip memory for each tile, repeated over the tile's rows.

    A bias that is one constant is ``x.map(sg.fn.offset(c))``.
    """
    g = sg.Graph("bias")
    x = g.input("x", sg.f32[16, 8], (rows,))
    b = g.tensor("b", (1, 8), sg.f32)
    row = sg.linear_offchip_load(b, tile=(1, 8), shape=(1,), stride=(0,), ref=x).flatten(0, 1)
    g.output(x.map(sg.fn.add(), row), "y")
    return g


def masked(rows: int = 4) -> sg.Graph:
    """A mask: elements below a threshold of their row become 0."""
    g = sg.Graph("masked")
    x = g.input("x", sg.f32[1, 8], (rows,))
    threshold = g.input("threshold", sg.f32[1, 1], (rows,))
    keep = x.map(sg.fn.compare("ge"), threshold).map(sg.fn.convert(sg.f32))
    g.output(x.map(sg.fn.mul(), keep), "y")
    return g


def masked_columns(rows: int = 4) -> Program:
    """A mask of columns: all from an index on become minus infinity, as before a softmax."""
    g = sg.Graph("masked_columns")
    scores = g.input("scores", sg.f32[1, 8], (rows,))
    valid = g.input("valid", sg.address[1, 1], (rows,))
    g.output(scores.map(sg.fn.mask_cols(-np.inf), valid), "y")
    return g, {"valid": np.arange(1, rows + 1).reshape(rows, 1, 1)}


def softmax(rows: int = 4) -> sg.Graph:
    """A softmax of each row; rows of one column are repeated over all columns."""
    g = sg.Graph("softmax")
    x = g.input("x", sg.f32[1, 8], (rows,))
    e = x.map(sg.fn.sub(), x.map(sg.fn.row_max())).map(sg.fn.exp())
    g.output(e.map(sg.fn.div(), e.map(sg.fn.row_sum())), "y")
    return g


def routed(rows: int = 4, experts: int = 3, seed: int = 0) -> Program:
    """One-hot selectors from an array of indices: every row goes to one expert and comes back.

    ``hot=1`` says that one bit is set in each selector, so the type of `y` knows that there is one
    row per selector.
    """
    g = sg.Graph("routed")
    x = g.input("x", sg.int8[1, 8], (rows,))
    route = g.input("route", sg.Selector(experts, hot=1), (rows,))
    parts = x.partition(route, rank=0)
    g.output(sg.reassemble(parts, route, rank=0), "y")
    index = np.random.default_rng(seed).integers(experts, size=rows)
    return g, {"route": np.eye(experts, dtype=bool)[index]}
