"""The address ranges that a simulated memory holds: windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from stepgen.hw.design.table import Design
from stepgen.hw.units.load.params import Load
from stepgen.hw.units.loader.params import Loader
from stepgen.hw.units.random_store.params import RandomStore
from stepgen.hw.units.store.params import Store
from stepgen.ir.arguments import Address

Window = tuple[Address, int]
"""Address of the first byte, and number of bytes."""

NEAR = 1 << 16
"""Ranges this many bytes apart or less are merged into one window."""

MOST_SPANS = 16
"""Separate ranges of a tensor, at most."""

MOST_BYTES = 1 << 30
"""Size of the simulated memory, at most."""


class Windows:
    """Windows stored one after the other: translates addresses to places and back.

    Parameters
    ----------
    windows : iterable of Window
        In rising order and disjoint.
    """

    def __init__(self, windows: Iterable[Window]):
        self.windows = tuple(windows)
        sizes = [size for _, size in self.windows]
        self.size = sum(sizes)
        self._places = list(accumulate(sizes, initial=0))

    def place(self, address: int, size: int = 1) -> int | None:
        """Place of `size` bytes from an address on; None if no window holds all of them."""
        for (base, held), place in zip(self.windows, self._places, strict=False):
            if base <= address and address + size <= base + held:
                return place + address - base
        return None

    def address(self, place: int) -> int:
        """Address of the byte at a place."""
        for (base, held), start in zip(self.windows, self._places, strict=False):
            if place < start + held:
                return base + place - start
        raise ValueError(f"the windows hold {self.size} bytes, not {place + 1}")

    def parts(self, address: int, size: int) -> Iterator[tuple[slice, slice]]:
        """The parts of `size` bytes from an address on that windows hold: slices there and here."""
        for (base, held), place in zip(self.windows, self._places, strict=False):
            first, end = max(base, address), min(base + held, address + size)
            if first < end:
                there = slice(first - address, end - address)
                yield there, slice(place + first - base, place + end - base)

    def image(self, contents: Iterable[tuple[int, npt.NDArray[np.uint8]]]) -> npt.NDArray[np.uint8]:
        """Contents of the windows, from arrays at given addresses; zero elsewhere."""
        image = np.zeros(self.size, np.uint8)
        for address, content in contents:
            for there, here in self.parts(address, content.size):
                image[here] = content[there]
        return image


def windows_of(design: Design, near: int = NEAR) -> tuple[Window, ...]:
    """The windows that the loads and stores of a design reach, in full bus words.

    A tensor of which little is read takes little memory, however large it is.

    Parameters
    ----------
    design : Design
    near : int
        Ranges this many bytes apart or less are merged.
    """
    word = design.bus.bytes
    spans: list[tuple[int, int]] = []
    shared = [load for _, loader in design.rows_of(Loader) for load in loader.loads]
    for load in [*(load for _, load in design.rows_of(Load)), *shared]:
        path = load.walk
        reached = [(0, path.length)]
        for extent, stride in zip(path.extents, path.strides, strict=True):
            reached = _joined(
                (first + n * stride, end + n * stride)
                for n in (range(extent) if extent <= MOST_SPANS else (0, extent - 1))
                for first, end in reached
            )
            if extent > MOST_SPANS or len(reached) > MOST_SPANS:
                reached = [(reached[0][0], reached[-1][1])]
        spans += [(_down(path.base + f, word), -_down(-path.base - e, word)) for f, e in reached]
    for _, store in design.rows_of(Store):
        spans.append((store.base, -_down(-store.base - store.size, word)))
    for _, random in design.rows_of(RandomStore):
        end = random.base + random.tiles * random.tile_bytes
        spans.append((random.base, -_down(-end, word)))
    return tuple((first, end - first) for first, end in _joined(spans, near))


def _down(address: int, word: int) -> int:
    """The start of the word that holds a byte."""
    return address // word * word


def _joined(spans: Iterable[tuple[int, int]], near: int = 0) -> list[tuple[int, int]]:
    """The same ranges in rising order, those at most `near` apart merged."""
    joined: list[tuple[int, int]] = []
    for first, end in sorted(spans):
        if joined and first <= joined[-1][1] + near:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((first, end))
    return joined
