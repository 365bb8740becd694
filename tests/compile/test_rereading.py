"""References to buffers that are repeated."""

import pytest

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.hw.units.pmu.params import Pmu

ROWS = sg.int8[2, 8]


def kept(g: sg.Graph) -> sg.Stream:
    """References to stored chunks."""
    return g.input("x", ROWS, (5, 3)).bufferize(rank=1)


def pmu_of(graph: sg.Graph) -> Pmu:
    """The parameters of the one PMU of a program."""
    (unit,) = lower(graph).of_kind(Pmu)
    return unit.params


@pytest.mark.parametrize("reading", [{}, {"shape": (2,), "stride": (1,)}])
def test_repeated_references_are_read_as_often(reading):
    g, plain = sg.Graph("repeated"), sg.Graph("plain")
    g.output(kept(g).promote(0).expand(count=2).streamify(**reading), "y")
    plain.output(kept(plain).streamify(count=2, **reading), "y")
    assert pmu_of(g) == pmu_of(plain)


def test_references_are_repeated_for_a_stream():
    g, plain = sg.Graph("repeated"), sg.Graph("plain")
    ref = g.input("ref", ROWS, (5, 4))
    g.output(kept(g).promote(0).expand(ref, rank=1).streamify(), "y")
    plain.output(kept(plain).streamify(plain.input("ref", ROWS, (5, 4))), "y")
    assert pmu_of(g) == pmu_of(plain)


def test_several_readings_of_repeated_references():
    g = sg.Graph("repeated")
    repeated = kept(g).promote(0).expand(count=2)
    g.output(repeated.streamify(), "y")
    g.output(repeated.streamify(shape=(2,), stride=(0,)), "z")
    assert [one.count for one in pmu_of(g).readings] == [2, 2]


def test_of_references_repeated_by_a_count_so_many_more_come_back():
    g = sg.Graph("repeated")
    refs = g.input("x", ROWS, ("N", 3)).bufferize(rank=1)
    repeated = refs.promote(0).expand(count=3)
    g.output(repeated.streamify(count=2), "y")
    g.output(repeated.promote(0).expand(count=2).streamify(count=4), "z")
    params = pmu_of(g)
    assert [one.count for one in params.readings] == [2, 4]
    assert params.shares == 3 * (1 + 2)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("beside", [0, 1, 3, 7])
def test_a_partition_gives_back_what_it_may_whatever_else_reads(count, beside):
    """Beside it references are read so often, and each is repeated so often before it."""
    g = sg.Graph("routed")
    refs = g.input("x", ROWS, ("N", 3)).bufferize(rank=1)
    sel = g.input("sel", sg.Selector(2), ("N", count))
    for n in range(beside):
        g.output(refs.streamify(count=2), f"y{n}")
    for n, part in enumerate(refs.promote(0).expand(count=count).partition(sel, rank=0)):
        g.output(part.streamify(), f"z{n}")
    assert pmu_of(g).shares == 2 * count + beside


@pytest.mark.parametrize("more", ["stream", "output"])
def test_references_that_are_repeated_otherwise(more):
    g = sg.Graph("repeated")
    how = {"count": 2} if more == "output" else {"ref": g.input("ref", ROWS, (5, 4)), "rank": 1}
    repeated = kept(g).promote(0).expand(**how)
    g.output(repeated.streamify(count=3), "y")
    if more == "output":
        g.output(repeated, "z")
    with pytest.raises(sg.StepError, match=r"go to (expand_0 as promote_0|z as expand_0)"):
        lower(g)
