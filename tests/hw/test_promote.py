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
    # An output without lanes gets the structure alone.
    lanes = draw.one(([2], [2], [2, 2], [2, 0], [0, 2], [2, 0, 2]))
    outs = [
        draw.channel(f"y{k}", rank + 1, lanes=n, bits=8 if n else 0) for k, n in enumerate(lanes)
    ]
    design = lone(Promote(level, outermost, len(outs)), [draw.channel("x", rank)], outs)
    expected = {f"d_y{k}": to_beats(y, rank + 1) for k in range(len(outs))}
    verify(design, {"s_x": to_beats(x, rank)}, expected, draw.stalls(design))
