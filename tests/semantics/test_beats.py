from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepgen as sg
from semantics import models
from semantics.drawn import tile
from semantics.programs import scalars, shape
from stepgen.ir.dims import as_dim
from stepgen.ir.dtypes import ELEMENTS
from stepgen.ir.stream import StreamType
from stepgen.ir.wire import BARE, DONE, VALUE, Beats
from stepgen.semantics.beats import to_beats
from stepgen.semantics.decoding import from_beats
from stepgen.semantics.numbers import DTYPES
from stepgen.semantics.tokens import END, bare, encode, value

few = settings(max_examples=60)


def dims(*extents: Any) -> tuple[sg.Dim, ...]:
    return tuple(as_dim(e) for e in extents)


def ragged_tiles(rank: int, cols: int) -> StreamType:
    return StreamType(shape(rank), sg.Tile(sg.ragged("R"), cols, sg.int8))


def unrolled(beats: Beats) -> list[tuple[Any, ...]]:
    return [
        (int(k), int(s), int(low), *map(int, data))
        for k, s, low, data in zip(beats.kind, beats.stop, beats.low, beats.data, strict=True)
    ]


@few
@given(st.data())
def test_tiles_come_back(data: st.DataObject) -> None:
    """Tiles of no rows and empty groups too; whatever pads their rows."""
    rank, lanes = data.draw(st.integers(0, 2)), data.draw(st.sampled_from([1, 2, 4, 8]))
    columns = data.draw(st.integers(1, 9))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    sizes = data.draw(scalars(rank))
    tiles = models.on_groups(sizes, rank, 0, lambda n: tile(rng, abs(n) % 4, columns))
    tokens = encode(tiles, rank)
    kind = ragged_tiles(rank, columns)
    for padding in (None, rng):
        beats = to_beats(tokens, kind, lanes, padding=padding)
        assert from_beats(beats, kind) == tokens
        assert beats.data.dtype == np.int8


@few
@given(st.data())
def test_beats_are_the_encoding_of_row_slices(data: st.DataObject) -> None:
    """A rank-N stream of tiles is encoded as a rank-N+2 stream of slices."""
    rank = data.draw(st.integers(0, 2))
    sizes = data.draw(scalars(rank))
    count = iter(range(10_000))

    def rows(n: int) -> list[list[int]]:
        return [[next(count) % 120 for _ in range(3)] for _ in range(abs(n) % 4)]

    deep = models.on_groups(sizes, rank, 0, rows)
    tiles = models.on_groups(deep, rank, 0, lambda r: np.array(r, np.int8).reshape(-1, 3))
    beats = to_beats(encode(tiles, rank), ragged_tiles(rank, 3), 1)
    wire = [
        value(data[0], stop) if kind == VALUE else bare(low, stop) if kind == BARE else END
        for kind, stop, low, *data in unrolled(beats)
    ]
    assert wire == encode(deep, rank + 2)


def test_a_written_example() -> None:
    tokens = [value(np.arange(8, dtype=np.int8).reshape(2, 4)), value(np.zeros((0, 4), np.int8), 1)]
    beats = to_beats([*tokens, bare(1, 1), END], ragged_tiles(1, 4), 2)
    assert unrolled(beats) == [
        (VALUE, 0, 0, 0, 1),
        (VALUE, 1, 0, 2, 3),
        (VALUE, 0, 0, 4, 5),
        (VALUE, 2, 0, 6, 7),
        (BARE, 3, 2, 0, 0),
        (BARE, 3, 3, 0, 0),
        (DONE, 0, 0, 0, 0),
    ]


@few
@given(scalars(1))
def test_selectors_and_flags_are_one_beat_each(content: list[Any]) -> None:
    selectors = models.on_groups(content, 1, 0, lambda n: np.arange(3) == n % 3)
    kind = StreamType(shape(1), sg.Selector(3))
    tokens = encode(selectors, 1)
    beats = to_beats(tokens, kind, 8)
    assert beats.data.shape == (len(tokens), 3)
    assert beats.stop.max(initial=0) <= 1
    assert from_beats(beats, kind) == tokens
    flags = models.on_groups(content, 1, 0, lambda n: np.array([[n > 0]]))
    kind = StreamType(shape(1), sg.FLAG)
    tokens = encode(flags, 1)
    assert to_beats(tokens, kind, 8).data.shape == (len(tokens), 1)
    assert from_beats(to_beats(tokens, kind, 8), kind) == tokens


@pytest.mark.parametrize("element", ["int8", "int16", "int32", "bf16", "f32"])
def test_element_types(element: str) -> None:
    kinds = {"int8": sg.int8, "int16": sg.int16, "int32": sg.int32, "bf16": sg.bf16, "f32": sg.f32}
    kind = StreamType(dims(3), sg.Tile(2, 4, kinds[element]))
    rng = np.random.default_rng(0)
    tokens = encode([tile(rng, 2, 4, element) for _ in range(3)], 0)
    assert from_beats(to_beats(tokens, kind, 4), kind) == tokens


def test_an_empty_stream_is_done_alone() -> None:
    assert unrolled(to_beats([END], ragged_tiles(2, 4), 2)) == [(DONE, 0, 0, 0, 0)]


@pytest.mark.parametrize("element", ["int8", "int16", "int32", "bf16", "f32", "bool"])
@pytest.mark.parametrize("columns", [1, 3, 5])
def test_the_last_beat_of_a_row_is_padded(element: str, columns: int) -> None:
    """With zeros, or with drawn bits of the element type."""
    lanes, rows = 4, 2000
    kind = StreamType(dims("N"), sg.Tile(rows, columns, ELEMENTS[element]))
    tokens = encode([np.ones((rows, columns), DTYPES[element])], 0)
    plain = to_beats(tokens, kind, lanes)
    drawn = to_beats(tokens, kind, lanes, padding=np.random.default_rng(0))
    per_row = -(-columns // lanes)
    for beats in (plain, drawn):
        wide = beats.data[:-1].reshape(rows, per_row * lanes)
        assert (wide[:, :columns] == 1).all()
        assert beats.stop[:-1].reshape(rows, per_row)[:, -1].tolist() == [1] * (rows - 1) + [2]
        spare = np.ascontiguousarray(wide[:, columns:]).view(np.uint8)
        assert len(np.unique(spare)) == (1 if beats is plain else 2 if element == "bool" else 256)


def test_tiles_without_columns_have_no_beats() -> None:
    kind = StreamType(dims("N"), sg.Tile(1, sg.dynamic("C"), sg.int8))
    with pytest.raises(sg.StepError, match=r"x\.0: a tile of 1x0 has no beats"):
        to_beats(encode([np.zeros((1, 0), np.int8)], 0), kind, 4, "x.0")


def test_what_has_no_beats() -> None:
    kind = StreamType(dims("N"), sg.TupleType((sg.int8[1, 1], sg.int8[1, 1])))
    with pytest.raises(sg.StepError, match=r"x\.0 of \(int8 1x1, int8 1x1\) has no beats"):
        to_beats([END], kind, 4, "x.0")
