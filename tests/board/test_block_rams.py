"""Block RAMs of a design on a board: counted in the table as in the circuit, and as a budget."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

import pytest
from amaranth.hdl import Elaboratable, Module, Signal
from seeds import others_slow, some_slow

import stepgen as sg
from stepgen.board.block_rams import taken
from stepgen.board.description import Board, named
from stepgen.board.memory import BoardMemory
from stepgen.compile.lower import lower
from stepgen.compile.needs import TooLarge
from stepgen.fuzz import draw
from stepgen.hw import private
from stepgen.hw.arithmetic.circuits import tabulated as circuits
from stepgen.hw.arithmetic.tabulated import STAGES, contents
from stepgen.hw.board.family import family
from stepgen.hw.board.top import BoardTop
from stepgen.hw.design.block_rams import SHALLOW
from stepgen.hw.design.ram import Ram
from stepgen.hw.design.table import Design
from stepgen.hw.primitives import Device
from stepgen.ir.dtypes import bf16, f32
from stepgen.ir.errors import StepError
from stepgen.synth.estimate import estimate

BLOCKS = {"ecp5": ["DP16KD"], "gowin": ["SDPB", "SDPX9B"]}


def text_of(design: Design, board: Board) -> str:
    """All that is on a board, in RTLIL; each instance has a module of its own."""
    top = BoardTop(design, board.around(design))
    return private.module(top, "top", Device(board.chip.family))


def blocks_in(text: str, family: str) -> int:
    return sum(text.count(f" cell \\{kind} ") for kind in BLOCKS[family])


def large(rows: int = 90, columns: int = 12, *, routed: bool = False) -> sg.Graph:
    """Memories of all kinds, with several hundred rows each."""
    g = sg.Graph("large")
    tile = sg.int8[sg.ragged("R", bound=rows), columns]
    x = g.input("x", tile, (3, 2))
    w = g.input("w", sg.int8[columns, 40], (3, 2))
    b = g.input("b", sg.int32[1, 40], (3, 2))
    stored = x.bufferize(rank=1)
    if routed:
        one, other = stored.fork(2)
        g.output(one.streamify(), "copied")
        stored = other
    g.output(stored.streamify(count=2), "y")
    g.output(x.promote(0).expand(count=2, rank=1), "often")
    z = x.map(sg.fn.matmul(), w).map(sg.fn.requantize(shift=4))
    g.output(z, "z")
    g.output(b.accum(sg.fn.add(), rank=1), "sums")
    return g


def curved() -> sg.Graph:
    """Tables of constants in blocks."""
    g = sg.Graph("curved")
    x = g.input("x", sg.f32[2, 3], (4,))
    g.output(x.map(sg.fn.silu()), "y")
    g.output(x.map(sg.fn.exp()), "z")
    return g


def loaded(words: int = 700) -> sg.Graph:
    """Tensors in a board's memory."""
    g = sg.Graph("loaded")
    w = g.tensor("w", (words, 8), sg.int8)
    y = g.tensor("y", (words, 8), sg.int8)
    x = sg.linear_offchip_load(w, tile=(words, 8), shape=(1, 1), stride=(1, 1))
    sg.linear_offchip_store(x, y)
    g.output(x.flatten(0, 1).map(sg.fn.add(), x.flatten(0, 1)), "out")
    return g


PROGRAMS = {
    "large": large(),
    "routed": large(70, 30, routed=True),
    "curved": curved(),
    "loaded": loaded(),
}
BOARDS = ["ulx3s-85f", "ulx3s-85f-sdram", "tang-nano-20k", "tang-nano-20k-sdram"]


TOGETHER = [
    pytest.param(name, board, marks=() if (n + k) % len(BOARDS) == 0 else pytest.mark.slow)
    for n, name in enumerate(PROGRAMS)
    for k, board in enumerate(BOARDS)
]
"""Each program and each board at least once, the others slow."""


@pytest.mark.parametrize(("name", "board"), TOGETHER)
def test_the_circuit_has_the_blocks_that_the_table_says(name: str, board: str) -> None:
    where, design = named(board), lower(PROGRAMS[name], lanes=2)
    found = taken(design, where)
    assert found.total == blocks_in(text_of(design, where), where.chip.family)
    assert found.total == found.design + sum(found.around.values())


