"""Stream files: one stream in one ``.npz``, readable with numpy alone.

| array | shape | what |
|---|---|---|
| ``stops`` | uint8 [t] | number of innermost dims that close with token 0 .. t-1 |
| ``empties`` | uint8 [t] | 0 for a value, else the level of the empty group; optional |
| ``values`` | [n, R, C] | tiles of the n tokens whose ``empties`` is 0, in order |
| | [n, bits] bool | selectors |
| | flat | elements of all tiles, if their sizes differ (then ``shapes``) |
| ``shapes`` | int64 [n, 2] | rows and columns of each tile; only if sizes differ |
| ``rank`` | int | rank of the stream; optional if the reader knows it |
| ``element`` | str | element type; ``bf16`` values are stored as float32. Optional |

A stream of tuples has ``values.0``, ``shapes.0``, ``element.0``, ``values.1``, ... instead. DONE is
not stored: it follows the last token. Buffers exist only on chip and cannot be stored.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError
from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics.arrays import read
from stepgen.semantics.numbers import DTYPES, Array, as_element, bfloat16, name_of
from stepgen.semantics.tokens import END, Token, bare, validate, value

MOST_EXTENT = 1 << 31
"""Largest extent of a tile in a file, so that products of two fit into numpy's integers."""


def save(path: str | Path, tokens: list[Token], rank: int) -> None:
    """Write a stream to a file (an atomic write: after an error the previous file is unchanged).

    Parameters
    ----------
    path : path
        Usually ends in ``.npz``; nothing is appended.
    tokens : list of Token
        A canonical encoding, DONE included.
    rank : int
        Rank of the stream.

    Raises
    ------
    StepError
        If the values cannot be stored or the file cannot be written.
    """
    path = Path(path)
    arrays = pack(tokens, rank, str(path))
    try:
        with tempfile.TemporaryDirectory(prefix=".", dir=path.parent) as folder:
            partial = Path(folder) / "stream"
            with open(partial, "wb") as file:
                np.savez_compressed(file, allow_pickle=False, **arrays)
            os.replace(partial, path)
    except OSError as error:
        raise StepError(f"can't write the stream file {path}: {error.strerror}") from None


def pack(tokens: list[Token], rank: int, what: str) -> dict[str, Any]:
    """Return the arrays of a stream, by the names that they have in a file.

    Parameters
    ----------
    tokens : list of Token
        A canonical encoding, DONE included.
    rank : int
        Rank of the stream.
    what : str
        The stream's origin for messages.

    Raises
    ------
    StepError
        If the values cannot be stored.
    """
    validate(tokens, rank, what)
    body = [token for token in tokens if token.kind != DONE]
    items = [token.value for token in body if token.kind == VALUE]
    arrays: dict[str, Any] = {
        "stops": np.array([token.stop for token in body], np.uint8),
        "empties": np.array([token.low for token in body], np.uint8),
        "rank": np.int64(rank),
    }
    if items and isinstance(items[0], tuple):
        for i in range(len(items[0])):
            arrays |= {f"{k}.{i}": v for k, v in _pack([x[i] for x in items], what).items()}
    else:
        arrays |= _pack(items, what)
    return arrays


def _pack(items: list[Any], what: str) -> dict[str, Any]:
    if any(not isinstance(item, np.ndarray) for item in items):
        raise StepError(f"can't write {what}: a {type(items[0]).__name__} exists only on chip")
    if not items:
        return {"values": np.zeros((0, 0, 0), np.uint8)}
    name = name_of(items[0])
    plain = [item.astype(np.float32) if item.dtype == bfloat16 else item for item in items]
    if len({item.shape for item in items}) == 1:
        return {"values": np.stack(plain), "element": name}
    return {
        "values": np.concatenate([item.ravel() for item in plain]),
        "shapes": np.array([item.shape for item in items], np.int64),
        "element": name,
    }


def load(path: str | Path, rank: int | None = None, element: str | None = None) -> list[Token]:
    """Read a stream from a file.

    Parameters
    ----------
    path : path
    rank : int, optional
        Rank that the reader expects; required if the file has none.
    element : str, optional
        Element type of the values, if the file has none.

    Returns
    -------
    list of Token
        The canonical encoding, DONE included.

    Raises
    ------
    StepError
        If the file is missing, is not a stream file, or has a stream of another rank.
    """
    path = Path(path)
    arrays = read(
        path, "the stream file", f"{path} is not a stream file (.npz with stops and values)"
    )
    return unpack(arrays, str(path), rank, element)


