"""Drawn bits on payloads that are not valid and in memories that are not written."""

from __future__ import annotations

import random
from unittest import mock

from amaranth.hdl import Elaboratable, Fragment, Module, Signal, Value
from amaranth.lib.stream import Interface

from stepgen.hw.design.block_rams import SHALLOW
from stepgen.hw.fifo import Fifo
from stepgen.hw.primitives import BlockRam
from stepgen.hw.private import elaborated, memories


class Junk:
    """A seeded source of bits for a bench of Amaranth's simulator.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int = 0):
        self._random = random.Random(seed)

    def put(self, ctx, *signals) -> None:
        """Put junk on wires that are not valid in this cycle; at times all ones, NaN as floats."""
        for signal in signals:
            wires = Value.cast(signal)
            drawn = self._random.getrandbits(len(wires))
            ctx.set(wires, drawn if self._random.random() < 0.7 else (1 << len(wires)) - 1)

    def idle(self, ctx, *streams: Interface) -> None:
        """Put junk on streams that are not valid in this cycle."""
        for stream in streams:
            ctx.set(stream.valid, 0)
            self.put(ctx, stream.payload)

    def circuit(self, top: Elaboratable) -> Fragment:
        """A circuit in which every FIFO, also those inside units, shows junk while it is empty.

        Block RAM does where a row was read in the cycle in which it was written. One register makes
        it for all, each of which sees its bits from another one on.
        """
        quiet, plain, m = Fifo.elaborate, BlockRam.elaborate, Module()
        state = Signal(32, init=self._random.getrandbits(32) | 1)
        once, twice = Signal(32), Signal(32)
        m.submodules.top = top
        m.d.comb += [once.eq(state ^ (state << 13)), twice.eq(once ^ (once >> 17))]  # xorshift
        m.d.sync += state.eq(twice ^ (twice << 5))

        def shown(m: Module, wires: Value) -> None:
            noise = state.rotate_left(self._random.randrange(32))
            m.d.comb += wires.eq(noise.replicate(-(-len(wires) // 32)))

        def noisy(fifo: Fifo, platform) -> Module:
            m = quiet(fifo, platform)
            with m.If(~fifo.r.valid):
                shown(m, Value.cast(fifo.r.payload))
            return m

        def undefined(ram: BlockRam, platform) -> Module:
            m = plain(ram, platform)
            if ram.depth <= SHALLOW:  # LUT RAM, which shows what was there
                return m
            latched, out = Signal(), Signal()
            with m.If(ram.r_en if ram.held else 1):
                m.d.sync += latched.eq(ram.w_en & (ram.w_addr == ram.r_addr))
            with m.If(ram.out_en if ram.held else 1):
                m.d.sync += out.eq(latched)
            with m.If(out):
                shown(m, ram.r_data)
            return m

        with (
            mock.patch.object(Fifo, "elaborate", noisy),
            mock.patch.object(BlockRam, "elaborate", undefined),
        ):
            return elaborated(m)

    def fill(self, ctx, circuit: Fragment) -> None:
        """Put junk into memories before they are written."""
        for memory in memories(circuit):
            self.put(ctx, *(memory[row] for row in range(memory.depth)))
