"""Converters: the published examples, and drawn pairs against brute force."""

from __future__ import annotations

import random
from itertools import product
from math import prod

import pytest

import stepgen as sg
from stepgen.ir.converter import Converter, converter
from stepgen.ir.itensor import Itensor

Loops = tuple[int | None, ...]


def made(
    tile: tuple[int, ...],
    trips: tuple[int, ...],
    steps: tuple[int, ...],
    walks: Loops,
    element: sg.ElementType = sg.f32,
) -> Itensor:
    """A type with a loop, or none, for each dim of the data."""
    map = [() if walk is None else (walk,) for walk in walks]
    return Itensor(tile, element, tuple(zip(trips, steps, strict=True)), map)


def found(source: Itensor, target: Itensor) -> Converter:
    """The converter of two types that differ."""
    answer = converter(source, target)
    assert answer is not None
    return answer


A = made((2, 2), (4, 4), (2, 2), (0, 1))
B = made((4, 2), (4, 2), (2, 4), (1, 0))
C = made((4, 2), (4, 2, 2), (2, 1, 4), (2, 0))


def test_the_published_example() -> None:
    assert converter(B, B) is None
    c = found(B, C)
    assert (c.buffer, c.segments, c.bits) == ((8, 2), 4, 2 * 8 * 2 * 32)
    assert c.cycles() == (2, 18)
    assert found(C, B).buffer == (8, 2)
    assert found(A, B).buffer == found(A, C).buffer == (8, 8)


def test_rows_that_are_read_again() -> None:
    rows = made((16, 16), (4, 4), (16, 16), (0, 1), sg.int8)
    again = made((16, 16), (4, 4, 4), (16, 1, 16), (0, 2), sg.int8)
    c = found(rows, again)
    assert (c.buffer, c.segments, c.bits) == ((16, 64), 4, 16384)
    assert (c.cycles(), c.cycles(write=4)) == ((4, 68), (16, 80))
    columns = made((16, 16), (4, 4), (16, 16), (1, 0), sg.int8)
    assert found(rows, columns).buffer == (64, 64)
    assert found(columns, made((16, 16), (4, 4, 4), (16, 1, 16), (2, 0), sg.int8)).buffer == (
        64,
        16,
    )


def test_a_nest_of_five_loops() -> None:
    def one(trips: tuple[int, ...], walks: Loops) -> Itensor:
        return made((1,) * 5, trips, (1,) * len(trips), walks)

    c = found(one((2, 3, 4, 5, 6), (0, 1, 2, 3, 4)), one((2, 3, 4, 3, 6, 5), (0, 1, 2, 5, 4)))
    assert (c.buffer, c.segments) == ((1, 1, 1, 5, 6), 24)


@pytest.mark.parametrize(
    ("a", "b", "shape", "buffer"),
    [
        ((16, 16), (32, 32), (64, 64), (32, 64)),
        ((12, 8), (8, 8), (48, 24), (24, 24)),
        ((16, 16), (16, 32), (64, 64), (16, 32)),
    ],
)
def test_tiles_that_differ(
    a: tuple[int, int], b: tuple[int, int], shape: tuple[int, int], buffer: tuple[int, int]
) -> None:
    def order(tile: tuple[int, int]) -> Itensor:
        trips = (shape[0] // tile[0], shape[1] // tile[1])
        return made(tile, trips, tile, (0, 1))

    assert found(order(a), order(b)).buffer == buffer


def by_brute_force(source: Itensor, target: Itensor) -> int:
    """Elements of the largest part, where both orders bring the tensor in most equal parts."""

    def cells(order: Itensor) -> list[frozenset[tuple[int, ...]]]:
        return [
            frozenset(product(*(range(a, a + e) for a, e in zip(at, order.tile, strict=True))))
            for at in order.offsets()
        ]

    one, other = cells(source), cells(target)
    for parts in range(min(len(one), len(other)), 0, -1):
        if len(one) % parts or len(other) % parts:
            continue
        a, b = len(one) // parts, len(other) // parts
        sets = [frozenset().union(*one[i * a : (i + 1) * a]) for i in range(parts)]
        if sets == [frozenset().union(*other[i * b : (i + 1) * b]) for i in range(parts)]:
            return max(map(len, sets))
    raise AssertionError("the orders are of different tensors")


def drawn(rng: random.Random, shape: tuple[int, ...]) -> Itensor:
    """Exact tiles in loops of any order, often with one that repeats."""
    tile = [rng.choice([n for n in (1, 2, 3, 4, 6, 8, 12) if extent % n == 0]) for extent in shape]
    dims = list(range(len(shape)))
    rng.shuffle(dims)
    loops = [(shape[d] // tile[d], tile[d]) for d in dims]
    walks = [dims.index(d) for d in range(len(shape))]
    if rng.random() < 0.4:
        place = rng.randint(0, len(dims))
        loops.insert(place, (rng.choice([2, 3]), 1))
        walks = [i + (i >= place) for i in walks]
    return Itensor(tile, "f32", loops, [(i,) for i in walks])


@pytest.mark.parametrize("count", [150, pytest.param(1500, marks=pytest.mark.slow)])
def test_drawn_pairs_against_brute_force(count: int) -> None:
    rng, converters = random.Random(count), 0
    for _ in range(count):
        shape = tuple(rng.choice([4, 6, 8, 12]) for _ in range(rng.choice([1, 2, 2, 3])))
        a, b = drawn(rng, shape), drawn(rng, shape)
        c = converter(a, b)
        if c is None:
            assert [*a.offsets()] == [*b.offsets()]
            continue
        assert prod(c.buffer) == by_brute_force(a, b), (str(a), str(b))
        converters += 1
    assert converters > 0.9 * count


def test_outer_loops_that_a_run_decides_are_shared() -> None:
    rows = Itensor((8, 4), "bf16", (("L0", 32), (4, 8), (8, 4)), ((0, 1), (2,)))
    columns = Itensor((8, 4), "bf16", (("L0", 32), (8, 4), (4, 8)), ((0, 2), (1,)))
    c = found(rows, columns)
    assert (c.buffer, c.bits) == ((32, 32), 2 * 32 * 32 * 16)
    inside = Itensor((8, 4), "bf16", ((8, 4), ("L0", 32), (4, 8)), ((1, 2), (0,)))
    with pytest.raises(sg.StepError, match="a buffer can't hold a dim of L0 that is known only at"):
        converter(rows, inside)


MISTAKES = {
    "a converter needs two orders of one tensor": made((4, 2), (2, 2), (4, 2), (0, 1)),
    "two orders of one tensor, not": made((4, 2), (4, 2), (2, 4), (1, 0), sg.int8),
    "a converter needs tiles side by side, but those of .* are overlapped": made(
        (4, 4), (3, 2), (2, 4), (1, 0)
    ),
    "side by side, but those of .* are gapped": made((4, 2), (3, 2), (3, 4), (1, 0)),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_print_both_types(message: str) -> None:
    other = MISTAKES[message]
    with pytest.raises(sg.StepError, match=message) as raised:
        converter(B, other)
    assert str(B) in str(raised.value)
    assert str(other.canonical) in str(raised.value)
