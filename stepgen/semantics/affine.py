"""Affine reads: which tile comes when, and which dims close with it."""

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
        How many of the read's dims close; ``len(shape)`` for the last tile.
    """
    for place in product(*map(range, shape)):
        stop = 0
        for index, extent in zip(reversed(place), reversed(shape), strict=True):
            if index + 1 < extent:
                break
            stop += 1
        yield sum(i * s for i, s in zip(place, stride, strict=True)), stop
