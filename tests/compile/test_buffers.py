"""Bufferize and Streamify as one unit: its memory, and what has no circuit."""

import numpy as np
import pytest

import stepgen as sg
from stepgen.compile.cost import hardware
from stepgen.compile.lower import lower
from stepgen.compile.references import references
from stepgen.fuzz.case import Case
from stepgen.fuzz.compare import compare
from stepgen.hw.units.pmu.params import Pmu
from stepgen.semantics.executor import run

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


def forked(times=5) -> sg.Graph:
    g = sg.Graph("forked")
    buffers = g.input("x", ROWS, (times, 3)).bufferize(rank=1, name="kept")
    g.output(buffers.streamify(), "y")
    g.output(buffers.streamify(count=2), "z")
    return g


def routed(times=5, *, hot=None, merged=False) -> sg.Graph:
    g = sg.Graph("routed")
    buffers = g.input("x", ROWS, (times, 3)).bufferize(rank=1, name="kept")
    sel = g.input("sel", sg.Selector(3, hot=hot), (times,))
    parts = sg.partition(buffers, sel, rank=0)
    parts = [sg.reassemble(parts, sel, rank=0)] if merged else parts
    for n, part in enumerate(parts):
        g.output(part.streamify(), f"y{n}")
    return g


@pytest.mark.parametrize(
    ("graph", "shares", "returning"),
    [
        (forked(), 2, 0),
        (routed(), 3, 1),
        (routed(hot=1), 1, 0),
        (routed(hot=2), 2, 0),
        (routed(merged=True), 3, 1),
        (routed(hot=1, merged=True), 1, 0),
    ],
)
def test_references_that_come_back(graph, shares, returning):
    made = graph.node("kept").outputs[0]
    found = references(graph, made)
    assert (found.shares[made], len(found.returning)) == (shares, returning)
    assert not found.in_order


def test_outputs_of_which_as_many_come_back_need_no_returns():
    g = sg.Graph("uneven")
    buffers = g.input("x", ROWS, (5, 3)).bufferize(rank=1)
    one, two = sg.partition(buffers, g.input("sel", sg.Selector(2, hot=1), (5,)), rank=0)
    g.output(one.streamify(), "y")
    g.output(two.streamify(), "z")
    g.output(two.streamify(count=2), "w")
    found = references(g, buffers)
    assert (found.shares[buffers], found.shares[one], found.shares[two]) == (2, 1, 2)
    assert [node.op for node in found.returning] == ["partition"]


def test_a_stream_of_which_only_the_structure_counts_has_no_shares():
    g = sg.Graph("counted")
    buffers = g.input("x", ROWS, (5, 3)).bufferize(rank=1)
    one, other = buffers.fork(2)
    g.output(one.streamify(other.promote(0)), "y")
    assert references(g, buffers).shares[buffers] == 1


def test_a_memory_for_two_chunks_of_many():
    params = pmu_of(forked(100))
    assert (params.pages, params.shares, params.counts) == (2, 2, True)
    assert params.page == 16


def test_a_memory_for_all_chunks_where_more_would_wait_elsewhere():
    params = pmu_of(routed(hot=1, merged=True))
    assert (params.pages, params.shares, params.counts) == (5, 0, False)


def test_chunks_that_are_as_many_as_one_likes_can_not_wait_for_others():
    with pytest.raises(sg.StepError, match="may have to"):
        lower(routed("N", merged=True))


def shown() -> sg.Graph:
    g = sg.Graph("shown")
    g.output(g.input("x", ROWS, (5, 3)).bufferize(rank=1, name="kept"), "y")
    return g


def unread() -> sg.Graph:
    g = sg.Graph("unread")
    buffers = g.input("x", ROWS, (5, 3)).bufferize(rank=1, name="kept")
    g.output(g.input("z", ROWS, (5, 1)).expand(buffers.promote(0), rank=1), "y")
    return g


def mixed() -> sg.Graph:
    g = sg.Graph("mixed")
    one = g.input("x", ROWS, (5, 3)).bufferize(rank=1, name="one")
    other = g.input("z", ROWS, (5, 3)).bufferize(rank=1, name="other")
    sel = g.input("sel", sg.Selector(2, hot=2), (5,))
    g.output(sg.reassemble([one, other], sel, rank=0).streamify(), "y")
    return g


def repeated() -> sg.Graph:
    g = sg.Graph("repeated")
    buffers = g.input("x", ROWS, (5, 3)).bufferize(rank=1, name="kept")
    ref = g.input("ref", ROWS, (5, sg.ragged("K", bound=2)))
    g.output(buffers.promote(0).expand(ref, rank=1).flatten(0, 1).streamify(), "y")
    return g


def endless() -> sg.Graph:
    return stored(5, sg.ragged("D"))


def uneven() -> sg.Graph:
    tile = sg.Tile(sg.dynamic("R", bound=4), 8, sg.int8)
    return stored(5, 3, tile=tile, shape=(2,), stride=(1,))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (shown, r"^bufferize kept at .*: its buffers kept\.0 go to y as kept\.0, and no circuit"),
        (unread, r"^bufferize kept at .*: nothing reads its buffers kept\.0"),
        (
            mixed,
            r"^reassemble reassemble_0 at .*: it merges the buffers one\.0 and other\.0, and .* in "
            r"one place: merge what streamify reads of each",
        ),
        (
            repeated,
            r"^bufferize kept at .*: its buffers kept\.0 go to expand_0 as promote_0\.0, and no "
            r"circuit passes references through expand by a stream, unless all that it goes to is ",
        ),
        (
            endless,
            r"^bufferize bufferize_0 at .*: the number of tiles of .*\[D\] has no upper bound"
            r".*: D needs one, by bound= or most= where it is made; or bufferize\(most=\.\.\.\)",
        ),
        (uneven, r"^streamify streamify_0 at .*: it reads tiles of .* by shape and stride, whose"),
    ],
)
def test_what_has_no_circuit(make, said):
    with pytest.raises(sg.StepError, match=said):
        lower(make())


@pytest.mark.parametrize("seed", range(3))
def test_what_is_read_of_several_memories_is_merged_instead(seed):
    """What a refusal says to do gives the same, and has a circuit."""
    rng = np.random.default_rng(seed)
    counts = [int(n) for n in rng.integers(1, 4, 2)]
    chosen = rng.permutation([n for n, many in enumerate(counts) for _ in range(many)])
    named = zip("xz", counts, strict=True)
    inputs = {name: rng.integers(-9, 9, (n, 3, 2, 8), np.int8) for name, n in named}
    inputs |= {"sel": np.eye(2, dtype=bool)[chosen]}

    def program(*, before: bool) -> sg.Graph:
        g = sg.Graph("several")
        sel = g.input("sel", sg.Selector(2, hot=1), (sum(counts),))
        several = [
            g.input(name, ROWS, (many, 3)).bufferize(rank=1)
            for name, many in zip("xz", counts, strict=True)
        ]
        if before:
            several = [buffers.streamify() for buffers in several]
        y = sg.reassemble(several, sel, rank=int(before))
        g.output(y if before else y.streamify(), "y")
        return g

    ours, others = (run(program(before=b), inputs).beats("y", 4) for b in (True, False))
    assert all(np.array_equal(getattr(ours, f), getattr(others, f)) for f in ("kind", "data"))
    assert compare(Case(program(before=True), inputs), rtl=False).status == "agrees"
