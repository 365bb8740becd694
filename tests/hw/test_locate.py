"""Where the largest and the smallest element is: model and circuit against numpy."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drawn import raises_error
from harness import beats, check, lone
from seeds import others_slow

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Channel
from stepgen.hw.units.locate.params import Locate
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.timing.model import Fault, predict

TYPES: dict[str, Any] = {
    **{name: np.dtype(name) for name in ("int8", "int16", "int32")},
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
}
WAYS = {"argmax": np.argmax, "argmin": np.argmin}


def numbered(rng: np.random.Generator, size: tuple[int, ...], element: str) -> Any:
    """Few different numbers, so that some are equal; of floats both zeros and NaNs."""
    if element.startswith("int"):
        limits = np.iinfo(TYPES[element])
        return rng.choice([limits.min, -1, 0, 1, limits.max], size).astype(TYPES[element])
    return rng.choice([-np.inf, -1, -0.0, 0.0, 2, np.inf, np.nan], size).astype(TYPES[element])


def place(way: str, row: Any) -> int:
    """By sorting: numbers by value and sign of zeros, then NaNs, then by place."""
    sign = -1 if way == "argmax" else 1
    keys = [
        (bool(np.isnan(x)), 0.0 if np.isnan(x) else sign * x, 0 if x else -sign * np.signbit(x), n)
        for n, x in enumerate(np.asarray(row, np.float64).ravel())
    ]
    return min(keys)[3]


@pytest.mark.parametrize(
    ("lanes", "element"),
    others_slow(product((1, 4), TYPES), [(4, "int8"), (1, "bf16")]),
)
def test_reference_model_and_circuit_agree_with_sorting(element: str, lanes: int) -> None:
    """Of rows, of the rows of tiles, and of rows that come as slices."""
    rng = np.random.default_rng([lanes, len(element)])
    columns, dtype = (5, 8, 3)[lanes % 3], getattr(sg, element)
    g = sg.Graph("located")
    x = g.input("x", dtype[1, columns], (4, 3))
    tiles = g.input("tiles", dtype[2, columns], (5,))
    given = {
        "x": numbered(rng, (4, 3, 1, columns), element),
        "tiles": numbered(rng, (5, 2, columns), element),
    }
    due = {}
    for way in WAYS:
        fn, each = getattr(sg.fn, way), [place(way, row) for row in given["x"].reshape(12, -1)]
        whole = [place(way, rows) for rows in given["x"]]
        made = {
            "address": (x.map(fn()), each),
            "number": (x.map(fn("int32")), each),
            "rows": (
                tiles.map(fn("int32")),
                [place(way, r) for r in given["tiles"].reshape(10, -1)],
            ),
            "slices": (x.accum(fn(), rank=1), whole),
            "sliced": (x.accum(fn("int32"), rank=1), whole),
            "all": (x.promote().accum(fn(), rank=2), [place(way, given["x"])]),
        }
        for name, (stream, numbers) in made.items():
            g.output(stream, f"{way}_{name}")
            due[f"{way}_{name}"] = numbers
    stalls = Stalls(lanes, {"x": 0.3, "argmax_address": 0.6, "argmin_slices": 0.4})
    run = Experiment(g, given, lanes=lanes, stalls=stalls)
    for name, numbers in due.items():
        assert np.ravel(run.reference.nested(name)).tolist() == numbers, name
    wanted = {name: run.reference.beats(name, lanes) for name in due}
    check(run.design, run.beats, wanted, stalls, aborts=[11])


@pytest.mark.slow
def test_a_row_wider_than_any_selector() -> None:
    columns = 20_000
    g = sg.Graph("wide")
    g.output(g.input("x", sg.int16[1, columns], (2,)).map(sg.fn.argmax()), "y")
    x = np.zeros((2, 1, columns), np.int16)
    x[0, 0, 19_000:] = 5
    run = Experiment(g, {"x": x}, lanes=8)
    assert np.ravel(run.reference.nested("y")).tolist() == [19_000, 0]
    check(run.design, run.beats, {"y": run.reference.beats("y", 8)}, None)
    assert run.prediction.cycles < 2 * columns / 8 + 100


def test_empty_groups_within_a_chunk_count_nothing_and_a_chunk_needs_an_element() -> None:
    g = sg.Graph("ragged")
    x = g.input("x", sg.int8[1, 2], (2, 2, sg.ragged("K", bound=3)))
    g.output(x.accum(sg.fn.argmin(), rank=2), "y")
    row = [[[3, 4]], [[4, 2]]]
    run = Experiment(g, {"x": [[[], row], [row, []]]}, lanes=2)
    assert np.ravel(run.reference.nested("y")).tolist() == [3, 3]
    check(run.design, run.beats, {"y": run.reference.beats("y", 2)}, None)
    message = r"accum_0 \(test_locate.py:\d+\): argmin\(to=address\) folds an empty chunk, which"
    with pytest.raises(StepError, match=message):
        Experiment(g, {"x": [[[], []], [row, []]]}, lanes=2).reference.nested("y")


def alone(params: Locate, rank: int, bits: int = 9) -> Any:
    """A unit with beats of two lanes."""
    y = Channel("y", 1, bits, rank - params.lowered, 5, params.delay(2))
    return lone(params, [Channel("x", 2, 8, rank, 5)], [y])


def test_places_that_do_not_fit_the_wires_are_all_ones() -> None:
    design = alone(Locate("int8", "address", 6, 2, smallest=False), 2, bits=2)
    given = {"s_x": beats([([0, 0], 0), ([0, 0], 0), ([0, 1], 2)], 2, np.int8)}
    check(design, given, {"d_y": beats([([3], 0)], 1, np.uint64)}, None)


@pytest.mark.parametrize(
    ("x", "wrong"),
    [
        ([([1, 0], 0), ([0, 0], 3)], False),
        ([([1, 0], 1), ([0, 0], 3)], True),
        ([("bare", 3, 3)], True),
    ],
)
def test_what_types_or_the_reference_exclude_is_an_error(x: Any, wrong: bool) -> None:
    design = alone(Locate("int8", "address", 3, 3, smallest=False), 3)
    given = {"s_x": beats(x, 2, np.int8)}
    assert raises_error(design, given, limit=40) is wrong
    if x[0][0] == "bare":
        with pytest.raises(Fault, match="dut gets a chunk of x without elements"):
            predict(design, {**given, "dut": beats([], 1, np.uint64)})


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (Locate("bool", "address", 3, 2, False), "bool is not a type of numbers"),
        (Locate("int8", "f32", 3, 2, False), "it makes addresses or int32, not f32"),
        (Locate("int8", "address", 0, 2, False), "a row needs at least 1 column, not 0"),
        (Locate("int8", "address", 3, 4, False), "x has no level 4"),
        (Locate("int16", "address", 3, 2, False), "x must be of rank 3 with 2 lanes of 16 bits"),
    ],
)
def test_what_can_not_be_built(unit: Locate, message: str) -> None:
    with pytest.raises(StepError, match=f"^design lone: locate dut: {message}"):
        lone(unit, [Channel("x", 2, 8, 3)], [Channel("y", 1, 9, 1, 5, unit.delay(2))])
