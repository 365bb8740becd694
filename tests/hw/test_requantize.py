from fractions import Fraction

import numpy as np
import pytest
from compiled import Compiled, Simulated
from drawn import Draw, to_beats, verify
from harness import check, lone
from seeds import one_seed_each

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.hw.arithmetic.circuits.lane import Lane
from stepgen.hw.arithmetic.operations import Operation
from stepgen.hw.arithmetic.pipeline import Pipeline, written
from stepgen.hw.arithmetic.scaling import plan
from stepgen.hw.design.table import Channel
from stepgen.hw.units.pcu.params import Pcu
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls

BITS = {"int8": 8, "int16": 16}


def by(to: str) -> Pipeline:
    return Pipeline(("int32", "int32", "int8"), (Operation("requantize_by", (0, 1, 2), to),))


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


def requantize(multiplier: int, shift: int, to: str = "int8") -> Pcu:
    return Pcu(("int32",), (Operation("requantize", (0,), to, (multiplier, shift)),))


def reference(x: int, multiplier: int, shift: int, to: str) -> int:
    """Exact, in rational numbers; Python rounds ties to even."""
    most = 2 ** (BITS[to] - 1) - 1
    return max(-most - 1, min(most, round(Fraction(x * multiplier, 2**shift))))


def halves(to: str) -> np.ndarray:
    """Results and halves between them, twice as large: the smallest ones, and around the ends."""
    ends = np.arange(-6, 7) + np.array([[-(2 ** BITS[to])], [2 ** BITS[to]]])
    return np.array([*range(-262, 263), *ends.ravel()])


def values(draw: Draw, multiplier: int, shift: int, count: int, to: str) -> np.ndarray:
    """Values around many rounding and saturation boundaries, extremes, and small and large ones."""
    step = Fraction(2**shift, multiplier)
    edges = [int(step * Fraction(int(q), 2)) for q in halves(to)]
    near = [edge + d for edge in edges for d in (-1, 0, 1)]
    drawn = [int(draw.rng.integers(-(1 << b), 1 << b)) for b in range(1, 32) for _ in range(4)]
    pool = [v for v in near + drawn if -(2**31) <= v < 2**31]
    picked = [int(v) for v in draw.rng.choice(np.array(pool), count - 4)]
    return np.array([*picked, -(2**31), 2**31 - 1, 0, -1], np.int32)


@pytest.mark.parametrize(("to", "scale"), one_seed_each(BITS, CASES))
def test_scales_rounds_and_saturates(scale, to):
    multiplier, shift = scale
    draw = Draw(shift)
    lanes, rows = 4, 60
    x = values(draw, multiplier, shift, lanes * rows, to)
    y = np.array([reference(int(v), multiplier, shift, to) for v in x], to)
    params = requantize(multiplier, shift, to)
    design = lone(
        params,
        [draw.channel("x", 3, lanes=lanes, bits=32)],
        [draw.channel("y", 3, lanes=lanes, bits=BITS[to], delay=params.delay(lanes))],
        lanes=lanes,
    )

    def nested(data):
        tiles = data.reshape(-1, 5, 2, lanes)
        return [[], [[]], [list(map(list, t)) for t in tiles], [[], list(map(list, tiles[0]))]]

    inputs = {"s_x": to_beats(nested(x), 3, np.int32)}
    verify(design, inputs, {"d_y": to_beats(nested(y), 3, y.dtype)}, draw.stalls(design))


@pytest.mark.parametrize("to", BITS)
@pytest.mark.parametrize(("multiplier", "shift"), CASES)
def test_a_clamped_value_saturates_in_any_case(multiplier, shift, to):
    scale = plan(multiplier, shift, BITS[to])
    most = 2 ** (scale.clamp_bits - 1) - 1
    if scale.clamp_bits < 32:
        assert reference(most, multiplier, shift, to) == 2 ** (BITS[to] - 1) - 1
        assert reference(-most, multiplier, shift, to) == -(2 ** (BITS[to] - 1))
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


def scaled(rng: np.random.Generator, count: int, to: str) -> tuple[np.ndarray, ...]:
    """Numbers, multipliers and shifts, most of them around a boundary of rounding or saturation."""
    few = np.array([0, 1, 2, 3, 5, 127, 128, 129, 16384, 32766, 32767])
    multiplier = np.where(
        rng.random(count) < 0.3, rng.choice(few, count), rng.integers(0, 1 << 15, count)
    )
    shift = rng.integers(0, 32, count)
    half = rng.choice(halves(to), count) * np.exp2(shift - 1.0)
    near = np.rint(half / np.maximum(multiplier, 1)) + rng.integers(-1, 2, count)
    size = np.exp2(rng.integers(0, 32, count))
    any_size = np.floor(rng.uniform(-1, 1, count) * size)
    x = np.where(rng.random(count) < 0.6, near, any_size)
    x = np.where(rng.random(count) < 0.02, rng.choice([-(2.0**31), 2.0**31 - 1], count), x)
    return np.clip(x, -(2**31), 2**31 - 1).astype(np.int64), multiplier, shift


