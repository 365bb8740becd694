"""Affine reads: order of tiles, the dims that close with each, and the last tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product


def affine(shape: Sequence[int], stride: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield ``(number, stop)`` of each tile of one read.

    Parameters
    ----------
    shape, stride : sequence of int
        Extents of the read and strides, in tiles, outermost first; all extents at least 1.

    Yields
    ------
    number : int
        Sum of index times stride.
    stop : int
        Number of the read's dims that close; ``len(shape)`` for the last tile.
    """
    for place in product(*map(range, shape)):
        stop = 0
        for index, extent in zip(reversed(place), reversed(shape), strict=True):
            if index + 1 < extent:
                break
            stop += 1
        yield sum(i * s for i, s in zip(place, stride, strict=True)), stop


def last_tile(shape: Sequence[int], stride: Sequence[int]) -> int:
    """Number of the last tile of one read, with strides of at least 0."""
    return sum((extent - 1) * step for extent, step in zip(shape, stride, strict=True))
