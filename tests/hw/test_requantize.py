from fractions import Fraction

import numpy as np
import pytest
from drawn import Draw, to_beats, verify
from harness import lone

from stepgen.hw.arithmetic.operations import Operation
from stepgen.hw.arithmetic.scaling import plan
from stepgen.hw.design.table import Channel
from stepgen.hw.units.pcu.params import Pcu
from stepgen.ir.errors import StepError

CASES = [
    (1, 0),
    (1, 1),
    (1, 7),
    (1, 31),
    (2, 1),
    (4, 0),
    (64, 9),
    (3, 0),
    (3, 31),
    (19661, 22),
    (32767, 15),
    (32767, 31),
    (20000, 30),
]


def requantize(multiplier: int, shift: int) -> Pcu:
    return Pcu(("int32",), (Operation("requantize", (0,), "int8", (multiplier, shift)),))


def reference(x: int, multiplier: int, shift: int) -> int:
    """Exact, in rational numbers; Python rounds ties to even."""
    return max(-128, min(127, round(Fraction(x * multiplier, 2**shift))))


def values(draw: Draw, multiplier: int, shift: int, count: int) -> np.ndarray:
    """Values around every rounding and saturation boundary, extremes, and small and large ones."""
    step = Fraction(2**shift, multiplier)
    edges = [int(step * Fraction(q, 2)) for q in range(-262, 263)]
    near = [edge + d for edge in edges for d in (-1, 0, 1)]
    drawn = [int(draw.rng.integers(-(1 << b), 1 << b)) for b in range(1, 32) for _ in range(4)]
    pool = [v for v in near + drawn if -(2**31) <= v < 2**31]
    picked = [int(v) for v in draw.rng.choice(np.array(pool), count - 4)]
    return np.array([*picked, -(2**31), 2**31 - 1, 0, -1], np.int32)


@pytest.mark.parametrize(("multiplier", "shift"), CASES)
def test_scales_rounds_and_saturates(multiplier, shift):
    draw = Draw(shift)
    lanes, rows = 4, 60
    x = values(draw, multiplier, shift, lanes * rows)
    y = np.array([reference(int(v), multiplier, shift) for v in x], np.int8)
    params = requantize(multiplier, shift)
    design = lone(
        params,
        [draw.channel("x", 3, lanes=lanes, bits=32)],
        [draw.channel("y", 3, lanes=lanes, delay=params.delay(lanes))],
        lanes=lanes,
    )

    def nested(data):
        tiles = data.reshape(-1, 5, 2, lanes)
        return [[], [[]], [list(map(list, t)) for t in tiles], [[], list(map(list, tiles[0]))]]

    inputs = {"s_x": to_beats(nested(x), 3, np.int32)}
    verify(design, inputs, {"d_y": to_beats(nested(y), 3)}, draw.stalls(design))


@pytest.mark.parametrize(("multiplier", "shift"), CASES)
def test_a_clamped_value_saturates_in_any_case(multiplier, shift):
    scale = plan(multiplier, shift)
    most = 2 ** (scale.clamp_bits - 1) - 1
    if scale.clamp_bits < 32:
        assert reference(most, multiplier, shift) == 127
        assert reference(-most, multiplier, shift) == -128
    assert (scale.multipliers == 0) == (multiplier & (multiplier - 1) == 0)


@pytest.mark.parametrize(
    ("multiplier", "shift", "x", "y", "message"),
    [
        (0, 1, (2, 32, 3), (2, 8, 3), "requantize: the multiplier must be at least 1, not 0"),
        (1, -1, (2, 32, 3), (2, 8, 3), "requantize: the shift must be at least 0, not -1"),
        (1, 1, (2, 8, 3), (2, 8, 3), "x must be of rank 3 with 2 lanes of 32 bits, not of rank 3"),
        (1, 1, (4, 32, 3), (2, 8, 3), "x must be of rank 3 with 2 lanes of 32 bits, not of rank 3"),
        (1, 1, (2, 32, None), (2, 8, 3), "x must be of rank 0 with 2 lanes of 32 bits, not raw"),
        (1, 1, (2, 32, 3), (2, 8, 2), "y must be of rank 3 with 2 lanes of 8 bits 2 cycles late"),
        (3, 1, (2, 32, 3), (2, 8, 3), "y must be of rank 3 with 2 lanes of 8 bits 6 cycles late"),
    ],
)
def test_what_can_not_be_built(multiplier, shift, x, y, message):
    with pytest.raises(StepError, match=f"^design lone: pcu dut: (operation 0, )?{message}"):
        lone(requantize(multiplier, shift), [Channel("x", *x)], [Channel("y", *y, delay=2)])
