import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from amaranth.sim import Simulator
from csr import CODE, CONTROL, COUNTERS, CYCLES, STATUS, read, write
from drawn import Draw
from harness import beats, lone, pack
from junk import Junk

from stepgen.hw.design.registers import address_bits
from stepgen.hw.design.table import Channel
from stepgen.hw.names import top_name
from stepgen.hw.system import System
from stepgen.hw.units.fork.params import Fork
from stepgen.hw.units.partition.params import Partition
from stepgen.hw.verilog import to_verilog
from stepgen.ir.stalls import Stalls, stalled
from stepgen.timing.model import predict


def simulate(dut, process):
    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(process)
    sim.run()


def fork_of(outputs: int):
    channels = [Channel("x", 2, 8, 2)] + [
        Channel(f"y{k}", 2, 8, 2, depth=2 + k) for k in range(outputs)
    ]
    return lone(Fork(outputs), channels[:1], channels[1:])


def test_a_read_takes_as_long_as_the_page_says():
    dut = System(fork_of(3))
    page = (Path(__file__).parents[2] / "docs" / "registers.md").read_text()
    (documented,) = re.findall(r"data of a read come (\d+) cycles after its address", page)

    async def bench(ctx):
        await read(ctx, dut, STATUS)  # waits until the counters are valid
        ctx.set(dut.csr_rready, 1)
        for address in (STATUS, CYCLES, COUNTERS + 4):
            ctx.set(dut.csr_araddr, address)
            ctx.set(dut.csr_arvalid, 1)
            assert ctx.get(dut.csr_arready)
            cycles = 0
            while not ctx.get(dut.csr_rvalid):
                await ctx.tick()
                ctx.set(dut.csr_arvalid, 0)
                cycles += 1
            await ctx.tick()
            assert cycles == int(documented)

    simulate(dut, bench)


@pytest.mark.parametrize("outputs", [1, 3, 11])
def test_counters(outputs):
    """A run after another, read at once or not at all, shows the counters that are predicted."""
    draw = Draw(outputs)
    design = fork_of(outputs)
    x = beats([(draw.beat(), draw.one((0, 1, 2))) for _ in range(40)], 2)
    sinks = [f"d_y{k}" for k in range(outputs)]
    shares = {"s_x": 0.2, **{name: 0.2 / outputs for name in sinks}}
    dut = System(design)

    async def drive(ctx, stalls):
        words = pack(design.channel["x"], x)[::-1]
        offered = False
        while not ctx.get(dut.running):
            await ctx.tick()
        t = 0
        while ctx.get(dut.running):
            offered |= bool(words) and not stalled(*stalls.of("s_x"), t)
            ctx.set(dut.s_x_valid, offered)
            if offered:
                ctx.set(dut.s_x_payload, words[-1])
            for name in sinks:
                ready = not stalled(*stalls.of(name), t)
                ctx.set(getattr(dut, f"{name}_ready"), ready)
            if offered and ctx.get(dut.s_x_ready):
                words.pop()
                offered = False
            await ctx.tick()
            t += 1

    async def bench(ctx):
        await write(ctx, dut, CONTROL, 0)
        await write(ctx, dut, STATUS, 1)
        assert await read(ctx, dut, STATUS) == 0
        for seed in range(3):
            stalls = Stalls(seed, shares)
            predicted = predict(design, {"s_x": x}, stalls=stalls)
            ctx.set(dut.csr_awaddr, CONTROL)
            ctx.set(dut.csr_wdata, 1)
            ctx.set(dut.csr_wstrb, 15)
            ctx.set(dut.csr_awvalid, 1)
            ctx.set(dut.csr_wvalid, 1)
            ctx.set(dut.csr_bready, 1)
            await ctx.tick()
            ctx.set(dut.csr_awvalid, 0)
            ctx.set(dut.csr_wvalid, 0)
            await drive(ctx, stalls)
            ctx.set(dut.csr_bready, 0)
            assert ctx.get(dut.done)
            if seed == 1:
                continue
            shown = [await read(ctx, dut, COUNTERS + 4)]
            assert await read(ctx, dut, STATUS) == 2
            assert await read(ctx, dut, CODE) == 0
            assert await read(ctx, dut, CYCLES) == predicted.cycles == ctx.get(dut.cycle)
            assert await read(ctx, dut, CYCLES + 4) == 0
            assert shown[0] == predicted.counters("x")["starved"]
            for number, channel in enumerate(design.channels):
                place = COUNTERS + 16 * number
                shown = [await read(ctx, dut, place + 4 * k) for k in range(4)]
                assert shown == [*predicted.counters(channel.name).values(), 0]
            assert await read(ctx, dut, COUNTERS + 16 * len(design.channels)) == 0

    simulate(dut, bench)


