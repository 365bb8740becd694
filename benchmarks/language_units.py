"""(u3) The units that language models are written with, each by itself, and their clocks."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import stepgen as sg
from benchmarks.table import Table
from stepgen.compile.lower import lower
from stepgen.hw.accelerator import Accelerator
from stepgen.hw.alone import alone
from stepgen.hw.design.table import Design, Unit
from stepgen.hw.unit import core_of
from stepgen.synth.netlist import Netlist
from stepgen.synth.out_of_context import netlist, place
from stepgen.synth.toolchain import FAMILY, toolchain

LANES = 4
SPEED, SEEDS = 6, (1, 2, 4)
WIDE, BOUND = 64, 4096
"""Columns of rows and of tiles of weights; most rows of a cache."""

Writing = Callable[[sg.Graph], None]


@dataclass(frozen=True)
class Case:
    """A unit to measure.

    Parameters
    ----------
    name : str
        As the table calls it.
    kind : str
        Which unit of its program.
    write : function of a Graph
        Makes the program.
    """

    name: str
    kind: str
    write: Writing

    @property
    def design(self) -> Design:
        """What the program becomes."""
        graph = sg.Graph("measured")
        self.write(graph)
        return lower(graph, lanes=LANES)

    def unit(self) -> tuple[Unit, Design]:
        """The unit and its design."""
        design = self.design
        return next(unit for unit in design.units if unit.kind == self.kind), design

    def alone(self) -> Design:
        """The unit between FIFOs."""
        unit, design = self.unit()
        ports = {**unit.inputs, **unit.outputs}.items()
        given = [replace(design.channel[channel], name=port) for port, channel in ports]
        return alone(unit.params, given, lanes=LANES)


def measure() -> Table:
    """Synthesize each unit by itself; place and route it between FIFOs."""
    with tempfile.TemporaryDirectory(prefix="stepgen_bench_") as folder:
        rows = [_row(case, Path(folder)) for case in CASES]
    return Table(
        "u3. Units of language models",
        f"Each by itself, for an ECP5, with beats of {LANES} lanes: rows and tiles of weights of "
        f"{WIDE} columns unless said, keys of a cache that are at most {BOUND} rows. The clock in "
        f"MHz is that of the unit between FIFOs on an LFE5U-85F of speed grade {SPEED}: the median "
        "of three placements, at most what multipliers and block RAM stand.",
        ("unit", "kind", "LUT", "FF", "multipliers", "block RAM", "MHz"),
        rows,
    )


def _row(case: Case, folder: Path) -> tuple[object, ...]:
    print(f"  {case.name}", flush=True)
    name = "".join(c if c.isalnum() else "_" for c in case.name)
    table = netlist(core_of(*case.unit()), name, folder)
    used = Netlist.read(table, name, toolchain(FAMILY).cells).used
    between = netlist(Accelerator(case.alone()), f"{name}_placed", folder)
    clock = place(between, speed=SPEED, seeds=SEEDS).fmax
    takes = (used[what] for what in ("lut", "ff", "multiplier", "block_ram"))
    return (case.name, case.kind, *takes, f"{clock:.0f}")


def _numbers(g: sg.Graph, *names: str) -> Iterator[sg.Stream]:
    """Scalar addresses, which are single lanes of 64 bits where nothing bounds them."""
    return (g.input(name, sg.address[1, 1], ("N",)) for name in names)


def _mask(function: sg.Function, *names: str) -> Writing:
    """A mask of scores whose number of columns a run decides."""

    def write(g: sg.Graph) -> None:
        keys = sg.ragged("T", bound=BOUND, positive=True)
        x = g.input("x", sg.Tile(8, keys, sg.f32), ("N",))
        g.output(x.map(function, *_numbers(g, *names)), "y")

    return write


def _where(columns: int) -> Writing:
    """A choice between the elements of two tiles, by element or by row."""

    def write(g: sg.Graph) -> None:
        a, b = (g.input(name, sg.bf16[8, WIDE], ("N",)) for name in "ab")
        g.output(g.input("flags", sg.bool_[8, columns], ("N",)).map(sg.fn.where(), a, b), "y")

    return write


def _logic(name: str) -> Writing:
    """Logic of rows of flags."""

    def write(g: sg.Graph) -> None:
        function = getattr(sg.fn, f"logical_{name}")()
        operands = [g.input(f"x{n}", sg.bool_[1, WIDE], ("N",)) for n in range(function.arity)]
        g.output(operands[0].map(function, *operands[1:]), "y")

    return write


def _selectors(g: sg.Graph) -> None:
    a, b = (g.input(name, sg.Selector(WIDE), ("N",)) for name in "ab")
    g.output(a.map(sg.fn.logical_and(), b), "y")


def _addresses(function: sg.Function, *others: str) -> Writing:
    """Arithmetic of an address, or with others."""

    def write(g: sg.Graph) -> None:
        x, *more = _numbers(g, "x", *others)
        g.output(x.map(function, *more), "y")

    return write


def _largest(slices: int) -> Writing:
    """The place of the largest element of a row of bf16, which may come in slices."""

    def write(g: sg.Graph) -> None:
        if slices == 1:
            y = g.input("x", sg.bf16[1, WIDE], ("N",)).map(sg.fn.argmax())
        else:
            y = g.input("x", sg.bf16[1, WIDE], ("N", slices)).accum(sg.fn.argmax(), rank=1)
        g.output(y, "y")

    return write


def _placed(g: sg.Graph) -> None:
    """Rows of a prompt, as many as a run decides, in a cache."""
    cache = g.input("cache", sg.bf16[256, WIDE], ("N",))
    rows = g.input("rows", sg.Tile(sg.ragged("R", bound=256, positive=True), WIDE, sg.bf16), ("N",))
    g.output(cache.map(sg.fn.place_rows(), rows, *_numbers(g, "at")), "y")


def _cut(g: sg.Graph) -> None:
    """The heads of rows of a chunk."""
    x = g.input("x", sg.bf16[8, WIDE], ("N",))
    g.output(x.flat_map(sg.fn.cut_cols(16), rank=1), "y")


def _product(
    element: sg.ElementType,
    *,
    transpose: bool = True,
    dynamic: bool = False,
    summed: bool = False,
    rows: int = 1,
) -> Writing:
    """Rows times tiles of weights; dynamic are the rows of a cache."""

    def write(g: sg.Graph) -> None:
        keys = sg.ragged("T", bound=BOUND, positive=True) if dynamic else WIDE
        k = WIDE if transpose else keys
        shape = ("N", 4) if summed else ("N",)
        x = g.input("x", sg.Tile(rows, k, element), shape)
        w = g.input("w", sg.Tile(keys, WIDE, element), shape)
        product = sg.fn.matmul(transpose=transpose)
        g.output(x.accum(product, w, rank=1) if summed else x.map(product, w), "y")

    return write


def _grouped(part: str) -> Writing:
    """A part of the product of a row of bf16 and weights of int8 or int4 with scales per group.

    A load makes int8 of int4.
    """

    def write(g: sg.Graph) -> None:
        if part == "convert":
            w = g.input("w", sg.int8[WIDE, WIDE // 2], ("N", 2))
            g.output(w.map(sg.fn.convert(sg.bf16)), "y")
            return
        made = g.input("made", sg.f32[1, WIDE], ("N", 2))
        if part == "scale":
            scales = g.input("scales", sg.f32[1, WIDE], ("N", 2))
            g.output(made.map(sg.fn.mul(), scales), "y")
        else:
            g.output(made.accum(sg.fn.add(), rank=1), "y")

    return write


CASES = (
    Case("columns from a number on, masked", "mask", _mask(sg.fn.mask_cols(0), "n")),
    Case("rows from a number on, masked", "mask", _mask(sg.fn.mask_rows(0), "n")),
    Case("a causal mask", "mask", _mask(sg.fn.mask_causal(0, most=BOUND), "p", "q")),
    Case("where, by element", "pcu", _where(WIDE)),
    Case("where, by row", "pcu", _where(1)),
    *(Case(f"{name} of flags", "pcu", _logic(name)) for name in ("and", "or", "xor", "not")),
    Case(f"and of selectors of {WIDE}", "logic", _selectors),
    Case("address + 3", "calculate", _addresses(sg.fn.offset(3))),
    Case("address x 128", "calculate", _addresses(sg.fn.scale(128))),
    Case("address x 100", "calculate", _addresses(sg.fn.scale(100))),
    Case("address + address", "calculate", _addresses(sg.fn.add(), "z")),
    Case("the smaller of two addresses", "calculate", _addresses(sg.fn.minimum(), "z")),
    Case("address < 3", "calculate", _addresses(sg.fn.compare("lt", 3))),
    Case("argmax of a row", "locate", _largest(1)),
    Case("argmax of a row in 8 slices", "locate", _largest(8)),
    Case("rows placed in a cache of 256", "place_row", _placed),
    Case("rows cut into heads of 16", "cut_tile", _cut),
    Case("product of a row, int8", "matvec", _product(sg.int8, transpose=False)),
    Case(
        "product of a row, int8, summed up",
        "matvec",
        _product(sg.int8, transpose=False, summed=True),
    ),
    Case("product of a row, int8, transposed", "matvec", _product(sg.int8)),
    Case("product of a row and keys, int8", "matvec", _product(sg.int8, dynamic=True)),
    Case(
        "product of a row and values, int8",
        "matvec",
        _product(sg.int8, transpose=False, dynamic=True),
    ),
    Case("product of a row, bf16", "matvec", _product(sg.bf16, transpose=False)),
    Case("its weights, turned", "turn_slices", _product(sg.bf16, transpose=False)),
    Case("product of a row, bf16, transposed", "matvec", _product(sg.bf16)),
    Case("product of a row and keys, bf16", "matvec", _product(sg.bf16, dynamic=True)),
    Case("matrix unit, f32, tiles 64 x 64", "matmul", _product(sg.f32, rows=8)),
    Case("W8A16: weights become bf16", "pcu", _grouped("convert")),
    Case("W8A16, W4A16: products times scales", "pcu", _grouped("scale")),
    Case("W8A16, W4A16: groups summed up", "accumulate", _grouped("add")),
)
