"""A budget of on-chip memory: what is accepted fits, ends and agrees; what is not is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from seeds import some_slow

import stepgen as sg
from stepgen.compile.budget import KIB
from stepgen.compile.cost import on_chip_bits
from stepgen.compile.lower import lower
from stepgen.compile.needs import TooLarge
from stepgen.fuzz import draw
from stepgen.fuzz.case import Case
from stepgen.fuzz.compare import compare
from stepgen.hw.units.expand.params import Expand
from stepgen.hw.units.matmul.params import Matmul
from stepgen.hw.units.pmu.params import Pmu
from stepgen.hw.units.retile_col.params import RetileCol
from stepgen.ir.errors import StepError
from stepgen.program.inputs import complete

TILE = sg.int8[sg.ragged("R", bound=3), 8]
Count = int | str | sg.Dim


def repeated(tiles: Count = 5) -> sg.Graph:
    """Tiles that a ring buffer repeats."""
    g = sg.Graph("repeated")
    g.output(g.input("x", TILE, (tiles, 1)).expand(count=3, rank=1), "y")
    return g


def joined(chunks: Count = 4) -> sg.Graph:
    """Tiles that are joined by columns."""
    g = sg.Graph("joined")
    g.output(g.input("x", sg.int8[3, 8], (chunks, 2)).accum(sg.fn.retile_col(), rank=1), "y")
    return g


def stored(chunks: Count = 4) -> sg.Graph:
    """Chunks that are stored and read twice."""
    g = sg.Graph("stored")
    g.output(g.input("x", TILE, (chunks, 2)).bufferize(rank=1).streamify(count=2), "y")
    return g


def multiplied(tiles: Count = 4) -> sg.Graph:
    """Tiles times tiles."""
    g = sg.Graph("multiplied")
    x, w = g.input("x", sg.int8[2, 8], (tiles,)), g.input("w", sg.int8[8, 12], (tiles,))
    g.output(x.map(sg.fn.matmul(), w), "y")
    return g


def both() -> sg.Graph:
    """A ring buffer through which few beats go, beside a matrix unit through which many go."""
    g = sg.Graph("both")
    x, w = g.input("x", sg.int8[2, 8], (40,)), g.input("w", sg.int8[8, 8], (40,))
    g.output(x.map(sg.fn.matmul(), w), "y")
    g.output(g.input("few", sg.int8[8, 8], (2, 1)).expand(count=2, rank=1), "z")
    return g


PROGRAMS = {"repeated": repeated, "joined": joined, "stored": stored, "multiplied": multiplied}
SIZES = {
    "repeated": (Expand, "capacity"),
    "joined": (RetileCol, "buffers"),
    "stored": (Pmu, "pages"),
    "multiplied": (Matmul, "buffers"),
}


def least(graph: sg.Graph) -> int:
    """Bits that a program takes at least."""
    with pytest.raises(TooLarge) as refused:
        lower(graph, onchip=1 / KIB)
    return refused.value.bits


def size(name: str, design) -> int:
    """The parameter of the memory of one of the programs."""
    kind, field = SIZES[name]
    (unit,) = design.of_kind(kind)
    return getattr(unit.params, field)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_memory_is_halved_where_it_is_scarce(name):
    graph = PROGRAMS[name]()
    full = size(name, lower(graph))
    assert size(name, lower(graph, onchip=least(graph) / KIB)) == full / 2


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_memory_needs_a_bound_for_the_whole_stream(name):
    unbounded, none = lower(PROGRAMS[name]("N")), lower(PROGRAMS[name](sg.dynamic("N", bound=0)))
    assert size(name, unbounded) == size(name, lower(PROGRAMS[name]()))
    assert size(name, none) == size(name, lower(PROGRAMS[name](1)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_designs_stay_within_every_budget(name):
    graph = PROGRAMS[name]()
    low, full = least(graph), on_chip_bits(lower(graph))
    for bits in range(low, full + 200, max(1, (full - low) // 7)):
        design = lower(graph, onchip=bits / KIB)
        assert on_chip_bits(design) <= bits
        assert design == lower(graph, onchip=bits / KIB)
    assert lower(graph, onchip=full / KIB) == lower(graph)
    with pytest.raises(TooLarge):
        lower(graph, onchip=(low - 1) / KIB)


def test_memory_goes_where_the_most_beats_go_for_a_bit():
    graph = both()
    low = least(graph)
    sizes = []
    for more in (0, 600, 1200):
        design = lower(graph, onchip=(low + more) / KIB)
        (unit,), (ring,) = design.of_kind(Matmul), design.of_kind(Expand)
        sizes.append((unit.params.buffers, ring.params.capacity))
    assert sizes == [(1, 16), (2, 16), (2, 32)]


def case(graph: sg.Graph, bits: int) -> Case:
    """A program with drawn inputs and so much memory."""
    rng = np.random.default_rng(3)

    def tile():
        return rng.integers(-128, 128, (rng.integers(4), 8)).astype(np.int8)

    given = {
        name: [[tile() for _ in range(x.shape[1].static)] for _ in range(x.shape[0].static)]
        for name, x in graph.inputs.items()
        if x.dtype.rows.static is None
    }
    return Case(graph, complete(graph, given, seed=3), onchip=bits / KIB)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_least_memory_agrees_in_all_faces(name):
    graph = PROGRAMS[name]()
    assert compare(case(graph, least(graph)), rtl=False).status == "agrees"


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_least_memory_agrees_in_verilog(name):
    graph = PROGRAMS[name]()
    assert compare(case(graph, least(graph))).status == "agrees"


@pytest.mark.parametrize("seed", some_slow(range(60), 6))
def test_drawn_programs_with_scarce_memory_end_and_agree(seed):
    drawn = replace(draw.case(29, seed)[0], depths={}, onchip=None)
    design = drawn.experiment().design
    for share in (0.0, 0.5):
        scarce = replace(drawn, onchip=draw.budget(drawn, design, share))
        assert on_chip_bits(scarce.experiment().design) <= scarce.onchip * KIB
        verdict = compare(scarce, rtl=False)
        assert verdict.status in ("agrees", "refused"), verdict.says
        assert "deadlock" not in verdict.says


def test_a_refusal_names_the_largest_needs_and_what_helps():
    g = sg.Graph("large")
    x = g.input("x", sg.int8[sg.ragged("R", bound=300), 8], (5, 1)).expand(count=3, rank=1)
    w = g.input("w", sg.int8[8, 60], (5, 3))
    g.output(x.map(sg.fn.matmul(), w), "y")
    with pytest.raises(StepError) as refused:
        lower(g, onchip=0.5)
    assert str(refused.value) == (
        "large needs 3.1 KiB on chip at least, not 0.5: expand_0 takes 20,024 bits for x, less "
        "with a smaller bound of R; map_0 takes 3,980 bits for w, less with smaller tiles; y takes "
        "880 bits for map_0, less with a smaller bound of R"
    )


@pytest.mark.parametrize("onchip", [0, -1, math.nan, math.inf])
def test_a_budget_is_a_positive_number(onchip):
    with pytest.raises(StepError, match=r"onchip must be a .*number"):
        lower(joined(), onchip=onchip)
