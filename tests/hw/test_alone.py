"""Units of the library that stand alone in an Amaranth design of one's own."""

from __future__ import annotations

import dataclasses
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from amaranth.sim import Simulator
from drawn import Draw, to_beats
from harness import beats, check, pack
from programs import every_unit
from seeds import some_slow

from stepgen.compile.lower import lower
from stepgen.hw.alone import alone
from stepgen.hw.design.sharing import SHARED
from stepgen.hw.design.table import Channel
from stepgen.hw.units.axi.params import Axi
from stepgen.hw.units.drop.params import Drop
from stepgen.hw.units.link.params import Link
from stepgen.hw.units.load.params import Load
from stepgen.hw.units.loader.params import Loader
from stepgen.hw.units.matmul.params import Matmul
from stepgen.hw.units.memory.params import Memory
from stepgen.hw.units.random_store.params import RandomStore
from stepgen.hw.units.store.params import Store
from stepgen.ir.errors import StepError
from stepgen.pages import units

PAGE = Path(__file__).parents[2] / "docs" / "hardware-library.md"
BUS = (Axi, Load, Loader, Memory, RandomStore, Store)


def documented():
    """What the program of the page defines."""
    (text,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    names = {"__name__": "own"}
    exec(compile(text, "own.py", "exec", dont_inherit=True), names)
    return names


def wired(channel, tiles):
    """The payloads of tiles."""
    dtype = np.int8 if channel.bits == 8 else np.int32
    slices = [tile.reshape(len(tile), -1, channel.lanes).tolist() for tile in tiles]
    lanes = [[[np.array(s, dtype) for s in row] for row in tile] for tile in slices]
    return pack(channel, to_beats(lanes, 2, dtype))


@pytest.mark.parametrize("seed", some_slow(range(3), 1))
def test_the_design_of_the_page_multiplies(seed):
    own, draw = documented(), Draw(seed)
    table, dut = own["MULTIPLY"], own["Own"]()
    sizes = draw.nested([(0, 1, 3)], lambda: draw.one((1, 2, 5)))
    tiles = {
        "x": [draw.rng.integers(-128, 128, (rows, 8)).astype(np.int8) for rows in sizes],
        "w": [draw.rng.integers(-128, 128, (8, 4)).astype(np.int8) for _ in sizes],
    }
    pairs = zip(tiles["x"], tiles["w"], strict=True)
    due = wired(own["QUEUE"], [a.astype(np.int32) @ b for a, b in pairs])
    given = {name: wired(table.channel[name], tiles[name]) for name in tiles}
    got = []

    async def put(ctx, name):
        port = getattr(dut, name)
        for word in given[name]:
            ctx.set(port.payload.as_value(), word)
            ctx.set(port.valid, 1)
            await ctx.tick().until(port.ready)
            ctx.set(port.valid, 0)
            await ctx.tick().repeat(draw.one((1, 1, 3)))

    async def take(ctx):
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)
        ctx.set(dut.y.ready, 1)
        while len(got) < len(due):
            (payload,) = await ctx.tick().sample(dut.y.payload.as_value()).until(dut.y.valid)
            got.append(payload)
        await ctx.tick().until(dut.done)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(partial(put, name="x"), background=True)
    sim.add_testbench(partial(put, name="w"), background=True)
    sim.add_testbench(take)
    sim.run()
    assert got == due


def kinds():
    """A unit of each kind, with the channels of its ports, from a program that has all."""
    table = lower(every_unit(), loaders=SHARED)
    found = {
        unit.kind: (
            unit.params,
            [
                dataclasses.replace(table.seen_by(unit).channel[channel], name=port)
                for port, channel in {**unit.inputs, **unit.outputs}.items()
            ],
            table.lanes,
        )
        for unit in table.units
    }
    joined = Channel("x", 4, 8, 2, element="int8"), Channel("y", 2, 8, 2, element="int8")
    found["link"] = Link(4, 2, 8), [*joined], 4  # only systems have it
    return {kind: found[kind] for kind in sorted(found)}


def test_all_kinds_of_the_page_stand_alone():
    found = kinds()
    listed = re.findall(r"^\| `(\w+)\.params", units.alone(), re.MULTILINE)
    assert {*listed, "source", "sink", *(kind.kind for kind in BUS)} == {*found}
    for kind in listed:
        params, channels, lanes = found[kind]
        table = alone(params, channels, lanes=lanes)
        assert [unit.name for unit in table.units if unit.kind == kind] == [kind]


@pytest.mark.parametrize("kind", [kind.kind for kind in BUS])
def test_units_of_a_bus_are_reported(kind):
    params, channels, _ = kinds()[kind]
    with pytest.raises(StepError, match=f"the unit {kind} can't be alone: its \\w+ carries words"):
        alone(params, channels)


def test_flagged_tiles_are_dropped_as_predicted():
    table = alone(
        Drop(False), [Channel("x", 4, 8, 2), Channel("flags", 1, 1, 0), Channel("y", 4, 8, 2)]
    )
    x = beats([(1, 2), (2, 2), (3, 2)], 4)
    kept = beats([(1, 2), (3, 2)], 4)
    check(table, {"x": x, "flags": beats([(0, 0), (1, 0), (0, 0)], 1, bool)}, {"y": kept})


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["x", "w"], "not x, w"),
        (["x", "w", "y", "z"], "not x, w, y, z"),
        ([], "not none"),
    ],
)
def test_each_port_has_one_channel(names, said):
    channels = [Channel(name, 4, 32 if name == "y" else 8, 2) for name in names]
    with pytest.raises(StepError, match=rf"the unit matmul alone has the ports x, w, y, .* {said}"):
        alone(Matmul(8, 4, "int8", True), channels)


def test_a_channel_that_does_not_fit_is_reported():
    channels = [Channel("x", 4, 8, 2), Channel("w", 4, 8, 2), Channel("y", 4, 16, 2)]
    with pytest.raises(StepError, match="design matmul: matmul matmul: y must be of rank 2"):
        alone(Matmul(8, 4, "int8", True), channels)
