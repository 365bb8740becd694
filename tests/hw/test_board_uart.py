"""The serial port of a board, with clocks that differ at both ends."""

from __future__ import annotations

import numpy as np
import pytest
from amaranth.sim import Simulator

from stepgen.hw.board.uart import LEAST_CYCLES, Receiver

SHARE = 0.02
"""By which the other end's bits are shorter or longer at most."""


@pytest.mark.parametrize("cycles", [LEAST_CYCLES, LEAST_CYCLES + 1, 8, 9])
def test_bytes_without_a_pause_between(cycles: int) -> None:
    """Of a wire that changes at any time, at the two limits and for drawn bits between."""
    rng = np.random.default_rng(cycles)
    for share in (-SHARE, SHARE, *rng.uniform(-SHARE, SHARE, 2)):
        sent = [0, 255, *rng.integers(0, 256, 12).tolist()]
        bits = [1] * 4
        for byte in sent:
            bits += [0, *(byte >> k & 1 for k in range(8)), 1]
        bits += [1] * 4
        length, phase = cycles * (1 + share), rng.random()
        levels = [
            bits[min(int((t + phase) / length), len(bits) - 1)]
            for t in range(int(len(bits) * length))
        ]
        receiver, got = Receiver(cycles), []

        async def bench(ctx, receiver=receiver, levels=levels, got=got) -> None:
            for level in levels:
                ctx.set(receiver.wire, level)
                assert not ctx.get(receiver.broken)
                if ctx.get(receiver.valid):
                    got.append(ctx.get(receiver.data))
                await ctx.tick()

        simulator = Simulator(receiver)
        simulator.add_clock(1e-6)
        simulator.add_testbench(bench)
        simulator.run()
        assert got == sent, share
