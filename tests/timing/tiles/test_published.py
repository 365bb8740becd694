"""Each field in which the machine of the published simulator differs, alone, changes a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from stepgen.ir.stream import Stream
from stepgen.program.tiles import simulate
from stepgen.timing.tiles.machines import SDA, SDA_PUBLISHED, Compute, Machine

fn = sg.fn
WIDTH = 64
"""Bytes per cycle of an on-chip memory unit."""

FAST = replace(
    SDA_PUBLISHED,
    memory=replace(SDA.memory, channels=4096, interval=1, latency=1, requests_per_cycle=4096),
    compute=Compute(1 << 30),
    onchip_bandwidth=WIDTH,
    fifo_depth=64,
    tiles_in_flight=64,
)
"""The published machine where nothing but on-chip memory takes time."""


def load(g: sg.Graph, name: str, rows: int, cols: int, *shape: int) -> Stream:
    """The same tile over and over."""
    return sg.linear_offchip_load(
        g.tensor(name, (rows, cols), sg.f32),
        tile=(rows, cols),
        shape=shape,
        stride=(0,) * len(shape),
        name=name,
    )


def read(rows: int, cols: int) -> int:
    """Cycles for a tile of 4 bytes per element."""
    return -(-4 * rows * cols // WIDTH)


def each(program: Callable[[int], tuple[sg.Graph, Any]], machine: Machine) -> float:
    """Cycles per element in the steady state."""
    few, many = (simulate(*program(n), machine).cycles for n in (8, 28))
    return (many - few) / 20


@pytest.mark.parametrize("seed", range(8))
def test_operands_are_read_one_after_the_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, cols = int(rng.integers(2, 40)), int(rng.integers(1, 40))
    other = int(rng.choice([1, rows]))

    def program(count: int) -> tuple[sg.Graph, Any]:
        g = sg.Graph("pairs")
        g.output(
            load(g, "x", rows, cols, count).map(fn.add(), load(g, "y", other, cols, count)), "z"
        )
        return g, {}

    x, y = read(rows, cols), read(other, cols)
    assert each(program, FAST) == x + y
    assert each(program, replace(FAST, loads_add_up=False)) == max(x, y)


@pytest.mark.parametrize("seed", range(8))
def test_a_partition_reads_what_it_passes_on(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, cols = int(rng.integers(1, 40)), int(rng.integers(1, 40))

    def program(count: int) -> tuple[sg.Graph, Any]:
        g = sg.Graph("routed")
        sel = g.input("sel", sg.Selector(2), (count,))
        parts = sg.partition(load(g, "x", rows, cols, count), sel, rank=0)
        g.output(parts[0], "a")
        g.output(parts[1], "b")
        return g, {"sel": rng.random((count, 2)) < 0.5}

    # The cycle in which it is passed on comes on top.
    assert each(program, FAST) == read(rows, cols) + 1
    assert each(program, replace(FAST, crossbars_read=False)) == 1


@pytest.mark.parametrize("seed", range(8))
def test_a_result_that_grows_is_written_for_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, cols, length = (int(rng.integers(1, most)) for most in (4, 40, 9))

    def program(fold: sg.Function) -> Callable[[int], tuple[sg.Graph, Any]]:
        def made(count: int) -> tuple[sg.Graph, Any]:
            g = sg.Graph("folded")
            x = load(g, "x", rows, cols, count, 1, length)
            g.output(x.accum(fold, rank=1).bufferize(rank=1), "y")
            return g, {}

        return made

    one, grown = read(rows, cols), read(length * rows, cols)
    true = replace(FAST, first_accumulator_is_stored=False)
    assert each(program(fn.retile_row()), FAST) == length * one
    assert each(program(fn.retile_row()), true) == (length - 1) * one + grown
    # A sum is as large as what it starts from.
    assert each(program(fn.add()), FAST) == each(program(fn.add()), true) == length * one


def everything() -> tuple[sg.Graph, Any]:
    """A program on which every such field has an effect."""
    g = sg.Graph("everything")
    count = 60
    sel = g.input("sel", sg.Selector(2), (count,))
    parts = sg.partition(load(g, "x", 8, 40, count), sel, rank=0)
    g.output(sg.reassemble(parts, sel, rank=0).flatten(0, 1), "routed")
    a, b = (load(g, name, 8, 40, 6, 1, 4) for name in "ab")
    g.output(a.map(fn.mul(), b).accum(fn.retile_row(), rank=1).bufferize(rank=1), "y")
    return g, {"sel": np.eye(2, dtype=bool)[np.arange(count) % 2]}


def differing() -> dict[str, Machine]:
    """The published machine with each of its own fields as in the paper's, by name."""
    found = {}
    for f in fields(Machine):
        mine, its = getattr(SDA, f.name), getattr(SDA_PUBLISHED, f.name)
        if f.name in ("name", "memory") or mine == its:
            continue
        found[f.name] = replace(SDA_PUBLISHED, **{f.name: mine})
    for f in fields(type(SDA.memory)):
        mine = getattr(SDA.memory, f.name)
        if mine != getattr(SDA_PUBLISHED.memory, f.name):
            memory = replace(SDA_PUBLISHED.memory, **{f.name: mine})
            found[f"memory.{f.name}"] = replace(SDA_PUBLISHED, memory=memory)
    return found


@pytest.mark.parametrize("name", differing())
def test_every_differing_field_has_an_effect(name: str) -> None:
    # Of 3 channels the published addresses miss some; where on-chip bandwidth is short, reading
    # weighs, where it is not, asking does.
    def run(machine: Machine, channels: int, onchip: int) -> Any:
        memory = replace(machine.memory, channels=channels)
        it = simulate(*everything(), replace(machine, memory=memory, onchip_bandwidth=onchip))
        return it.memory_allocated, [operator.busy for operator in it.operators.values()]

    places = [(3, 64), (32, 16), (32, 1024)]
    assert any(run(differing()[name], *place) != run(SDA_PUBLISHED, *place) for place in places)
