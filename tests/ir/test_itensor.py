"""Iterative tensor types: the published examples, brute force on drawn ones, and mistakes."""

from __future__ import annotations

import random
from itertools import product

import pytest

import stepgen as sg
from stepgen.ir.itensor import Itensor


def made(
    tile: tuple[int, ...],
    trips: tuple[int, ...],
    steps: tuple[int, ...],
    walks: tuple[int | None, ...],
) -> Itensor:
    """A type with a loop, or none, for each dim of the data."""
    map = [() if walk is None else (walk,) for walk in walks]
    return Itensor(tile, "f32", tuple(zip(trips, steps, strict=True)), map)


A = made((2, 2), (4, 4), (2, 2), (0, 1))
B = made((4, 2), (4, 2), (2, 4), (1, 0))
C = made((4, 2), (4, 2, 2), (2, 1, 4), (2, 0))


def test_the_published_types() -> None:
    assert [t.shape for t in (A, B, C)] == [(8, 8)] * 3
    assert [t.tokens for t in (A, B, C)] == [16, 8, 16]
    assert [t.repeats for t in (A, B, C)] == [(), (), (1,)]
    assert all(t.is_regular for t in (A, B, C))
    first = [*C.offsets()][:7]
    assert first == [(0, 0), (4, 0), (0, 0), (4, 0), (0, 2), (4, 2), (0, 2)]
    assert str(B) == "itensor<4x2xf32, iter_space [4, 2]*[2, 4], iter_map (d0, d1) -> (d1, d0)>"


@pytest.mark.parametrize(
    ("tile", "shape", "tilings"),
    [
        ((4, 4), (8, 10), ("exact", "overlapped")),
        ((4, 2), (8, 8), ("exact", "exact")),
        ((2, 2), (6, 8), ("gapped", "exact")),
        ((2, 1), (6, 7), ("gapped", "gapped")),
    ],
)
def test_tiles_against_steps(
    tile: tuple[int, int], shape: tuple[int, int], tilings: tuple[str, str]
) -> None:
    found = made(tile, (4, 2), (2, 4), (1, 0))
    assert (found.shape, found.tilings) == (shape, tilings)
    assert found.is_regular == (tile == (4, 2))


def test_vectors_make_sums_of_loops() -> None:
    found = B.vectorized((2, 2))
    assert [trips for trips, _ in found.loops] == [4, 2, 2, 1]
    assert found.map == ((1, 2), (0, 3))
    assert found.shape == (8, 8)
    assert found.tilings == ("exact", "exact")
    assert not found.is_regular
    assert [*found.offsets()][:3] == [(0, 0), (2, 0), (4, 0)]
    with pytest.raises(sg.StepError, match="vectors of 3x2 do not divide the tiles in itensor<4x2"):
        B.vectorized((3, 2))


def test_unit_loops_do_not_matter() -> None:
    more = Itensor((4, 2), "f32", ((1, 5), (4, 2), (1, 1), (2, 4)), ((0, 3), (1, 2)))
    assert more == B
    assert hash(more) == hash(B)
    assert more.canonical.loops == B.loops
    assert B not in (A, C, Itensor((4, 2), "bf16", B.loops, B.map), str(B))
    assert made((2,), (3, 2, 4), (1, 8, 2), (None,)) == made((2,), (24,), (1,), (None,))


def drawn(rng: random.Random) -> Itensor:
    """A type of 1 or 2 dims with up to 4 loops, whose maps may be sums."""
    rank = rng.choice([1, 2, 2])
    loops = tuple((rng.choice([1, 2, 2, 3]), rng.choice([1, 2, 3, 4, 6])) for _ in range(3))
    walks: list[list[int]] = [[] for _ in range(rank)]
    for number in range(len(loops)):
        if rng.random() < 0.75:
            rng.choice(walks).append(number)
    return Itensor([rng.choice([1, 2]) for _ in range(rank)], "int8", loops, walks)


def test_drawn_types_are_equal_where_their_streams_are() -> None:
    rng = random.Random(3)
    types = [drawn(rng) for _ in range(200)]
    streams = {id(t): (t.tile, *t.offsets()) for t in types}
    for a, b in product(types, types[:40]):
        assert (a == b) == (streams[id(a)] == streams[id(b)]), (str(a), str(b))
    for t in types:
        assert split(rng, t) == t


