import pytest
from drawn import Draw, to_beats, verify
from harness import lone
from seeds import some_slow

from stepgen.hw.units.discard.params import Discard


@pytest.mark.parametrize("seed", some_slow(range(6), 3))
def test_the_run_lasts_until_the_end_of_the_stream(seed):
    draw = Draw(seed)
    x = draw.nested([(1, 4, 20), (0, 1, 3)], lambda: draw.tile(draw.one((0, 1, 2)), 2))
    design = lone(Discard(), [draw.channel("x", 3)], [])
    verify(design, {"s_x": to_beats(x, 3)}, {}, draw.stalls(design))