def unpack(
    arrays: Mapping[str, Array], what: str, rank: int | None = None, element: str | None = None
) -> list[Token]:
    """Return the stream of the arrays that `pack` made.

    Parameters
    ----------
    arrays : mapping of str to array
        By their names in a file.
    what : str
        The stream's origin for messages.
    rank, element
        As in `load`.

    Raises
    ------
    StepError
        If the arrays are not a stream, or one of another rank.
    """
    if "stops" not in arrays or not {"values", "values.0"} & set(arrays):
        raise StepError(f"{what} is not a stream file: it lacks stops or values")
    stored = int(_levels(arrays, "rank", 0, what)) if "rank" in arrays else rank
    if stored is None:
        raise StepError(f"{what} has no rank")
    if rank is not None and stored != rank:
        raise StepError(f"{what} holds a stream of rank {stored}, not {rank}")
    stops = _levels(arrays, "stops", 1, what)
    empties = _levels(arrays, "empties", 1, what) if "empties" in arrays else np.zeros_like(stops)
    if len(stops) != len(empties):
        raise StepError(
            f"{what}: stops {list(stops.shape)} and empties {list(empties.shape)} must be equally "
            "long"
        )
    count = int((empties == 0).sum())
    items = _values(arrays, count, element, what)
    tokens = [
        bare(int(low), int(stop)) if low else value(next(items), int(stop))
        for stop, low in zip(stops, empties, strict=True)
    ]
    tokens.append(END)
    validate(tokens, stored, what)
    return tokens


def _levels(arrays: Mapping[str, Array], key: str, ndim: int, what: str) -> Array:
    """Ranks and levels: an array of small numbers."""
    array = arrays[key]
    if array.ndim != ndim:
        raise StepError(f"{what}: {key} must have {ndim} dims, not {array.ndim}")
    good = array.dtype.kind in "iuf" and bool(((array >= 0) & (array <= 255)).all())
    if not good or not np.array_equal(array, np.rint(array)):
        raise StepError(f"{what}: {key} must hold levels of 0 to 255, not {shown(array)}")
    return array.astype(np.uint8)


def _values(
    arrays: Mapping[str, Array], count: int, element: str | None, what: str
) -> Iterator[Any]:
    if "values" in arrays:
        return iter(_unpack(arrays, "", count, element, what))
    columns: list[list[Array]] = []
    while f"values.{len(columns)}" in arrays:
        columns.append(_unpack(arrays, f".{len(columns)}", count, element, what))
    return zip(*columns, strict=True)


def _unpack(
    arrays: Mapping[str, Array], suffix: str, count: int, element: str | None, what: str
) -> list[Array]:
    values = arrays[f"values{suffix}"]
    name = str(arrays.get(f"element{suffix}", element or ""))
    if not name:
        name = next((n for n, dtype in DTYPES.items() if dtype == values.dtype), "f32")
    if name not in DTYPES:
        raise StepError(
            f"{what}: {shown(name)} is not an element type; there are {', '.join(DTYPES)}"
        )
    values = as_element(values, name, f"{what}: values{suffix}")
    shapes = arrays.get(f"shapes{suffix}")
    if shapes is None:
        there = len(values) if values.ndim else 0
        if there != count or not values.ndim:
            raise StepError(f"{what}: {there} values{suffix} for {count} tokens with values")
        return list(values)
    if shapes.dtype.kind not in "iu" or (shapes > MOST_EXTENT).any():
        raise StepError(f"{what}: shapes{suffix} must hold extents, not {shown(shapes)}")
    shapes = shapes.astype(np.int64)
    sizes = shapes.prod(axis=1) if shapes.ndim == 2 and shapes.shape[1:] == (2,) else None
    if sizes is None or len(sizes) != count or sizes.sum() != values.size or (shapes < 0).any():
        raise StepError(
            f"{what}: shapes{suffix} {list(shapes.shape)} do not cut {values.size} elements into "
            f"{count} tiles"
        )
    parts = np.split(values.ravel(), np.cumsum(sizes)[:-1]) if count else []
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