def split(rng: random.Random, t: Itensor) -> Itensor:
    """The same with one loop as two, and perhaps a loop of one trip."""
    number = rng.randrange(3)
    trips, step = t.loops[number]
    inner = rng.choice([n for n in range(1, trips + 1) if trips % n == 0])
    loops = [*t.loops]
    loops[number : number + 1] = [(trips // inner, step * inner), (inner, step)]
    map = [
        [j for i in used for j in (i + (i > number), i + 1)[: 1 + (i == number)]] for used in t.map
    ]
    return Itensor(t.tile, t.element, loops, map)


def test_drawn_types_tile_as_they_say() -> None:
    rng, seen = random.Random(4), set()
    for _ in range(300):
        t = drawn(rng)
        for dim, tiling in enumerate(t.tilings):
            starts = sorted({at[dim] for at in t.offsets()})
            used = [i for i in t.map[dim] if t.loops[i][0] > 1]
            places = 1
            for i in used:
                places *= t.trips[i]
            covered = [sum(s <= x < s + t.tile[dim] for s in starts) for x in range(t.shape[dim])]
            again = len(starts) < places
            want = "exact" if set(covered) == {1} else "gapped"
            want = "overlapped" if again or max(covered) > 1 else want
            assert tiling == ("whole" if not used else want), (str(t), dim)
            seen.add(tiling)
    assert seen == {"whole", "exact", "overlapped", "gapped"}


def test_drawn_types_are_read_as_they_are_printed() -> None:
    rng = random.Random(5)
    for _ in range(200):
        t = drawn(rng)
        again = Itensor.parse(str(t))
        assert (again.tile, again.element, again.loops, again.map) == (
            t.tile,
            t.element,
            t.loops,
            t.map,
        )
    assert Itensor.parse("itensor< 4 x 2 xf32,iter_space: [4,2]*[2,4],iter_map (i,j)->(j,i)>") == B
    whole = Itensor.parse("itensor<4x2xi8, iter_space []*[], iter_map () -> (0, 0)>")
    assert (whole.shape, whole.tokens, whole.element) == ((4, 2), 1, sg.int8)
    layers = Itensor.parse("itensor<4xi8, iter_space [L0, 2*T]*[1, 4], iter_map (d0, d1) -> (d1)>")
    assert not layers.is_static
    assert Itensor.parse(str(layers)) == layers


MISTAKES = {
    "f32": "'f32' is not written as itensor<4x2xf32, ",
    "itensor<4x2xf24, iter_space [2]*[4], iter_map (d0) -> (d0, 0)>": (
        "'f24' is not an element type, those are int8, .* in itensor<4x2xf24, "
    ),
    "itensor<4x2xf32, iter_space [2, 2]*[4], iter_map (d0) -> (d0, 0)>": (
        "it has 2 numbers of trips, 1 steps and 1 loops in its map, but they must be equally many"
    ),
    "itensor<4x2xf32, iter_space [2]*[4], iter_map (d0) -> (d0)>": (
        "its tile has 2 dims and its map gives 1, but they must be those of the data in itensor<4x2"
    ),
    "itensor<4x2xf32, iter_space [2]*[4], iter_map (d0)[s0] -> (d0, s0)>": (
        r"its map has the symbols \[s0\], and only loops may be in one"
    ),
    "itensor<4x2xf32, iter_space [2]*[4], iter_map (d0) -> (d0, s0)>": (
        "its map uses the symbol s0, and the loops are d0"
    ),
    "itensor<4x2xf32, iter_space [2]*[4], iter_map (d0) -> (2*d0, 0)>": (
        r"its map has '2\*d0' for a dim, which must be 0, a loop or a sum of loops: factors belong"
    ),
    "itensor<4x2xf32, iter_space [2]*[4], iter_map (d0) -> (d0, 1)>": (
        "its map has '1' for a dim, which must be 0, a loop or a sum of loops"
    ),
    "itensor<4x2xf32, iter_space [2, 3]*[4, 1], iter_map (d0, d0) -> (d0, 0)>": (
        "its map names two loops alike"
    ),
    "itensor<4x2xf32, iter_space [0]*[4], iter_map (d0) -> (d0, 0)>": (
        "loop d0 must have at least 1 trip, not 0 in itensor<4x2xf32, iter_space"
    ),
    "itensor<4x2xf32, iter_space [2]*[0], iter_map (d0) -> (d0, 0)>": (
        "loop d0 must have a step of at least 1, not 0"
    ),
    "itensor<0x2xf32, iter_space [2]*[4], iter_map (d0) -> (d0, 0)>": (
        "extents of a tile must be at least 1, not 0"
    ),
    "itensor<4x2xf32, iter_space [a]*[4], iter_map (d0) -> (d0 + d0, 0)>": (
        "its map names a loop twice for dim 0"
    ),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_in_a_text(text: str) -> None:
    with pytest.raises(sg.StepError, match=f"^itensor at test_itensor.py:.*{MISTAKES[text]}"):
        Itensor.parse(text)


def test_mistakes_in_python() -> None:
    with pytest.raises(sg.StepError, match=r"its map names d1 for dim 0, but it has 1 loops in "):
        Itensor((4, 2), "f32", ((2, 4),), ((1,), ()))
    layers = Itensor((4,), "int8", (("L", 1), (2, 4)), ((1,),))
    with pytest.raises(sg.StepError, match="the trips L of loop d0 are known only at run time in "):
        layers.tokens  # noqa: B018