def test_soft_reset():
    """A run that hangs is aborted; a start in or after the cycle of the soft reset waits for it."""
    draw = Draw(7)
    design = fork_of(3)
    x = beats([(draw.beat(), draw.one((0, 1, 2))) for _ in range(9)], 2)
    words, taken = pack(design.channel["x"], x), 0
    predicted = predict(design, {"s_x": x}, early=["s_x"])
    dut = System(design)

    async def neighbour(ctx):
        """Always has a beat, of this run or of the next."""
        nonlocal taken
        ctx.set(dut.s_x_valid, 1)
        moved = 0
        while True:
            if moved and not ctx.get(dut.running):
                taken, moved = moved, 0
            ctx.set(dut.s_x_payload, words[moved % len(words)])
            moved += ctx.get(dut.s_x_ready)
            await ctx.tick()

    def take(ctx, ready):
        for name in ("d_y0", "d_y1", "d_y2"):
            ctx.set(getattr(dut, f"{name}_ready"), ready)

    async def exact(ctx):
        await ctx.tick().until(dut.done)
        assert await read(ctx, dut, STATUS) == 2
        assert await read(ctx, dut, CYCLES) == predicted.cycles
        for number, channel in enumerate(design.channels):
            shown = [await read(ctx, dut, COUNTERS + 16 * number + 4 * k) for k in range(3)]
            assert shown == [*predicted.counters(channel.name).values()]
        assert taken == len(x)

    async def bench(ctx):
        for number in range(3):
            take(ctx, 0)
            await write(ctx, dut, CONTROL, 1)
            await ctx.tick().repeat(50)
            assert await read(ctx, dut, STATUS) == 1
            assert ctx.get(dut.d_y1_valid)
            if number == 0:
                await write(ctx, dut, CONTROL, 2)
                assert await read(ctx, dut, STATUS) == 0
                assert not ctx.get(dut.d_y1_valid)
                take(ctx, 1)
                await write(ctx, dut, CONTROL, 1)
            elif number == 1:
                take(ctx, 1)
                await write(ctx, dut, CONTROL, 3)
            else:  # the run is over when it comes: only what it showed as done goes
                take(ctx, 1)
                await ctx.tick().repeat(50)
                await write(ctx, dut, CONTROL, 2)
                assert await read(ctx, dut, STATUS) == 0
                assert await read(ctx, dut, CYCLES) > predicted.cycles
                await write(ctx, dut, CONTROL, 1)
            await exact(ctx)

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(neighbour, background=True)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize("outputs", [1, 11])
def test_counters_are_zero_before_the_first_run(outputs):
    """With any initial contents of their memory, and however early they are read."""
    dut, junk = System(fork_of(outputs)), Junk(outputs)
    circuit = junk.circuit(dut)

    async def bench(ctx):
        junk.fill(ctx, circuit)
        for channel in range(outputs + 1):
            for k in range(3):
                assert await read(ctx, dut, COUNTERS + 16 * channel + 4 * k) == 0

    simulate(circuit, bench)


def test_error_code():
    """The first unit in error, in the order of the table; the next start clears it."""
    x, sel = Channel("x", 2, 8, 2), Channel("sel", 1, 1, 0)
    design = lone(Partition(1, 2, False), [x, sel], [Channel("y", 2, 8, 2)])
    dut = System(replace(design, counters="none"))

    async def start(ctx):
        await write(ctx, dut, CONTROL, 1)
        assert await read(ctx, dut, STATUS) == 1

    async def bench(ctx):
        await start(ctx)
        for name, channel, stream in (
            ("s_x", x, beats([([1, 2], 2)], 2)),
            ("s_sel", sel, beats([], 1, np.bool_)),
        ):
            ctx.set(getattr(dut, f"{name}_payload"), pack(channel, stream)[0])
            ctx.set(getattr(dut, f"{name}_valid"), 1)
            await ctx.tick()
            ctx.set(getattr(dut, f"{name}_valid"), 0)
        for _ in range(6):
            await ctx.tick()
        assert await read(ctx, dut, STATUS) == 1 | 4
        assert await read(ctx, dut, CODE) == 1 + [u.name for u in design.units].index("dut")
        assert await read(ctx, dut, COUNTERS) == 0

    simulate(dut, bench)


def test_verilog_has_plain_ports():
    design = fork_of(2)
    text = to_verilog(replace(design, counters="none"), probes=True)
    ports = text.split("module lone(")[1].split(")")[0].replace("\n", "").split(", ")
    assert {"clk", "rst", "csr_awaddr", "s_x_valid", "d_y0_payload", "running"} < set(ports)
    assert {"probe_push", "probe_pop"} < set(ports)
    assert not any(name.startswith("mem_") for name in ports)
    assert "probe_push" not in to_verilog(design)


def test_names():
    assert top_name(lone(Fork(1), *([Channel(n, 2, 8, 2)] for n in "xy"))) == "lone"
    assert address_bits(10) == 16
    assert address_bits(3840) == 16
    assert address_bits(3841) == 17