def exact(x: np.ndarray, multiplier: np.ndarray, shift: np.ndarray, to: str) -> np.ndarray:
    """In f64, which holds the products; numpy rounds ties to even."""
    most = 2 ** (BITS[to] - 1) - 1
    return np.clip(np.rint(x * multiplier / np.exp2(shift)), -most - 1, most).astype(to)


def by_its_own(to: str, count: int, circuit: Compiled | Simulated) -> np.ndarray:
    """Compare results, of which there is one in each cycle; what lies above 15 and 5 bits is junk.

    Returns the right ones.
    """
    rng = np.random.default_rng(5)
    x, multiplier, shift = scaled(rng, count, to)
    y = exact(x, multiplier, shift, to)
    assert {*shift} == {*range(32)}
    junk = rng.integers(0, 1 << 17, len(x))
    words = {"x0": x, "x1": multiplier | junk << 15, "x2": (shift | junk << 5) & 255}
    seen = circuit.run(words, {"y": by(to).stages})["y"].astype(f"u{to}").view(to)
    off = np.flatnonzero(seen != y)
    assert [(x[k], multiplier[k], shift[k], seen[k], y[k]) for k in off[:5]] == []
    return y


@pytest.mark.slow
@pytest.mark.parametrize("to", BITS)
def test_by_a_multiplier_and_a_shift_of_its_own(to, tmp_path):
    circuit = Compiled(Lane(by(to)), ("x0", "x1", "x2"), ("y",), tmp_path)
    y = by_its_own(to, 400_000, circuit)
    assert {*y} >= {*(halves(to) // 2)} & {*range(-(2 ** (BITS[to] - 1)), 2 ** (BITS[to] - 1))}


@pytest.mark.parametrize("to", BITS)
def test_some_by_a_multiplier_and_a_shift_of_their_own(to):
    y = by_its_own(to, 2000, Simulated(Lane(by(to)), ("x0", "x1", "x2"), ("y",)))
    assert {*y} >= {*(-(2 ** (BITS[to] - 1)) + np.arange(2)), 0, 2 ** (BITS[to] - 1) - 1}


@pytest.mark.parametrize(
    ("columns", "of_multiplier", "of_shift"),
    one_seed_each((5, 4, 1), ("C", "R", "RC", ""), ("C", "R", "RC", "")),
)
def test_scales_of_columns_rows_and_tiles(of_multiplier, of_shift, columns):
    rng = np.random.default_rng([len(of_multiplier), len(of_shift), columns])
    to = str(rng.choice([*BITS]))
    count, most = int(rng.integers(1, 5)), 4
    rows = rng.choice([3, sg.ragged("R", bound=most)])
    extents = np.full(count, rows) if isinstance(rows, int) else rng.integers(0, most + 1, count)
    g, inputs = sg.Graph("scaled"), {}
    given = {"x": ("RC", sg.int32), "m": (of_multiplier, sg.int32), "s": (of_shift, sg.int8)}
    for name, (side, element) in given.items():
        cols = columns if "C" in side else 1
        tile = sg.Tile(rows if "R" in side else 1, cols, element)
        g.input(name, tile, (count,))
        sizes = [(int(n) if "R" in side else 1, cols) for n in extents]
        drawn = [scaled(rng, n * c, to)["xms".index(name)].reshape(n, c) for n, c in sizes]
        inputs[name] = [d.astype(element.name) for d in drawn]
    g.output(g.inputs["x"].map(sg.fn.requantize_by(to=to), g.inputs["m"], g.inputs["s"]), "y")
    stalls = Stalls(columns, {name: float(rng.choice([0, 0.3, 0.7])) for name in "xmsy"})
    experiment = Experiment(g, inputs, lanes=2, stalls=stalls)
    expected = {"y": experiment.reference.beats("y", 2)}
    check(experiment.design, experiment.beats, expected, stalls, aborts=[int(rng.integers(20))])


def test_two_numbers_or_two_lanes():
    tiles = [sg.int32[1, 4], sg.int32[1, 4], sg.int8[1, 4]]
    assert written(lambda x, m, s: x.requantize(m, s), tiles) == by("int8")
    assert written(lambda x, m, s: x.requantize(m, s, sg.int16), tiles) == by("int16")
    for given in (lambda x, m, s: x.requantize(m, 3), lambda x, m, s: x.requantize(3, s)):
        with pytest.raises(StepError, match="two numbers or two lanes, not one of each"):
            written(given, tiles)
