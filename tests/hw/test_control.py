"""The control registers alone: what the design tells is what a host reads."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
from amaranth.back import rtlil
from amaranth.hdl import ResetInserter, Signal
from amaranth.sim import Simulator
from csr import CODE, CONTROL, CYCLES, DETAIL, READS, STATUS, WRITES, read, write
from seeds import some_slow

from stepgen.hw.control import Control

END = 0x20
"""The first address behind the registers that a design has once."""


def port(dut: Control) -> SimpleNamespace:
    """Its bus, with the names that it has at the top."""
    return SimpleNamespace(**{f"csr_{n}": getattr(dut.csr, n) for n in dut.csr.signature.members})


@pytest.mark.parametrize(("units", "seed"), [(1, 0), (3, 1), (8, 2), (20, 3), (70, 4)])
def test_a_host_reads_what_the_design_reports(units, seed):
    rng = np.random.default_rng(seed)
    reporting = np.flatnonzero(rng.random(units) < 0.5).tolist()
    dut = Control(2, units, reporting, counted=())
    csr = port(dut)

    async def bench(ctx):
        for _ in range(6):
            running, stopping, done = (int(bit) for bit in rng.integers(2, size=3))
            flags = rng.random(units) < rng.choice([0, 0.1, 0.5])
            cycle = int(rng.integers(1 << 48)) | int(rng.choice([0, 1 << 31, 1 << 47]))
            for name, value in (("running", running), ("stopping", stopping), ("done", done)):
                ctx.set(getattr(dut, name), value)
            ctx.set(dut.error, sum(int(flag) << k for k, flag in enumerate(flags)))
            ctx.set(dut.cycle, cycle)
            words = [int(word) for word in rng.integers(1 << 32, size=len(reporting))]
            if reporting:
                ctx.set(dut.detail, sum(word << 32 * k for k, word in enumerate(words)))
            await ctx.tick().repeat(6)  # a stage per factor of 8 units, and two for the detail
            code = int(np.argmax(flags)) + 1 if flags.any() else 0
            due = {
                STATUS: running | done << 1 | (code > 0) << 2 | stopping << 3,
                CODE: code,
                DETAIL: dict(zip(reporting, words, strict=True)).get(code - 1, 0),
                CYCLES: cycle & (1 << 32) - 1,
                CYCLES + 4: cycle >> 32,
            }
            for address in rng.permutation([*range(0, END + 16, 4), 0x1000, 0x8000]):
                assert await read(ctx, csr, int(address)) == due.get(int(address), 0)

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()


def test_counts_are_as_wide_as_a_register():
    """No simulation lasts until the upper bits of a count are set."""
    text = rtlil.convert(Control(2, 2, counted=()))
    widths = {
        name: int(n) for n, name in re.findall(r"wire width (\d+) (?:output \d+ +)?(\S+)", text)
    }
    registers = [widths.get(name) for name in re.findall(r"connect \\Q (\S+)", text)]
    assert registers.count(32) == 4  # both counts, and the word of a read in two stages


@pytest.mark.parametrize("seed", some_slow(range(3), 1))
def test_words_on_the_bus_are_counted_from_the_start_of_a_run(seed):
    """Of each direction for itself; a reset in the midst shows zeros."""
    dut, rng, reset = Control(2, 2, counted=()), np.random.default_rng(seed), Signal()
    csr, counted, share = port(dut), np.zeros(2, int), np.zeros(2)

    async def traffic(ctx):
        while True:
            moves = rng.random(2) < share
            ctx.set(dut.read_moves, int(moves[0]))
            ctx.set(dut.write_moves, int(moves[1]))
            starts = ctx.get(dut.start)
            await ctx.tick()
            counted[:] = 0 if starts else counted + moves

    async def shown(ctx):
        share[:] = 0
        await ctx.tick().repeat(2)
        return [await read(ctx, csr, address) for address in (READS, WRITES)]

    async def bench(ctx):
        for resets in rng.permutation([False, False, True, True]):
            await write(ctx, csr, CONTROL, 1)
            ctx.set(dut.running, 1)
            share[:] = rng.choice([0.2, 0.5, 1.0], 2)
            await ctx.tick().repeat(int(rng.integers(20, 300)))
            assert await shown(ctx) == counted.tolist()
            assert counted.all()
            ctx.set(dut.running, 0)
            if resets:
                ctx.set(reset, 1)
                await ctx.tick()
                ctx.set(reset, 0)
                assert await shown(ctx) == [0, 0]
                counted[:] = 0

    sim = Simulator(ResetInserter(reset)(dut))
    sim.add_clock(1e-6)
    sim.add_testbench(traffic, background=True)
    sim.add_testbench(bench)
    sim.run()
