"""The counters of channels alone, against sums of what happened in each cycle."""

from __future__ import annotations

import numpy as np
import pytest
from amaranth.hdl import ResetInserter, Signal
from amaranth.sim import Simulator
from junk import Junk

from stepgen.hw.counters import EVENTS, Counters

BANKS = 8
"""Channels of a bank."""


def run(dut, process) -> None:
    """Run a bench with junk in the memory, and a signal that resets all registers."""
    junk, reset = Junk(dut.channels), Signal()
    circuit = junk.circuit(ResetInserter(reset)(dut))

    async def bench(ctx):
        junk.fill(ctx, circuit)
        await process(ctx, reset)

    sim = Simulator(circuit)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()


def put(ctx, dut, events) -> None:
    """The events of a cycle, by name and channel."""
    for name, bits in zip(EVENTS, events, strict=True):
        counted = [bits[channel] for channel in dut.counted]
        ctx.set(getattr(dut, name), sum(int(bit) << k for k, bit in enumerate(counted)))


async def count(ctx, dut, rng, cycles: int) -> np.ndarray:
    """Drive a run of some cycles, with events outside of it too; what has to be counted."""
    shares = rng.choice([0.0, 0.3, 0.9, 1.0], (len(EVENTS), dut.channels))
    total = np.zeros(shares.shape, int)
    for t in range(-3, cycles + 3):
        events, runs = rng.random(shares.shape) < shares, 0 <= t < cycles
        ctx.set(dut.running, runs)
        put(ctx, dut, events)
        total += runs * events
        await ctx.tick()
    return total


async def settle(ctx, dut) -> None:
    """Wait until all has been added, for not much longer than a turn of all channels."""
    waited = 0
    while not ctx.get(dut.settled):
        await ctx.tick()
        waited += 1
    assert waited <= dut.turns + 10


async def shown(ctx, dut) -> np.ndarray:
    """The counts of all channels, one after the other at full speed."""
    seen = []
    for number in range(dut.channels + 2):
        if number >= 2:
            seen.append([ctx.get(dut.shown[name]) for name in EVENTS])
        ctx.set(dut.channel, min(number, dut.channels - 1))
        await ctx.tick()
    return np.array(seen).T


async def clear(ctx, dut) -> None:
    """Start over in the cycle before a run."""
    ctx.set(dut.clear, 1)
    await ctx.tick()
    ctx.set(dut.clear, 0)


CHANNELS = (1, BANKS - 1, BANKS, BANKS + 1, 3 * BANKS - 2)
MANY = (BANKS * BANKS, BANKS * BANKS + 1)
"""So many that what the banks tell is gathered in one stage, and in two."""


@pytest.mark.parametrize("channels", [*CHANNELS, *MANY])
def test_runs_of_drawn_lengths(channels):
    """A run that is cut short, one that goes on without a clear, one of several turns."""
    dut, rng = Counters(channels, range(channels)), np.random.default_rng(channels)

    async def bench(ctx, _):
        for lengths in ([1], [0, 1], [dut.turns - 1, 3], [3 * dut.turns + 1], [2, 0, dut.turns]):
            await settle(ctx, dut)
            await clear(ctx, dut)
            due = sum([await count(ctx, dut, rng, cycles) for cycles in lengths])
            await settle(ctx, dut)
            assert (await shown(ctx, dut) == due).all()
            put(ctx, dut, rng.random((len(EVENTS), channels)) < 0.5)
            await ctx.tick().repeat(int(rng.integers(1, 2 * dut.turns)))
            assert (await shown(ctx, dut) == due).all()

    run(dut, bench)


@pytest.mark.parametrize("channels", [BANKS, 3 * BANKS - 2])
def test_the_counts_of_channels_without_counters_are_zero(channels):
    """A bank without any, and banks with some."""
    counted = [k for k in range(channels) if k % 3 == 1 and k // BANKS != 1]
    dut, rng = Counters(channels, counted), np.random.default_rng(channels)

    async def bench(ctx, _):
        for cycles in (1, 2 * dut.turns):
            await settle(ctx, dut)
            await clear(ctx, dut)
            due = await count(ctx, dut, rng, cycles)
            due[:, [k for k in range(channels) if k not in counted]] = 0
            await settle(ctx, dut)
            assert (await shown(ctx, dut) == due).all()

    run(dut, bench)


@pytest.mark.parametrize("channels", CHANNELS)
def test_after_a_reset_all_are_zero_and_count_again(channels):
    """In any cycle of a channel's turn; then runs are counted as before."""
    dut, rng = Counters(channels, range(channels)), np.random.default_rng(channels)

    async def bench(ctx, reset):
        for _ in range(4):
            await count(ctx, dut, rng, int(rng.integers(3 * dut.turns)))
            put(ctx, dut, np.ones((len(EVENTS), channels)))
            ctx.set(dut.running, 1)
            await ctx.tick().repeat(int(rng.integers(1, dut.turns)))
            ctx.set(reset, 1)
            await ctx.tick()
            ctx.set(reset, 0)
            ctx.set(dut.running, 0)
            assert not ctx.get(dut.settled)
            await settle(ctx, dut)
            assert not (await shown(ctx, dut)).any()
            await clear(ctx, dut)
            due = await count(ctx, dut, rng, 2 * dut.turns)
            await settle(ctx, dut)
            assert (await shown(ctx, dut) == due).all()

    run(dut, bench)


@pytest.mark.parametrize("channels", [1, BANKS + 1])
def test_a_count_goes_on_through_carries(channels):
    """Every event in every cycle of a long run, added to what was counted before."""
    dut = Counters(channels, range(channels))
    everything, total = np.ones((len(EVENTS), channels)), 0

    async def bench(ctx, _):
        nonlocal total
        put(ctx, dut, everything)
        for cycles in (255, 1, 256, 300):
            ctx.set(dut.running, 1)
            await ctx.tick().repeat(cycles)
            ctx.set(dut.running, 0)
            total += cycles
            await settle(ctx, dut)
            assert (await shown(ctx, dut) == total).all()

    run(dut, bench)
