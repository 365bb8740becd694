"""Tokens of beats: what `stepgen.semantics.beats.to_beats` does, backwards."""

from __future__ import annotations

import numpy as np

from stepgen.ir.dtypes import FLAG, Tile
from stepgen.ir.errors import StepError
from stepgen.ir.stream import StreamType
from stepgen.ir.wire import DONE, TILE_LEVELS, VALUE, Beats, wire_levels
from stepgen.semantics.numbers import Array
from stepgen.semantics.tokens import END, Token, bare, validate, value


def from_beats(beats: Beats, type: StreamType) -> list[Token]:
    """The tokens of beats.

    Parameters
    ----------
    beats : Beats
        The canonical encoding of a stream.
    type : StreamType
        Of tiles, selectors, flags or addresses; columns of tiles are static.

    Raises
    ------
    StepError
        If they encode no stream of this type.
    """
    base = wire_levels(type.dtype)
    wire = [
        Token(int(kind), None, int(stop), int(low))
        for kind, stop, low in zip(beats.kind, beats.stop, beats.low, strict=True)
    ]
    validate(wire, type.rank + base, "the stream on the wire")
    if base == 0:
        scalar = type.dtype == FLAG
        return [
            value(row.reshape(1, 1) if scalar else row, token.stop)
            if token.kind == VALUE
            else token
            for token, row in zip(wire, beats.data, strict=True)
        ]
    return _tiles(wire, beats.data, type)


def _tiles(wire: list[Token], data: Array, type: StreamType) -> list[Token]:
    assert isinstance(type.dtype, Tile)
    columns = type.dtype.cols.static
    tokens: list[Token] = []
    row_ends: list[int] = []
    start = 0
    for i, token in enumerate(wire):
        if token.kind == DONE:
            tokens.append(END)
        elif token.kind == VALUE:
            if token.stop >= 1:
                row_ends.append(i + 1)
            if token.stop >= TILE_LEVELS:
                if len(set(np.diff([start, *row_ends]))) != 1:
                    raise StepError(f"beat {i} ends a tile whose rows differ in length")
                tile = data[start : i + 1].reshape(len(row_ends), -1)[:, :columns]
                tokens.append(value(tile, token.stop - TILE_LEVELS))
        elif token.low == TILE_LEVELS:
            empty = np.zeros((0, columns or 0), data.dtype)
            tokens.append(value(empty, token.stop - TILE_LEVELS))
        else:
            if token.low < TILE_LEVELS:
                raise StepError(f"beat {i} is a row without columns")
            tokens.append(bare(token.low - TILE_LEVELS, token.stop - TILE_LEVELS))
        if token.kind != VALUE or token.stop >= TILE_LEVELS:
            start, row_ends = i + 1, []
    return tokens
