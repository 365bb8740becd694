import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator
from seeds import some_slow

from stepgen.hw.design.table import Channel
from stepgen.hw.fifo import Fifo
from stepgen.hw.units.matmul.pair import Pair

LATER = 3


@pytest.mark.parametrize("seed", some_slow(range(6), 3))
def test_is_a_fifo_of_two_beats_with_later_data(seed):
    """Cycle by cycle, with junk on payloads that are not offered."""
    rng = np.random.default_rng(seed)
    channel = Channel("c", 4, 8, 3, depth=2)
    m = Module()
    m.submodules.pair, m.submodules.fifo = pair, fifo = Pair(channel, 32, LATER), Fifo(channel)
    shares = rng.choice([0.1, 0.5, 0.9, 1.0], (8, 2)).repeat(50, axis=0)
    bits = len(fifo.w.payload.as_value())
    moved, heads = [], []

    async def bench(ctx):
        for offer, take in rng.random(shares.shape) < shares:
            payload = int(rng.integers(1 << 60)) % (1 << bits)
            for i, o in ((pair.i, pair.o), (fifo.w, fifo.r)):
                ctx.set(i.valid, bool(offer))
                ctx.set(i.payload.as_value(), payload)
                ctx.set(o.ready, bool(take))
            assert ctx.get(pair.i.ready) == ctx.get(fifo.w.ready)
            assert ctx.get(pair.o.valid) == ctx.get(fifo.r.valid)
            if ctx.get(fifo.r.valid):
                head, found = fifo.r.payload, pair.o.payload
                for part in ("kind", "stop"):
                    assert ctx.get(getattr(found, part)) == ctx.get(getattr(head, part))
                low = slice(len(head.stop))
                assert ctx.get(found.data[low]) == ctx.get(head.data[low])
                moved.append(take)
            heads.append(ctx.get(fifo.r.payload.data) if ctx.get(fifo.r.valid) else None)
            if len(heads) > LATER and heads[-1 - LATER] is not None:
                assert ctx.get(pair.data) == heads[-1 - LATER]
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert sum(moved) > 40
