"""What flags choose, and flags and selectors combined: model and circuit against numpy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drawn import raises_error
from harness import beats, check, lone
from seeds import one_seed_each

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Channel
from stepgen.hw.units.logic.params import Logic
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.semantics import numbers

LANES = 2
COMBINE: dict[str, Any] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
    "not": np.logical_not,
}
TYPES = {
    **{name: np.dtype(name) for name in ("int8", "int16", "int32", "bool")},
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
}


def agrees(graph: sg.Graph, inputs: dict[str, Any], expected: list[Any], seed: int) -> None:
    """Compare reference, model and circuit of a program with the output y, under stalls."""
    rng = np.random.default_rng(seed)
    stalls = Stalls(seed, {name: float(rng.choice([0, 0.3, 0.7])) for name in (*inputs, "y")})
    run = Experiment(graph, inputs, lanes=LANES, stalls=stalls)
    found = run.reference.nested("y")
    assert len(found) == len(expected)
    for made, due in zip(found, expected, strict=True):
        assert made.tobytes() == due.astype(made.dtype).tobytes()
    due = {"y": run.reference.beats("y", LANES)}
    check(run.design, run.beats, due, stalls, aborts=[int(rng.integers(20))])


def bits(rng: np.random.Generator, size: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Any numbers, of floats NaNs and infinities too."""
    if dtype == np.bool_:
        return rng.random(size) < 0.5
    drawn = np.frombuffer(rng.bytes(int(np.prod(size)) * dtype.itemsize), dtype).reshape(size)
    return numbers.canonical(drawn)


@pytest.mark.parametrize(("seed", "element"), one_seed_each(range(12), TYPES))
def test_flags_choose(element: str, seed: int) -> None:
    """Elements, rows, columns or tiles; whatever is not chosen leaves no trace."""
    rng = np.random.default_rng([seed, len(element)])
    count, rows, cols = (int(n) for n in rng.integers((1, 1, 1), (5, 4, 6)))
    g = sg.Graph("choose")
    tiles = {"flags": "bool", "a": element, "b": element}
    given, streams = {}, {}
    for name, kind in tiles.items():
        r, c = (int(rng.choice([n, n, 1])) for n in (rows, cols))
        streams[name] = g.input(name, getattr(sg, kind.replace("bool", "bool_"))[r, c], (count,))
        given[name] = bits(rng, (count, r, c), TYPES[kind])
    number = int(rng.integers(-100, 100))
    left = {} if element == "bool" else {0: "then", 1: "otherwise"}
    constant = left.get(int(rng.integers(4)))
    chosen = [given["a"], given["b"]]
    fn, others = sg.fn.where(), [streams["a"], streams["b"]]
    if constant:
        place = int(constant == "otherwise")
        chosen[place] = np.full((1, 1, 1), number, TYPES[element])
        fn = sg.fn.where(**{constant: number})
        del given["ab"[place]], others[place]
        g = sg.Graph("choose")
        named = {name: streams[name].dtype for name in given}
        flags, *others = (g.input(name, dtype, (count,)) for name, dtype in named.items())
        g.output(flags.map(fn, *others), "y")
    else:
        g.output(streams["flags"].map(fn, *others), "y")
    agrees(g, given, list(np.where(given["flags"], *chosen)), seed)


@pytest.mark.parametrize("size", [(1, 1), (3, 5)])
def test_flags_choose_between_two_numbers(size: tuple[int, int]) -> None:
    g, flags = sg.Graph("numbers"), np.random.default_rng(0).random((4, *size)) < 0.5
    fn = sg.fn.where(0, -np.inf, "bf16")
    g.output(g.input("x", sg.bool_[size], (4,)).map(fn), "y")
    agrees(g, {"x": flags}, list(np.where(flags, 0.0, -np.inf)), 0)


@pytest.mark.parametrize("word", COMBINE)
@pytest.mark.parametrize("size", [(), (1, 1), (2, 5)], ids=["selectors", "single", "tiles"])
def test_bits_are_combined(word: str, size: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    count, operands = 5, 1 if word == "not" else 2
    dtype: Any = sg.bool_[size] if size else sg.Selector(3)
    given = {f"x{n}": rng.random((count, *(size or (3,)))) < 0.5 for n in range(operands)}
    g = sg.Graph("combined")
    first, *others = (g.input(name, dtype, (count,)) for name in given)
    g.output(first.map(getattr(sg.fn, f"logical_{word}")(), *others), "y")
    agrees(g, given, list(COMBINE[word](*given.values())), len(word))


def test_flags_and_a_single_one_are_combined() -> None:
    """The single one is repeated, as in numpy."""
    rng = np.random.default_rng(4)
    given = {"x": rng.random((3, 2, 3)) < 0.5, "one": rng.random((3, 1, 1)) < 0.5}
    g = sg.Graph("repeated")
    x, one = g.input("x", sg.bool_[2, 3], (3,)), g.input("one", sg.bool_[1, 1], (3,))
    g.output(one.map(sg.fn.logical_xor(), x), "y")
    agrees(g, given, list(given["x"] ^ given["one"]), 1)


def test_chunks_without_elements_pass() -> None:
    g = sg.Graph("empty")
    one, other = (g.input(n, sg.Selector(2), (3, sg.ragged("K", bound=2))) for n in "ab")
    g.output(one.map(sg.fn.logical_or(), other), "y")
    given = {"a": [[[1, 0]], [], [[0, 0], [0, 1]]], "b": [[[0, 0]], [], [[0, 1], [0, 1]]]}
    run = Experiment(g, given, lanes=LANES)
    check(run.design, run.beats, {"y": run.reference.beats("y", LANES)})
    assert [len(chunk) for chunk in run.reference.nested("y")] == [1, 0, 2]


@pytest.mark.parametrize(("second", "wrong"), [([([1, 0], 0)], False), ([("bare", 1, 1)], True)])
def test_beats_that_do_not_belong_together_are_reported(second: list[Any], wrong: bool) -> None:
    ports = [Channel(name, 2, 1, 1, 9) for name in ("x_0", "x_1", "y")]
    design = lone(Logic("and", 2), ports[:2], ports[2:])
    first = beats([([1, 1], 0)], 2, np.bool_)
    given = {"s_x_0": first, "s_x_1": beats(second, 2, np.bool_)}
    assert raises_error(design, given, limit=40) is wrong


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (Logic("nand", 1), "there is no operation nand of bits"),
        (Logic("not", 0), "a selector must have at least 1 bit, not 0"),
        (Logic("not", 3), "x must be of rank 1 with 3 lanes of 1 bit"),
    ],
)
def test_what_can_not_be_built(unit: Logic, message: str) -> None:
    with pytest.raises(StepError, match=message):
        lone(unit, [Channel("x", 2, 1, 1, 9)], [Channel("y", 2, 1, 1, 9)])
