import numpy as np
import pytest
from drawn import Draw, to_beats, verify
from harness import lone
from seeds import some_slow

from stepgen.hw.design.table import Channel
from stepgen.hw.units.one_hot.params import OneHot
from stepgen.ir.errors import StepError


def split(nested, depth: int):
    """Every selector of a nested list as the list of its bits, each a selector."""
    if depth:
        return [split(item, depth - 1) for item in nested]
    return list(np.eye(len(nested), dtype=bool)[nested])


@pytest.mark.parametrize("seed", some_slow(range(16), 4))
def test_one_for_each_bit(seed):
    draw = Draw(seed)
    bits, rank = draw.one((1, 2, 3, 8, 19)), draw.one((0, 1, 2))
    share = draw.one((0.1, 0.5, 1))
    nested = draw.nested([(0, 1, 2, 5)] * (rank + 1), lambda: draw.flags(bits, share))
    design = lone(
        OneHot(bits),
        [draw.channel("x", rank, lanes=bits, bits=1)],
        [draw.channel("y", rank + 1, lanes=bits, bits=1)],
    )
    verify(
        design,
        {"s_x": to_beats(nested, rank, bool)},
        {"d_y": to_beats(split(nested, rank + 1), rank + 1, bool)},
        draw.stalls(design),
    )


@pytest.mark.parametrize(
    ("bits", "y", "message"),
    [
        (0, (4, 1, 2), "a selector must have at least 1 bit, not 0"),
        (3, (4, 1, 2), "x must be of rank 1 with 3 lanes of 1 bit, not of rank 1 with 4 lanes"),
        (4, (4, 1, 1), "y must be of rank 2 "),
    ],
)
def test_what_can_not_be_built(bits, y, message):
    with pytest.raises(StepError, match=f"^design lone: one_hot dut: {message}"):
        lone(OneHot(bits), [Channel("x", 4, 1, 1)], [Channel("y", *y)])
