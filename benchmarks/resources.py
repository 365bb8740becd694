"""(d) Resources and maximum clock of circuits on an ECP5-85."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring

import stepgen as sg
from benchmarks.table import Table
from stepgen.compile.lower import lower
from stepgen.hw.accelerator import Accelerator
from stepgen.hw.arithmetic.operations import Operation
from stepgen.hw.design.table import Bus, Channel, Design, Unit
from stepgen.hw.fifo import Fifo
from stepgen.hw.unit import UnitCore, core_of
from stepgen.hw.units.matmul.params import Matmul
from stepgen.hw.units.matvec.params import Matvec
from stepgen.hw.units.partition.params import Partition
from stepgen.hw.units.pcu.params import Pcu
from stepgen.hw.units.pmu.params import Pmu, Reading
from stepgen.hw.units.reassemble.params import Reassemble
from stepgen.hw.units.sink.params import Sink
from stepgen.hw.units.source.params import Source
from stepgen.hw.units.top_k.params import STAGES, TopK
from stepgen.synth.netlist import Netlist
from stepgen.synth.out_of_context import netlist, place
from stepgen.synth.toolchain import FAMILY, toolchain

SPEED = 6
SEEDS = (1, 2, 4)
"""Of placements that route well; with 3 the larger matrix unit takes the router many minutes."""
TILE = 64


@dataclass(frozen=True)
class Case:
    """A circuit to measure.

    Parameters
    ----------
    name : str
        As the table calls it.
    circuit : callable
        Makes it, or the design that has it.
    hand_written : str
        What a hand-written circuit of this kind takes and reaches.
    placed : bool
        Whether it is placed; of others the netlist is counted.
    """

    name: str
    circuit: Callable[[], Any]
    hand_written: str = ""
    placed: bool = True

    def made(self) -> Any:
        """The circuit."""
        made = self.circuit()
        return _Unobserved(made) if isinstance(made, Design) else made


class _Unobserved(wiring.Component):
    """A design without the ports that show the moves of its channels, which take LUTs as ports."""

    def __init__(self, design: Design):
        self.inner = Accelerator(replace(design, counters="none"))
        observed = ("moves_in", "moves_out", "busy", "starved", "full")
        members = self.inner.signature.members.items()
        super().__init__({name: member for name, member in members if name not in observed})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.inner = self.inner
        for name, member in self.signature.members.items():
            own, inner = getattr(self, name), getattr(self.inner, name)
            if member.is_signature:
                wiring.connect(m, wiring.flipped(own), inner)
            else:
                to, of = (inner, own) if member.flow is wiring.In else (own, inner)
                m.d.comb += to.eq(of)
        return m


def measure() -> Table:
    """Synthesize, place and route everything, a circuit on each core."""
    with tempfile.TemporaryDirectory(prefix="stepgen_bench_") as folder, Pool() as pool:
        rows = pool.map(partial(_row, folder=Path(folder)), range(len(CASES)), chunksize=1)
    return Table(
        "d. Resources",
        f"LFE5U-85F of speed grade {SPEED} (83640 LUTs and registers, 156 multipliers, 208 block "
        "RAMs), out of context, clock in MHz as the median of three placements, at most what "
        "multipliers and block RAM stand. Whole designs: l2 and u2. Beats are 4 lanes of int8 "
        f"unless said. The matrix unit works on weight tiles of {TILE}x{TILE} with its FIFOs. A "
        "crossbar is a partition per input, a reassemble per output, in order of arrival, and a "
        "FIFO of 2 beats at each crossing.",
        ("circuit", "LUT", "FF", "DSP", "RAM", "MHz", "hand-written"),
        rows,
    )


def _row(number: int, folder: Path) -> tuple[object, ...]:
    case = CASES[number]
    name = f"circuit_{number}"
    table = netlist(case.made(), name, folder)
    if case.placed:
        placed = place(table, speed=SPEED, seeds=SEEDS)
        used, clock = (placed.lut, placed.ff, placed.dsp, placed.block_ram), f"{placed.fmax:.0f}"
    else:
        counted = Netlist.read(table, name, toolchain(FAMILY).cells).used
        used, clock = tuple(counted[what] for what in ("lut", "ff", "multiplier", "block_ram")), ""
    print(f"  {case.name}", flush=True)
    return (case.name, *used, clock, case.hand_written)


def _between_ports(
    name: str,
    lanes: int,
    units: Sequence[Unit],
    inputs: Sequence[Channel],
    outputs: Sequence[Channel],
    inside: Sequence[Channel] = (),
) -> Design:
    """A design of `units` whose open channels are ports."""
    sources = [Unit.in_order(f"s_{c.name}", Source(), (), (c.name,)) for c in inputs]
    sinks = [Unit.in_order(f"d_{c.name}", Sink(), (c.name,)) for c in outputs]
    channels = (*inputs, *outputs, *inside)
    return Design(name, lanes, Bus(), (*sources, *units, *sinks), channels)


def _matrix(lanes: int, element: str = "int8") -> Design:
    params = Matmul(k=TILE, n=TILE, element=element, stops=True)
    x, w, y = _of_products(params, lanes)
    unit = Unit.in_order("matrix", params, ("x", "w"), ("y",))
    return _between_ports("matrix", lanes, [unit], [x, w], [y])


def _vector(lanes: int, *, transposed: bool, element: str = "int8") -> Design:
    """What weights stream through."""
    params = Matvec(TILE, TILE, element, stops=True, transposed=transposed)
    x, w, y = _of_products(params, lanes)
    unit = Unit.in_order("vector", params, ("x", "w"), ("y",))
    return _between_ports("vector", lanes, [unit], [x, w], [y])


def _of_products(params: Matmul | Matvec, lanes: int) -> tuple[Channel, ...]:
    """The channels of factors and sums, as lowering makes them."""
    x, w = (Channel(name, lanes, params.summing.element.bits, 3) for name in "xw")
    bits = params.value_bits("y")
    y = Channel("y", lanes, 32, 3, depth=16, delay=params.delay(lanes), value_bits=bits)
    return x, w, y


def _requantize(multiplier: int, shift: int) -> Design:
    params = Pcu(("int32",), (Operation("requantize", (0,), "int8", (multiplier, shift)),))
    x = Channel("x", 4, 32, 3)
    y = Channel("y", 4, 8, 3, depth=16, delay=params.delay(4))
    unit = Unit.in_order("requantize", params, ("x",), ("y",))
    return _between_ports("requantize", 4, [unit], [x], [y])


def _requantize_by() -> Design:
    """A multiplier and a shift for each column, which a row of one beat brings."""
    operation = Operation("requantize_by", (0, 1, 2), "int8")
    params = Pcu(("int32", "int32", "int8"), (operation,), ("", "rows", "rows"))
    x, by, shift = (Channel(n, 4, bits, 3) for n, bits in (("x", 32), ("by", 32), ("shift", 8)))
    y = Channel("y", 4, 8, 3, depth=16, delay=params.delay(4))
    unit = Unit.in_order("requantize", params, ("x", "by", "shift"), ("y",))
    return _between_ports("requantize", 4, [unit], [x, by, shift], [y])


def _top_k() -> Design:
    """The selectors of a gate that sends a token to 2 of 8 experts."""
    x = Channel("x", 4, 16, 2)
    y = Channel("y", 8, 1, 0, depth=16, delay=STAGES)
    unit = Unit.in_order("top_k", TopK("bf16", 8, 2, scores=False), ("x",), ("y",))
    return _between_ports("top_k", 4, [unit], [x], [y])


def _pmu(pages: int, page: int, *, linked: bool) -> Design:
    """Rows of 4 x int8 that are read once per element of a reference, references as they come."""
    largest = page * (pages // 2 if linked else 1)
    reading = Reading(None, inner=1)
    params = Pmu(3, (reading,), pages, page, not linked, largest, 8)
    x, ref = Channel("x", 4, 8, 3), Channel("ref", 1, 1, 1)
    refs = Channel("refs", 1, params.page_bits, 0)
    y = Channel("y", 4, 8, 4, depth=4, delay=params.delay(4))
    unit = Unit.in_order("pmu", params, ("x", "refs", "ref"), ("refs", "y"))
    return _between_ports("pmu", 4, [unit], [x, ref], [y], [refs])


def _by_address(rows: int, columns: int, *, stores: bool) -> UnitCore:
    """An access of 1000 tiles by address on a bus of 64 bits, in beats of 8 lanes, by itself."""
    g = sg.Graph("access")
    at, w = g.input("at", sg.address[1, 1], ("N",)), g.tensor("w", (1000 * rows, columns), sg.int8)
    tile = (rows, columns)
    if stores:
        x = g.input("x", sg.int8[tile], ("N",))
        g.output(at.random_offchip_store(x, w, tile=tile, name="access"), "done")
    else:
        g.output(at.random_offchip_load(w, tile=tile, name="access"), "y")
    return _core(lower(g, lanes=8), "load" if not stores else "random_store")


def _core(design: Design, kind: str) -> UnitCore:
    """The unit of this kind by itself."""
    return core_of(next(unit for unit in design.units if unit.kind == kind), design)


def _merge() -> UnitCore:
    """Tiles of four streams as they arrive."""
    g = sg.Graph("merge")
    streams = [g.input(f"x{n}", sg.int8[1, 64], ("N",)) for n in range(4)]
    y, names = sg.eager_merge(streams, rank=0)
    g.output(y, "y")
    g.output(names, "names")
    return _core(lower(g), "eager_merge")


def _mapped(function: sg.Function, element: Any) -> Design:
    """A function of rows of 64 elements."""
    g = sg.Graph("mapped")
    g.output(g.input("x", element[1, 64], ("N",)).map(function), "y")
    return lower(g)


def _crossbar(ports: int) -> Design:
    """Every input may go to any output, in chunks of tiles."""
    heads, tails, crossings, units = [], [], [], []
    for i in range(ports):
        heads += [Channel(f"x{i}", 4, 8, 2), Channel(f"to{i}", ports, 1, 0)]
        route = Partition(consumers=ports, level=2, surplus=False)
        row = [Channel(f"c{i}_{o}", 4, 8, 2, delay=route.delay(4)) for o in range(ports)]
        crossings += row
        names = tuple(c.name for c in row)
        units.append(Unit.in_order(f"p{i}", route, (f"x{i}", f"to{i}"), names))
    for o in range(ports):
        heads.append(Channel(f"from{o}", ports, 1, 0))
        tails.append(Channel(f"y{o}", 4, 8, 3))
        merge = Reassemble(producers=ports, level=2, order="arrival")
        names = (*(f"c{i}_{o}" for i in range(ports)), f"from{o}")
        units.append(Unit.in_order(f"r{o}", merge, names, (f"y{o}",)))
    return _between_ports("crossbar", 4, units, heads, tails, crossings)


def _fifo(depth: int) -> Fifo:
    return Fifo(Channel("fifo", 4, 8, 3, depth=depth))


CASES = (
    Case("matrix unit, L = 4", lambda: _matrix(4)),
    Case("matrix unit, L = 8", lambda: _matrix(8), "4100 LUT, 64 DSP, 163 MHz"),
    Case("matrix unit of f32, L = 4, netlist", lambda: _matrix(4, "f32"), placed=False),
    Case("product of a row, L = 4", lambda: _vector(4, transposed=False)),
    Case("the same without its FIFOs", lambda: _core(_vector(4, transposed=False), "matvec")),
    Case("product of a row, transposed, L = 4", lambda: _vector(4, transposed=True)),
    Case("the same without its FIFOs", lambda: _core(_vector(4, transposed=True), "matvec")),
    Case("product of a row, bf16, L = 4", lambda: _vector(4, transposed=True, element="bf16")),
    Case("requantize by a shift", lambda: _requantize(1, 7)),
    Case("requantize by a factor", lambda: _requantize(19661, 22)),
    Case("requantize by rows of factors and shifts", _requantize_by),
    Case("top_k, 2 of 8, bf16", _top_k),
    Case("PMU, 16 linked pages of 32", lambda: _pmu(16, 32, linked=True)),
    Case("the same without its FIFOs", lambda: _core(_pmu(16, 32, linked=True), "pmu")),
    Case("PMU, 64 linked pages of 64", lambda: _pmu(64, 64, linked=True)),
    Case("PMU, 2 chunks of 512", lambda: _pmu(2, 512, linked=False)),
    Case("load by address, 8x64 int8", lambda: _by_address(8, 64, stores=False)),
    Case("load by address, 3x20 int8", lambda: _by_address(3, 20, stores=False)),
    Case("store by address, 8x64 int8", lambda: _by_address(8, 64, stores=True)),
    Case("store by address, 3x20 int8", lambda: _by_address(3, 20, stores=True)),
    Case("merge of 4 as they arrive", _merge),
    Case("pairs of bf16 rotated", lambda: _mapped(sg.fn.rotate_pairs(), sg.bf16)),
    Case(
        "table of 256 int8",
        lambda: _mapped(sg.fn.lookup([*range(128), *range(-128, 0)], "int8"), sg.int8),
    ),
    Case("FIFO of 4", lambda: _fifo(4), "265 MHz"),
    Case("FIFO of 64", lambda: _fifo(64)),
    Case("FIFO of 512", lambda: _fifo(512), "128 MHz without output register"),
    Case("crossbar 4x4", lambda: _crossbar(4)),
    Case("crossbar 8x8", lambda: _crossbar(8), "155 MHz"),
)
