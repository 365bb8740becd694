import pytest
from drawn import Draw, to_beats, verify
from harness import lone
from lone.structure import flatten
from seeds import some_slow

from stepgen.hw.design.table import Channel
from stepgen.hw.units.flatten.params import Flatten
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.timing.model import predict


def flattened(items, rank, lo, hi):
    """Lists nested ``rank + 1`` deep whose dims `lo` to `hi` are one."""
    if rank > hi:
        return [flattened(i, rank - 1, lo, hi) for i in items]
    for _ in range(hi - lo):
        items = [part for item in items for part in item]
    return items


@pytest.mark.parametrize("seed", some_slow(range(48), 8))
def test_flattens(seed):
    draw = Draw(seed)
    rank = draw.one((1, 2, 3, 4))
    lo = draw.one(range(rank))
    hi = draw.one(range(lo + 1, rank + 1))
    empties = draw.one((True, True, False))
    hold = empties and hi < rank
    dims = [(0, 1, 2, 3, 5)] * (rank + 1)
    if not empties:  # nothing has to be held back where only the outermost of the dims is empty
        dims[rank - hi + 1 : rank + 1 - lo] = [(1, 2, 3)] * (hi - lo)
    x = draw.nested(dims, draw.beat)
    design = lone(
        Flatten(lo, hi, hold),
        [draw.channel("x", rank)],
        [draw.channel("y", rank - (hi - lo))],
    )
    y = to_beats(flattened(x, rank, lo, hi), rank - (hi - lo))
    verify(design, {"s_x": to_beats(x, rank)}, {"d_y": y}, draw.stalls(design))


def test_a_beat_that_is_held_ignores_an_idle_head():
    """Beats come seldom, and between them the head shows junk, some of it like an empty group."""
    draw = Draw(5)
    x = draw.nested([(4,), (4,), (3,)], draw.beat)
    design = lone(Flatten(0, 1, True), [draw.channel("x", 2)], [draw.channel("y", 1)])
    y = to_beats(flattened(x, 2, 0, 1), 1)
    verify(design, {"s_x": to_beats(x, 2)}, {"d_y": y}, Stalls(1, {"s_x": 0.9}))


@pytest.mark.parametrize("seed", range(100))
def test_a_beat_is_taken_in_every_cycle(seed):
    """Also on runs of empty groups, behind which a beat has to wait for those that follow."""
    case = flatten(Draw(seed))
    x = case.inputs["x"]
    pops = predict(case.design, {"s_x": x}).pops["x"]
    assert list(pops) == list(range(pops[0], pops[0] + len(x)))


@pytest.mark.parametrize(
    ("lo", "hi", "y", "message"),
    [
        (2, 4, (2, 8, 1), "the levels 2 to 4 must be within 0..3, in order"),
        (2, 1, (2, 8, 4), "the levels 2 to 1 must be within 0..3, in order"),
        (-1, 1, (2, 8, 1), "the levels -1 to 1 must be within 0..3, in order"),
        (1, 2, (2, 8, 3), "y must be of rank 2 "),
        (1, 2, (2, 16, 2), "y must be of rank 2 "),
    ],
)
def test_what_can_not_be_built(lo, hi, y, message):
    with pytest.raises(StepError, match=f"^design lone: flatten dut: {message}"):
        lone(Flatten(lo, hi, hold=False), [Channel("x", 2, 8, 3)], [Channel("y", *y)])
