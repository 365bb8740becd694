"""Buffers of streams on a board, with a host on their other side."""

from __future__ import annotations

import numpy as np
import pytest
from amaranth.sim import Simulator

from stepgen.hw.board import buffers
from stepgen.hw.board.protocol import Count

DEPTH, BEATS, WIDTH = 8, 150, 40
BITS = 5
"""Of the counts, which so begin anew several times."""


async def access(ctx, port, address: int, word: int | None = None) -> int:
    """One access of the host."""
    ctx.set(port.address, address)
    ctx.set(port.word, word or 0)
    ctx.set(port.write, word is not None)
    ctx.set(port.valid, 1)
    while not ctx.get(port.done):
        await ctx.tick()
    assert not ctx.get(port.refused)
    found = ctx.get(port.found)
    ctx.set(port.valid, 0)
    await ctx.tick()
    return int(found)


def simulate(buffer, *benches) -> None:
    simulator = Simulator(buffer)
    simulator.add_clock(1e-6)
    for bench in benches:
        simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_all_beats_go_through_a_ring(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once and in order, into a design and out of one."""
    monkeypatch.setattr(buffers, "COUNT_BITS", BITS)
    rng, step = np.random.default_rng(int(10 * share)), buffers.places(WIDTH)
    sent = [int.from_bytes(rng.bytes(5), "little") for _ in range(BEATS)]
    ring, got = buffers.BufferIn(WIDTH, DEPTH), []

    async def feed(ctx) -> None:
        moved = 0
        while moved < BEATS:
            taken = await access(ctx, ring.counts, Count.MOVED)
            room = DEPTH - (moved - taken) % (1 << BITS)
            for beat in sent[moved : moved + room]:
                for k in range(step):
                    place = moved % DEPTH * step + k
                    await access(ctx, ring.beats, place, beat >> 32 * k & 0xFFFFFFFF)
                moved += 1
            await access(ctx, ring.counts, Count.GIVEN, moved % (1 << BITS))

    async def take(ctx) -> None:
        while len(got) < BEATS:
            ready = rng.random() < share
            ctx.set(ring.o.ready, ready)
            if ready and ctx.get(ring.o.valid):
                got.append(ctx.get(ring.o.payload))
            await ctx.tick()

    simulate(ring, feed, take)
    assert got == sent

    out, read = buffers.BufferOut(WIDTH, DEPTH), []

    async def give(ctx) -> None:
        for beat in sent:
            while rng.random() >= share:
                await ctx.tick()
            ctx.set(out.i.payload, beat)
            ctx.set(out.i.valid, 1)
            while not ctx.get(out.i.ready):
                await ctx.tick()
            await ctx.tick()
            ctx.set(out.i.valid, 0)

    async def drain(ctx) -> None:
        while len(read) < BEATS:
            stored = await access(ctx, out.counts, Count.MOVED)
            for _ in range((stored - len(read)) % (1 << BITS)):
                place = len(read) % DEPTH * step
                words = [await access(ctx, out.beats, place + k) for k in range(step)]
                read.append(sum(word << 32 * k for k, word in enumerate(words)))
            await access(ctx, out.counts, Count.GIVEN, len(read) % (1 << BITS))

    simulate(out, give, drain)
    assert read == sent
