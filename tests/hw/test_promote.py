import pytest
from drawn import Draw, to_beats, verify
from harness import lone
from seeds import some_slow

from stepgen.hw.units.promote.params import Promote


def promoted(items, depth):
    """Each of the lists `depth` deep in a list of its own."""
    return [promoted(i, depth - 1) for i in items] if depth else [items]


@pytest.mark.parametrize("seed", some_slow(range(36), 9))
def test_inserts_a_dim(seed):
    draw = Draw(seed)
    rank = draw.one((0, 1, 2, 3))
    level = draw.one(range(rank + 2))
    x = draw.nested([(0, 1, 2, 3, 5)] * (rank + 1), draw.beat)
    outermost = level == rank + 1
    y = promoted(x, rank + 1 - level) if x or not outermost else []
    design = lone(
        Promote(level, outermost),
        [draw.channel("x", rank)],
        [draw.channel("y", rank + 1)],
    )
    verify(design, {"s_x": to_beats(x, rank)}, {"d_y": to_beats(y, rank + 1)}, draw.stalls(design))
