"""Accesses that a token orders: no more than its circuit waits for before its first beat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from stepgen.semantics.executor import run

Program = Callable[[sg.Graph, sg.Tensor], dict[str, Any]]


def acknowledged(g: sg.Graph, kept: sg.Tensor, *shape: int) -> sg.Stream:
    at, x = g.input("at", sg.address[1, 1], shape), g.input("x", sg.int8[1, 8], shape)
    stored = at.random_offchip_store(x, kept, tile=(1, 8), name="write")
    return stored.map(sg.fn.convert(sg.int8))


def read_all(g: sg.Graph, kept: sg.Tensor, ref: sg.Stream) -> None:
    y = sg.linear_offchip_load(kept, tile=(1, 8), shape=(4,), stride=(1,), ref=ref, name="read")
    g.output(y, "y")


def hole(g: sg.Graph, kept: sg.Tensor) -> dict[str, Any]:
    """An empty group, sent without waiting for the element that belongs to the group above it."""
    stored = acknowledged(g, kept, 1).promote(0).promote(0)
    marks = g.input("marks", sg.int8[1, 1], (1, 2, sg.ragged("n", bound=2)))
    read_all(g, kept, stored.expand(marks, rank=2).accum(sg.fn.add(), rank=1))
    ones = np.ones((1, 1), np.int8)
    return {"at": [0], "x": np.ones((1, 1, 8)), "marks": [[[], [ones]]]}


def held(g: sg.Graph, kept: sg.Tensor) -> dict[str, Any]:
    """A tile, held back from its last beat on until the next tile comes."""
    at = g.input("at", sg.address[1, 1], (1, sg.ragged("a", bound=2), sg.ragged("b", bound=2)))
    whole = at.random_offchip_load(kept, tile=(2, 8), name="read").flatten(0, 1)
    rows = whole.flat_map(sg.fn.retile_streamify("row"), rank=0)
    to = g.input("to", sg.address[1, 1], tuple(rows.shape))
    g.output(to.random_offchip_store(rows, kept, tile=(1, 8), name="write"), "y")
    zero = np.zeros((1, 1), np.uint64)
    return {"at": [[[zero], [zero]]], "to": [[zero, zero + 3, zero + 2, zero + 2]]}


def flagged(g: sg.Graph, kept: sg.Tensor) -> dict[str, Any]:
    """A row whose flag is there, while that of the next one is not."""
    one, other = acknowledged(g, kept, 1, 2).fork(2)
    tile = g.input("tile", sg.int8[2, 8], (1,))
    flags = one.map(sg.fn.compare("ne"), other)
    read_all(g, kept, tile.flat_map(sg.fn.retile_streamify("row"), rank=0, padding=flags))
    return {"at": [[0, 1]], "x": np.ones((1, 2, 1, 8)), "tile": np.ones((1, 2, 8))}


@pytest.mark.parametrize("program", [hole, held, flagged])
def test_a_token_tells_of_no_more(program: Program) -> None:
    g = sg.Graph(program.__name__)
    kept = g.tensor("kept", (4, 8), sg.int8)
    inputs = program(g, kept)
    with pytest.raises(sg.StepError, match="order that the program does not decide"):
        run(g, {"kept": np.zeros((4, 8), np.int8), **inputs})