@pytest.mark.parametrize("seed", some_slow(range(40), 1))
def test_drawn_circuits_have_the_blocks_that_the_table_says(seed: int) -> None:
    """On ECP5 the blocks themselves; elsewhere the memories that tools are asked to put there."""
    case = draw.case(83, seed)[0]
    try:
        design = case.experiment().design
        around = named("ulx3s-85f-sdram").around(design)
    except StepError:
        return
    for board in (named("ulx3s-85f-sdram"), named("icebreaker"), named("arty-a7-100")):
        blocks = BoardMemory(board).blocks
        text = private.module(BoardTop(design, around), "top", Device(board.chip.family))
        own = [*blocks.design(design)]
        if board.chip.family == "ecp5":
            counted = taken(design, board)
            assert counted.total - counted.around["control and counters"] == blocks_in(text, "ecp5")
            continue
        requested = Counter(
            (int(bits), int(rows))
            for bits, rows in re.findall(
                r'attribute \\ram_style "block"\n(?:  attribute .*\n)*'
                r"  memory width (\d+) size (\d+)",
                text,
            )
        )
        shallow = SHALLOW if blocks.lut_ram else 0
        table = Counter((r.bits, r.rows) for r in own if r.rows > shallow and not r.constant)
        assert table <= requested


class Alone(Elaboratable):
    """The circuit of an elementary function."""

    def __init__(self, name: str, of):
        self.name, self.of = name, of
        self.operands = [Signal(of.bits) for _ in range(2 if name == "divide" else 1)]
        self.result = Signal(of.bits)

    def elaborate(self, platform) -> Module:
        m = Module()
        found, _ = circuits.tabulated(m, self.name, self.of, *self.operands)
        m.d.comb += self.result.eq(found)
        return m


@pytest.mark.parametrize(
    ("of", "name"), others_slow(product((bf16, f32), STAGES), [*product((bf16,), STAGES)])
)
def test_tables_of_constants_are_those_of_the_circuit(name: str, of) -> None:
    circuit = Alone(name, of)
    ports = {f"p{n}": (s, None) for n, s in enumerate([*circuit.operands, circuit.result])}
    text = private.module(circuit, "top", Device("ecp5"), ports)
    tables = [Ram(table.row_bits, len(table.rows), constant=True) for table in contents(name, of)]
    assert blocks_in(text, "ecp5") == family("ecp5").blocks.total(tables)


def test_what_a_design_takes_is_its_estimate() -> None:
    """Of a design with so many channels that their counters have blocks, too."""
    g = sg.Graph("many")
    for n in range(30):
        g.output(g.input(f"x{n}", sg.int8[1, 2], (2,)).promote(0), f"y{n}")
    design, board = lower(g, lanes=1), named("ulx3s-85f")
    found = taken(design, board)
    counters = found.around["control and counters"]
    assert counters > 0
    assert estimate(design).total["block_ram"] == found.design + counters


def ring(rows: int = 4000) -> sg.Graph:
    """A ring buffer for two elements, or for one."""
    g = sg.Graph("ring")
    x = g.input("x", sg.int8[sg.ragged("R", bound=rows), 8], (4, 1))
    g.output(x.expand(count=3, rank=1), "y")
    return g


def test_a_board_is_a_budget() -> None:
    board = named("ulx3s-12f")
    full, memory = lower(ring()), BoardMemory(board)
    less = lower(ring(), onchip=memory)
    assert taken(full, board).missing == 13
    assert taken(less, board).total <= board.chip.block_rams
    assert lower(ring(), onchip=BoardMemory(named("ulx3s-85f"))) == full


@pytest.mark.parametrize("rows", [300, 500, 1000, 2000, 4000, 8000, 9000])
def test_no_design_takes_more_than_the_board_has(rows: int) -> None:
    for key in ("ulx3s-12f", "icebreaker", "arty-a7-100", "tang-nano-20k"):
        board = named(key)
        try:
            design = lower(ring(rows), onchip=BoardMemory(board))
        except TooLarge:
            assert taken(lower(ring(rows)), board).missing
        else:
            assert not taken(design, board).missing


def test_a_refusal_counts_blocks() -> None:
    with pytest.raises(TooLarge) as refused:
        lower(ring(9000), onchip=BoardMemory(named("ulx3s-12f")))
    assert str(refused.value) == (
        "ring is too large for ULX3S (LFE5U-12F): with the least memory it takes 48 block RAMs of "
        "32, 16 too many (36 in units and FIFOs, 10 in the stream buffers, 2 in the link): "
        "expand_0 takes 36 block RAMs for x, less with a smaller bound of R"
    )
