"""Accesses of one tensor in an order that nothing decides are refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.program.tiles import simulate
from stepgen.semantics.executor import run
from stepgen.timing.tiles.machines import SDA

TILES = 6
KINDS = ("apart", "derived", "acknowledged", "stores")


def program(kind: str, count: int, rows: int) -> sg.Graph:
    """A store and a load, or two stores, of one tensor."""
    g = sg.Graph(kind)
    tensor = g.tensor("m", (TILES * rows, 8), sg.int8)
    one, two = (g.input(name, sg.address[1, 1], (count,)) for name in ("one", "two"))
    x = g.input("x", sg.int8[rows, 8], (count,))
    tile = (rows, 8)
    if kind == "derived":
        read = one.random_offchip_load(tensor, tile=tile, name="read")
        two.random_offchip_store(read.map(sg.fn.offset(1)), tensor, tile=tile, name="write")
        return g
    stored = one.random_offchip_store(x, tensor, tile=tile, name="write")
    if kind == "stores":
        two.random_offchip_store(x, tensor, tile=tile, name="again")
    elif kind == "apart":
        g.output(two.random_offchip_load(tensor, tile=tile, name="read"), "y")
    else:
        # Addresses that are there only once the flag is: they were stored beside the tiles.
        places = g.tensor("places", (count, 1), sg.address)
        at = sg.linear_offchip_load(places, tile=(1, 1), shape=(1,), stride=(1,), ref=stored)
        g.output(at.flatten(0, 1).random_offchip_load(tensor, tile=tile, name="read"), "y")
    return g


def decided(kind: str, one: list[int], two: list[int]) -> bool:
    """Whether the order is decided, or does not matter."""
    if kind in ("apart", "stores"):
        return not set(one) & set(two)
    if kind == "derived":  # a write waits for the reads up to that of its own data
        return all(k <= j for k, n in enumerate(one) for j, m in enumerate(two) if n == m)
    return two[0] not in one[1:]  # the first flag reads what a later write is for


def verdict(face: Any, graph: sg.Graph, inputs: dict[str, Any]) -> str:
    """Empty, or why a face refuses a run."""
    try:
        face(graph, inputs)
    except sg.StepError as error:
        return str(error)
    return ""


def test_both_refuse_what_the_program_does_not_decide() -> None:
    """The reference in every run; on tiles where the run's own order shows it."""
    rng, seen = np.random.default_rng(1), Counter()
    machine = replace(SDA, fifo_depth=2)
    for n in range(64):
        kind, count, rows = KINDS[n % 4], int(rng.integers(2, 4)), int(rng.integers(1, 3))
        one, two = (rng.integers(0, TILES, count).tolist() for _ in range(2))
        if rng.random() < 0.5:
            two[0] = one[-1 if kind == "acknowledged" else 0]
        elif kind == "derived":
            one = two = rng.permutation(TILES)[:count].tolist()
        else:
            mixed = rng.permutation(TILES)
            one, two = mixed[:count].tolist(), mixed[count : 2 * count].tolist()
        graph = program(kind, count, rows)
        inputs = {
            "m": np.zeros((TILES * rows, 8), np.int8),
            "x": np.ones((count, rows, 8)),
            "one": one,
            "two": two,
            "places": [[two[0]]] * count,
        }
        known = [k for k in inputs if k in {*graph.inputs, *graph.tensors}]
        inputs = {name: inputs[name] for name in known}
        fine = decided(kind, one, two)
        seen[kind, fine] += 1
        reference = verdict(run, graph, inputs)
        tiles = verdict(lambda g, i: simulate(g, i, machine), graph, inputs)
        case = (n, kind, one, two, reference, tiles)
        assert bool(reference) != fine, case
        assert not (tiles and fine), case
        assert tiles or fine or kind in ("acknowledged", "derived"), case
        for said in filter(None, (reference, tiles)):
            assert "of tensor m is used in an order that the program does not decide" in said
            assert "neither of the two accesses waits for the other" in said
    assert min(seen[k, True] for k in KINDS) > 2
    assert min(seen[k, False] for k in KINDS) > 2


@pytest.mark.parametrize("face", ["reference", "tiles", "circuit"])
def test_a_store_beside_a_load_of_all_tiles_is_refused_at_once(face: str) -> None:
    g = sg.Graph("all")
    tensor, x = g.tensor("m", (4, 8), sg.int8), g.input("x", sg.int8[1, 8], (1,))
    read = sg.linear_offchip_load(tensor, tile=(1, 8), shape=(4,), stride=(1,), name="read")
    g.output(read, "y")
    g.input("at", sg.address[1, 1], (1,)).random_offchip_store(x, tensor, tile=(1, 8), name="write")
    inputs = {"m": np.zeros((4, 8)), "x": np.ones((1, 1, 8)), "at": [0]}
    message = (
        r"write \(test_hazards.py:\d+\) writes tiles of tensor m, and read at "
        r"test_hazards.py:\d+ reads all of its 4 tiles"
    )
    with pytest.raises(sg.StepError, match=message):
        {
            "reference": lambda: run(g, inputs),
            "tiles": lambda: simulate(g, inputs, SDA),
            "circuit": lambda: lower(g),
        }[face]()
