"""Affine reads: order of tiles, the dims that close with each, and the last tile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any


def reading(attrs: Mapping[str, Any]) -> tuple[Sequence[int], Sequence[int], int]:
    """Shape, stride and offset among the attributes of a node that reads."""
    return attrs["shape"], attrs["stride"], attrs["offset"]


def affine(
    shape: Sequence[int], stride: Sequence[int], offset: int = 0
) -> Iterator[tuple[int, int]]:
    """Yield ``(number, stop)`` of each tile of one read.

    Parameters
    ----------
    shape, stride : sequence of int
        Extents of the read and strides, in tiles, outermost first; all extents at least 1.
    offset : int
        Number of the first tile.

    Yields
    ------
    number : int
        Offset and the sum of index times stride.
    stop : int
        Number of the read's dims that close; ``len(shape)`` for the last tile.
    """
    for place in product(*map(range, shape)):
        stop = 0
        for index, extent in zip(reversed(place), reversed(shape), strict=True):
            if index + 1 < extent:
                break
            stop += 1
        yield offset + sum(i * s for i, s in zip(place, stride, strict=True)), stop


def last_tile(shape: Sequence[int], stride: Sequence[int], offset: int = 0) -> int:
    """Number of the last tile of one read, with strides of at least 0."""
    return offset + sum((extent - 1) * step for extent, step in zip(shape, stride, strict=True))


def reading_text(shape: Sequence[int], stride: Sequence[int], offset: int) -> str:
    """``shape [4] with stride [1] from tile 8``, for messages."""
    start = f" from tile {offset}" if offset else ""
    return f"shape {list(shape)} with stride {list(stride)}{start}"
