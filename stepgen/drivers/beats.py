"""Streams as numbers and as beats, the transfers on a port of a design.

A stream is a group of arrays, by the names that they have in a ``.npz`` file:

| array | shape | what |
|---|---|---|
| ``values`` | [n, R, C] | tiles of the n tokens that have one, in order |
| | [n, bits] | selectors |
| | flat | elements of all tiles, if their sizes differ (then ``shapes``) |
| ``shapes`` | [n, 2] | rows and columns of each tile; only if sizes differ |
| ``stops`` | [t] | how many innermost dims of the stream close with token 0 .. t-1 |
| ``empties`` | [t] | 0 for a value, else the level of the empty group; may be missing |

A beat is ``{data, stop, kind}``, kind in the lowest 2 bits. A tile of R x C elements is
R * ceil(C / lanes) beats: the last one of a row has stop 1, that of the tile 2, and that of a group
of level k of the stream 2 + k. Selectors, flags and rows of addresses are one beat each, without
levels for a tile. A last beat, `DONE`, ends the stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

VALUE, EMPTY, DONE = 0, 1, 2
KIND_BITS = 2
KIND_MASK = 3

_INTEGERS = {"int4": 4, "int8": 8, "int16": 16, "int32": 32}
_RANGES = {name: (-(1 << bits - 1), (1 << bits - 1) - 1) for name, bits in _INTEGERS.items()}
_RANGES["bool"] = (0, 1)

Array = npt.NDArray[Any]
Stream = Mapping[str, Array]


class Beat(NamedTuple):
    """One transfer.

    Attributes
    ----------
    kind : int
        `VALUE`, `EMPTY` or `DONE`.
    stop : int
        How many innermost dims close with it, those of a tile included.
    lanes : tuple of int
        Bits of each element, without padding; for an empty group its level.
    """

    kind: int
    stop: int
    lanes: tuple[int, ...]

    def __str__(self) -> str:
        if self.kind == DONE:
            return "the end"
        what = {VALUE: "value", EMPTY: "empty"}.get(self.kind, f"kind {self.kind}")
        return f"{what} {' '.join(f'{lane:#x}' for lane in self.lanes)}, stop {self.stop}"


@dataclass(frozen=True)
class Port:
    """A stream that enters or leaves a design.

    Parameters
    ----------
    name, signal : str
        Its own, and what its signals' names begin with.
    element : str
        Type of an element: int8, int16, int32, bf16, f32, bool, address, or none.
    lanes, bits : int
        Elements of a beat, and bits of each; 0 bits where the design uses none of them.
    stop_bits, data_bits : int
        Widths of the fields of a payload.
    levels : int
        Levels of a tile: 2, or 0 for selectors, flags and addresses.
    tail : int
        Lanes that the last beat of a row fills, the others are padding; 0 if it fills all.
    """

    name: str
    signal: str
    element: str
    lanes: int
    bits: int
    stop_bits: int
    data_bits: int
    levels: int = 2
    tail: int = 0

    def pack(self, beat: Beat) -> int:
        """The payload of a beat."""
        bits = 0 if beat.kind == EMPTY else self.bits
        data = sum(lane << bits * i for i, lane in enumerate(beat.lanes))
        return beat.kind | beat.stop << KIND_BITS | data << KIND_BITS + self.stop_bits

    def unpack(self, payload: int) -> Beat:
        """The beat of a payload."""
        kind, payload = payload & KIND_MASK, payload >> KIND_BITS
        stop, data = payload & (1 << self.stop_bits) - 1, payload >> self.stop_bits
        if kind != VALUE:
            return Beat(kind, stop, (data,))
        lanes = self.tail if stop and self.tail else self.lanes
        mask = (1 << self.bits) - 1
        return Beat(kind, stop, tuple(data >> self.bits * i & mask for i in range(lanes)))

    def payloads(self, stream: Stream) -> list[int]:
        """The payloads of all beats of a stream, `DONE` included."""
        return list(map(self.pack, self.beats(stream)))

    def beats(self, stream: Stream) -> list[Beat]:
        """All beats of a stream, `DONE` included."""
        return [*self._beats(stream), Beat(DONE, 0, (0,))]

    def _beats(self, stream: Stream) -> Iterator[Beat]:
        stops = stream["stops"].tolist()
        lows = stream["empties"].tolist() if "empties" in stream else [0] * len(stops)
        tiles = _tiles(stream)
        for stop, low in zip(stops, lows, strict=True):
            if low:
                yield Beat(EMPTY, stop + self.levels, (low + self.levels,))
                continue
            tile = next(tiles, None)
            if tile is None:
                raise ValueError(f"{self.name} has fewer values than stops that close one")
            lanes = bits_of(tile, self.element, self.bits)
            if not self.levels:
                yield Beat(VALUE, stop, tuple(lanes.ravel().tolist()))
            elif not len(lanes):
                yield Beat(EMPTY, stop + self.levels, (self.levels,))
            else:
                yield from self._rows(lanes.tolist(), stop + self.levels)
        if next(tiles, None) is not None:
            raise ValueError(f"{self.name} has more values than stops that close one")

    def _rows(self, rows: list[list[int]], stop: int) -> Iterator[Beat]:
        for i, row in enumerate(rows):
            ends = stop if i == len(rows) - 1 else 1
            for at in range(0, len(row), self.lanes):
                last = at + self.lanes >= len(row)
                yield Beat(VALUE, ends if last else 0, tuple(row[at : at + self.lanes]))

    def stream(self, beats: Sequence[Beat]) -> dict[str, Array]:
        """The arrays of a stream, from all of its beats."""
        stops, empties, tiles = [], [], []
        rows: list[list[int]] = [[]]
        for beat in beats[:-1]:
            if beat.kind == EMPTY:
                low = beat.lanes[0] - self.levels
                stops.append(beat.stop - self.levels)
                empties.append(low)
                if not low:
                    tiles.append(np.zeros((0, 0), np.int64))
                continue
            rows[-1] += beat.lanes
            if beat.stop >= self.levels:
                stops.append(beat.stop - self.levels)
                empties.append(0)
                tiles.append(numbers_of(np.array(rows, np.uint64), self.element, self.bits))
                rows = [[]]
            elif beat.stop:
                rows.append([])
        made = {"stops": np.array(stops, np.uint8), "empties": np.array(empties, np.uint8)}
        if not self.levels:
            tiles = [tile[0] for tile in tiles] if self.element == "bool" else tiles
        if len({tile.shape for tile in tiles}) == 1:
            return made | {"values": np.stack(tiles)}
        flat = np.concatenate([tile.ravel() for tile in tiles]) if tiles else np.zeros(0)
        shapes = np.array([tile.shape for tile in tiles], np.int64).reshape(-1, 2)
        return made | {"values": flat, "shapes": shapes}


def bits_of(values: Array, element: str, bits: int) -> npt.NDArray[np.uint64]:
    """Elements as they travel: bf16 from float32, rounded; too large addresses all ones.

    Raises
    ------
    ValueError
        If they are integers, flags or selectors, and no such number.
    """
    mask = np.uint64((1 << bits) - 1)
    if element == "f32":
        return values.astype(np.float32).view(np.uint32).astype(np.uint64)
    if element == "bf16":
        wide = values.astype(np.float32).view(np.uint32).astype(np.uint64)
        even = wide >> np.uint64(16) & np.uint64(1)
        return wide + even + np.uint64(0x7FFF) >> np.uint64(16)
    if element == "address":
        return np.minimum(values.astype(np.uint64), mask)
    whole = values.astype(np.int64)
    if element in _RANGES and values.dtype != element:
        low, high = _RANGES[element]
        if not ((values == whole) & (whole >= low) & (whole <= high)).all():
            raise ValueError(f"elements of {element} are whole numbers from {low} to {high}")
    return whole.astype(np.uint64) & mask


def numbers_of(lanes: npt.NDArray[np.uint64], element: str, bits: int) -> Array:
    """Elements from what travels; bf16 as float32."""
    if element in ("f32", "bf16"):
        wide = lanes << np.uint64(32 - bits)
        return wide.astype(np.uint32).view(np.float32)
    if element in _INTEGERS:
        signs = np.uint64(1 << bits - 1)
        whole = (lanes ^ signs).astype(np.int64) - (1 << bits - 1)
        return whole.astype("int8" if element == "int4" else element)
    return lanes.astype(np.bool_) if element == "bool" else lanes


def _tiles(stream: Stream) -> Iterator[Array]:
    """The values of a stream, one after the other."""
    values = stream["values"]
    if "shapes" not in stream:
        yield from values
        return
    at = 0
    for rows, cols in stream["shapes"].tolist():
        yield values[at : at + rows * cols].reshape(rows, cols)
        at += rows * cols
