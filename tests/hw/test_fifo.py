import numpy as np
import pytest
from amaranth.hdl import Elaboratable, Fragment
from amaranth.sim import Simulator
from junk import Junk

from stepgen.hw.design.table import MEMORY_LATENCY, Channel
from stepgen.hw.fifo import FEW, Fifo
from stepgen.hw.primitives import Device
from stepgen.ir.wire import BARE, DONE, VALUE


class For(Elaboratable):
    """A circuit elaborated for a family, within the simulator."""

    def __init__(self, circuit, family):
        self.circuit, self.family = circuit, family

    def elaborate(self, platform):
        return Fragment.get(self.circuit, Device(self.family))


def drive(channel: Channel, offers, takes, family="generic"):
    """Outputs of a FIFO in each cycle, for beats offered and accepted in the given cycles."""
    fifo = Fifo(channel)
    junk = Junk(channel.depth)
    circuit = junk.circuit(For(fifo, family))
    seen, pushed = [], []

    async def bench(ctx):
        coming = {}
        junk.fill(ctx, circuit)
        for t, (offer, take) in enumerate(zip(offers, takes, strict=True)):
            ctx.set(fifo.w.valid, bool(offer))
            ctx.set(fifo.r.ready, bool(take))
            room, head = ctx.get(fifo.w.ready), ctx.get(fifo.r.valid)
            if room and offer:
                coming[t + channel.delay] = len(pushed) + 1
                pushed.append(t)
            junk.put(ctx, fifo.w.payload)
            if t in coming:
                ctx.set(fifo.w.payload, coming[t])
            seen.append((room, head, ctx.get(fifo.r.payload) if head else None))
            await ctx.tick()

    simulator = Simulator(circuit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


def rule(channel: Channel, offers, takes):
    """The expected outputs: the rule of latency and space, in a few lines."""
    pushes, pops, shown = [], 0, []
    latency = channel.delay + MEMORY_LATENCY[channel.memory]
    for t, (offer, take) in enumerate(zip(offers, takes, strict=True)):
        room = len(pushes) - pops < channel.depth
        head = pops < len(pushes) and pushes[pops] + latency <= t
        shown.append((room, head, pops + 1 if head else None))
        if room and offer:
            pushes.append(t)
        pops += bool(head and take)
    return shown


NARROW, WIDE = 15, 40
"""Bits of a beat with which 64 beats are LUT RAM, and 33 are block RAM."""

SIZES = [
    *((depth, WIDE) for depth in (2, 3, 4, 5, 7, 16, 32, 33, 63, 64, 65, 100)),
    *((depth, NARROW) for depth in (33, 63, 64, 65, 66)),
]


def test_a_block_ram_is_for_more_than_32_beats_and_1024_bits_or_for_more_than_64_beats():
    kinds = [Channel("c", 0, width, None, depth=depth).memory for depth, width in SIZES]
    assert kinds == ["registers", *6 * ["lutram"], *5 * ["blockram"], *3 * ["lutram"]] + 2 * [
        "blockram"
    ]


@pytest.mark.parametrize("delay", [0, 1, 2, 9])
@pytest.mark.parametrize(("depth", "width"), SIZES)
def test_follows_the_rule_in_every_cycle(depth, width, delay):
    channel = Channel("c", 0, width, None, depth=depth, delay=delay)
    rng = np.random.default_rng(100 * depth + delay)
    cycles = 4 * depth + 120
    shares = rng.choice([0.05, 0.5, 0.9, 1.0], (6, 2))
    offers, takes = (
        np.concatenate([rng.random(cycles // 6) < share for share in shares[:, side]])
        for side in range(2)
    )
    assert drive(channel, offers, takes) == rule(channel, offers, takes)


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize(
    ("depth", "width"),
    [*((depth, WIDE) for depth in (2, FEW + 1, FEW + 2, 9, 33, 66)), (64, NARROW)],
)
def test_without_lut_ram_it_is_the_same(depth, width, delay):
    channel = Channel("c", 0, width, None, depth=depth, delay=delay)
    rng = np.random.default_rng(100 * depth + delay)
    cycles = 3 * depth + 120
    shares = rng.choice([0.05, 0.5, 0.9, 1.0], (6, 2))
    offers, takes = (
        np.concatenate([rng.random(cycles // 6) < share for share in shares[:, side]])
        for side in range(2)
    )
    assert drive(channel, offers, takes, "ice40") == rule(channel, offers, takes)


@pytest.mark.parametrize("depth", [2, 4, 32, 33, 65])
def test_fills_and_empties_at_one_beat_per_cycle(depth):
    channel = Channel("c", 0, WIDE, None, depth=depth)
    fill, idle, drain = depth + 5, 10, depth + 5
    offers = [True] * fill + [False] * (idle + drain)
    takes = [False] * (fill + idle) + [True] * drain
    seen = drive(channel, offers, takes)
    assert [room for room, _, _ in seen[:fill]] == [1] * depth + [0] * (fill - depth)
    heads = [value for _, _, value in seen[fill + idle :]]
    assert heads == [*range(1, depth + 1), *[None] * (drain - depth)]


DEPTHS = [2, 5, 66]
"""Of a pair of registers, of LUT RAM and of block RAM."""


@pytest.mark.parametrize("depth", DEPTHS)
def test_short_rows_leave_with_zeros_in_place_of_padding(depth):
    fifo = Fifo(Channel("c", 4, 3, 2, depth=depth, tail=2, short=True))
    beats = [(k % 3, k % 4, 1 + 37 * k & 0xFFF) for k in range(2 * depth + 3)]
    assert passed(fifo, beats) == [(kind, stop, data & 0x3F) for kind, stop, data in beats]


@pytest.mark.parametrize(("tail", "short"), [(0, False), (2, True)])
@pytest.mark.parametrize("depth", DEPTHS)
def test_signs_are_copied_above_the_bits_that_values_need(depth, tail, short):
    lanes = tail or 3
    channel = Channel("c", 3, 16, 2, depth=depth, tail=tail, short=short, value_bits=5)
    numbers = np.random.default_rng(depth).integers(-16, 16, (2 * depth + 3, lanes))
    beats = [
        (VALUE, k % 4, sum(int(n) % (1 << 16) << 16 * lane for lane, n in enumerate(row)))
        for k, row in enumerate(numbers)
    ]
    beats += [(BARE, 3, 3), (DONE, 0, 0)]
    assert passed(Fifo(channel), beats) == beats
    assert channel.stored.width == lanes * 5 + 2 + channel.stop_bits


def passed(fifo, beats):
    """What leaves a FIFO when beats are pushed as soon as there is room."""
    got = []

    async def bench(ctx):
        ctx.set(fifo.r.ready, 1)
        left = [*beats]
        while len(got) < len(beats):
            ctx.set(fifo.w.valid, bool(left))
            if left:
                kind, stop, data = left[0]
                ctx.set(fifo.w.payload, {"kind": kind, "stop": stop, "data": data})
            if ctx.get(fifo.r.valid):
                head = ctx.get(fifo.r.payload)
                got.append((head.kind, head.stop, head.data))
            if left and ctx.get(fifo.w.ready):
                del left[0]
            await ctx.tick()

    simulator = Simulator(fifo)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run_until(1e-6 * 1000)
    return got
