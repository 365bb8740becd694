"""Bufferize and Streamify as one unit: its memory, and what has no circuit."""

import pytest

import stepgen as sg
from stepgen.compile.cost import hardware
from stepgen.compile.lower import lower
from stepgen.hw.units.pmu.params import Pmu

ROWS = sg.int8[2, 8]


def pmu_of(graph: sg.Graph) -> Pmu:
    """The parameters of the one PMU of a program."""
    (unit,) = lower(graph).of_kind(Pmu)
    return unit.params


def stored(*dims, tile=ROWS, rank=1, **reading) -> sg.Graph:
    """A program that stores chunks and reads them."""
    g = sg.Graph("stored")
    g.output(g.input("x", tile, dims).bufferize(rank=rank).streamify(**reading), "y")
    return g


def test_chunks_of_one_size_take_a_page_each():
    params = pmu_of(stored(5, 3))
    assert (params.fixed, params.pages, params.page) == (True, 2, 3 * 2 * 2)


def test_memory_for_one_chunk_where_there_is_no_other():
    assert pmu_of(stored(1, 3)).pages == 1


@pytest.mark.parametrize("longest", [1, 2, 5, 16, 17, 100])
def test_chunks_of_many_sizes_take_linked_pages(longest):
    params = pmu_of(stored(5, sg.ragged("D", bound=longest)))
    beats = longest * 2 * 2
    assert not params.fixed
    assert params.largest == beats
    needed = -(-beats // params.page)
    assert needed <= 16
    assert params.pages == 2 * needed


def test_costs_are_those_of_the_bufferize():
    g = stored(5, 3)
    design = lower(g)
    (unit,) = design.of_kind(Pmu)
    assert unit.origin == "bufferize_0"
    bits = unit.params.memory_bits(unit, design)
    assert bits == 2 * 12 * (32 + 2)
    assert 8 * hardware(g, design).memory >= bits


def test_streams_have_the_names_of_their_operators():
    names = {c.name for c in lower(stored(5, 3)).channels}
    assert {"bufferize_0", "streamify_0"} <= names


def forked() -> sg.Graph:
    g = sg.Graph("forked")
    buffers = g.input("x", ROWS, (5, 3)).bufferize(rank=1, name="kept")
    g.output(buffers.streamify(), "y")
    g.output(buffers.streamify(count=2), "z")
    return g


def routed() -> sg.Graph:
    g = sg.Graph("routed")
    buffers = g.input("x", ROWS, (5, 3)).bufferize(rank=1, name="kept")
    parts = sg.partition(buffers, g.input("sel", sg.Selector(2), (5,)), rank=0)
    for n, part in enumerate(parts):
        g.output(part.streamify(), f"y{n}")
    return g


def shown() -> sg.Graph:
    g = sg.Graph("shown")
    g.output(g.input("x", ROWS, (5, 3)).bufferize(rank=1, name="kept"), "y")
    return g


def endless() -> sg.Graph:
    return stored(5, sg.ragged("D"))


def uneven() -> sg.Graph:
    tile = sg.Tile(sg.dynamic("R", bound=4), 8, sg.int8)
    return stored(5, 3, tile=tile, shape=(2,), stride=(1,))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (forked, r"^bufferize kept at .*: 2 operators read the buffers kept\.0, and its circuit"),
        (
            routed,
            r"^bufferize kept at .*: its buffers kept\.0 go to partition_0, and circuits read",
        ),
        (shown, r"^bufferize kept at .*: its buffers kept\.0 go to y, and circuits read"),
        (
            endless,
            r"^bufferize bufferize_0 at .*: the number of tiles of .*\[D\] has no upper bound",
        ),
        (uneven, r"^streamify streamify_0 at .*: it reads tiles of .* by shape and stride, whose"),
    ],
)
def test_what_has_no_circuit(make, said):
    with pytest.raises(sg.StepError, match=said):
        lower(make())
