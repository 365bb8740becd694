"""Beats, the encoding of a stream of tokens on the lanes of a channel.

A tile of R x C elements is R * ceil(C / L) beats in row-major order; the last beat of a row has
wire level 1, the last of the tile 2, the last of a level-k group ``2 + k``. Where C is not a
multiple of L, the lanes of a row's last beat behind its end are padding, whose content means
nothing. Where C is not static, a beat is one element, and a row C beats. A tile without rows is an
empty token of level 2. Selectors, flags and rows of addresses are one beat each and have no tile
levels; so are references to buffers, but where a circuit stores what they refer to is not known
here, and they are zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stepgen.ir.dtypes import FLAG, Buffer, Selector, Tile, address
from stepgen.ir.errors import StepError
from stepgen.ir.stream import StreamType
from stepgen.ir.wire import BARE, DONE, TILE_LEVELS, VALUE, Beats, row_lanes, wire_levels
from stepgen.semantics.numbers import DTYPES, Array
from stepgen.semantics.tokens import Token


def wire_lanes(type: StreamType, lanes: int, name: str = "stream") -> tuple[int, np.dtype[Any]]:
    """Return the number of lanes of a beat of this stream, and their type.

    Raises
    ------
    StepError
        If values of this type have no beats.
    """
    if isinstance(type.dtype, Selector):
        return type.dtype.n, DTYPES["bool"]
    if isinstance(type.dtype, Buffer):
        return 1, DTYPES["bool"]
    if isinstance(type.dtype, Tile):
        if type.dtype == FLAG:
            return 1, DTYPES["bool"]
        if type.dtype.element == address:
            return address_lanes(type.dtype, name), DTYPES[address.name]
        return row_lanes(type.dtype, lanes), DTYPES[type.dtype.element.name]
    raise StepError(
        f"{name} of {type.dtype} has no beats: only tiles, selectors, flags and references have"
    )


def address_lanes(tile: Tile, name: str) -> int:
    """Lanes of the one beat that a row of addresses is.

    Raises
    ------
    StepError
        If the tile is not a row of a static number of addresses.
    """
    if tile.rows.static != 1 or not tile.cols.static:
        raise StepError(
            f"{name} of {tile} has no beats: addresses travel in one row of a static number of them"
        )
    return tile.cols.static


def to_beats(
    tokens: list[Token],
    type: StreamType,
    lanes: int,
    name: str = "stream",
    padding: np.random.Generator | None = None,
) -> Beats:
    """Return the beats of a stream.

    Parameters
    ----------
    tokens : list of Token
        A canonical encoding, DONE included.
    type : StreamType
        Type of the stream.
    lanes : int
        Elements per beat, L.
    name : str
        The stream's name for messages.
    padding : np.random.Generator, optional
        Draws the bits of padding lanes, which are zero without it.

    Raises
    ------
    StepError
        If a tile has no columns, or the type no beats.
    """
    base = wire_levels(type.dtype)
    width, dtype = wire_lanes(type, lanes, name)
    kinds: list[npt.NDArray[np.uint8]] = []
    stops: list[npt.NDArray[np.uint8]] = []
    lows: list[int] = []
    rows: list[Array] = []

    def put(kind: int, stop: npt.NDArray[np.uint8], low: int, data: Array) -> None:
        kinds.append(np.full(len(data), kind, np.uint8))
        stops.append(stop)
        lows.extend([low] * len(data))
        rows.append(data)

    blank = np.zeros((1, width), dtype)
    for token in tokens:
        if token.kind == DONE:
            put(DONE, np.zeros(1, np.uint8), 0, blank)
        elif token.kind == BARE:
            put(BARE, np.array([token.stop + base], np.uint8), token.low + base, blank)
        elif isinstance(type.dtype, Buffer):
            put(VALUE, np.array([token.stop], np.uint8), 0, blank)
        elif base == 0:
            put(VALUE, np.array([token.stop], np.uint8), 0, np.reshape(token.value, (1, width)))
        else:
            tile = token.value
            if tile.shape[1] == 0:
                raise StepError(f"{name}: a tile of {tile.shape[0]}x0 has no beats")
            if len(tile) == 0:
                put(BARE, np.array([token.stop + base], np.uint8), TILE_LEVELS, blank)
                continue
            per_row = -(-tile.shape[1] // width)
            data = _padded(tile.astype(dtype, copy=False), per_row * width, padding)
            data = data.reshape(-1, width)
            stop = np.zeros(len(data), np.uint8)
            stop[per_row - 1 :: per_row] = 1
            stop[-1] = token.stop + base
            put(VALUE, stop, 0, data)
    if not rows:
        none = np.zeros(0, np.uint8)
        return Beats(none, none, none, blank[:0])
    return Beats(
        np.concatenate(kinds),
        np.concatenate(stops),
        np.array(lows, np.uint8),
        np.concatenate(rows).astype(dtype, copy=False),
    )


def _padded(tile: Array, columns: int, padding: np.random.Generator | None) -> Array:
    """The tile with more columns, of drawn bits or of zeros."""
    size = (len(tile), columns - tile.shape[1])
    if not size[1]:
        return tile
    more = np.zeros(size, tile.dtype)
    if padding is not None:
        more = padding.integers(0, 256, (*size, more.itemsize), np.uint8)
        more = (more & 1 if tile.dtype == np.bool_ else more).view(tile.dtype)[:, :, 0]
    return np.concatenate([tile, more], axis=1)
