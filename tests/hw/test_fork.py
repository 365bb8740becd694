import pytest
from drawn import Draw, to_beats, verify
from harness import lone


@pytest.mark.parametrize("seed", range(12))
def test_copies(seed):
    draw = Draw(seed)
    outer, copies, slices = draw.one((0, 1, 2)), draw.one((1, 2, 4)), draw.one((1, 2))
    dims = [(0, 1, 4, 9)] + [(0, 1, 2, 3)] * outer
    x = draw.nested(dims, lambda: draw.tile(draw.one((0, 1, 3)), slices))
    rank = 2 + outer
    # An output without lanes gets the structure alone.
    outs = [draw.channel(f"y{k}", rank, lanes=draw.one((2, 2, 0))) for k in range(copies)]
    design = lone("fork", {}, [draw.channel("x", rank)], outs)
    beats = to_beats(x, rank)
    expected = {f"d_y{k}": beats for k in range(copies)}
    verify(design, {"s_x": beats}, expected, draw.stalls(design))
