import pytest
from drawn import Draw, to_beats, verify
from harness import lone
from seeds import some_slow

from stepgen.hw.design.table import Channel
from stepgen.hw.units.fork.params import Fork
from stepgen.ir.errors import StepError


@pytest.mark.parametrize("seed", some_slow(range(12), 3))
def test_copies(seed):
    draw = Draw(seed)
    outer, copies, slices = draw.one((0, 1, 2)), draw.one((1, 2, 4)), draw.one((1, 2))
    dims = [(0, 1, 4, 9)] + [(0, 1, 2, 3)] * outer
    x = draw.nested(dims, lambda: draw.tile(draw.one((0, 1, 3)), slices))
    rank = 2 + outer
    # An output without lanes gets the structure alone.
    lanes = [draw.one((2, 2, 0)) for _ in range(copies)]
    outs = [draw.channel(f"y{k}", rank, lanes=n, bits=8 if n else 0) for k, n in enumerate(lanes)]
    design = lone(Fork(copies), [draw.channel("x", rank)], outs)
    beats = to_beats(x, rank)
    expected = {f"d_y{k}": beats for k in range(copies)}
    verify(design, {"s_x": beats}, expected, draw.stalls(design))


@pytest.mark.parametrize(
    ("x", "ys", "message"),
    [
        ((2, 8, 3), [], "it needs at least 1 branch, not 0"),
        ((1, 8, None), [(1, 8, 0)], "x must be a stream with stops, not raw words"),
        ((2, 8, 3), [(2, 8, 3), (2, 8, 2)], "y_1 must be of rank 3 "),
        ((2, 8, 3), [(2, 8, 3), (4, 8, 3)], "y_1 must be of rank 3 "),
    ],
)
def test_what_can_not_be_built(x, ys, message):
    outs = [Channel(f"y{k}", *y) for k, y in enumerate(ys)]
    with pytest.raises(StepError, match=f"^design lone: fork dut: {message}"):
        lone(Fork(len(ys)), [Channel("x", *x)], outs)
