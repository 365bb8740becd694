"""The order of a stream's tiles, with the dims of the stream that its loops belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from stepgen.ir.dims import Dim
from stepgen.ir.dtypes import ElementType
from stepgen.ir.itensor import Itensor, Trips

Walk = tuple[Trips, tuple[int, ...]]
"""Trips of a loop, and its step in each dim of the data."""


class Unknown(Exception):
    """The order of a stream can't be said; the message is the reason."""


@dataclass(frozen=True)
class TileOrder:
    """Which tile of which data each element of a stream is.

    Attributes
    ----------
    of : str
        The data: a tensor off chip, or the operator that made them.
    tile : tuple of int
        Extents of a tile in each dim of the data; the last two are its rows and columns.
    element : ElementType
        Type of its elements.
    dims : tuple of tuple of Walk
        The loops of each dim of the stream, outermost first.
    held : int
        Of a stream of buffers: how many inner dims each of them holds.
    """

    of: str
    tile: tuple[int, ...]
    element: ElementType
    dims: tuple[tuple[Walk, ...], ...]
    held: int = 0

    @property
    def loops(self) -> tuple[Walk, ...]:
        """All loops, outermost first."""
        return tuple(loop for dim in self.dims for loop in dim)

    def itensor(self) -> Itensor:
        """The type.

        Raises
        ------
        Unknown
            If a loop walks two dims of the data with different steps.
        """
        loops = []
        for trips, steps in self.loops:
            walked = {step for step in steps if step}
            if len(walked) > 1:
                raise Unknown("a loop moves in two dims at once, with different steps")
            loops.append((trips, walked.pop() if walked else 1))
        walks = [
            [i for i, (_, steps) in enumerate(self.loops) if steps[d]]
            for d in range(len(self.tile))
        ]
        return Itensor(self.tile, self.element, loops, walks).canonical

    def with_dims(self, dims: Sequence[Sequence[Walk]]) -> TileOrder:
        """The same tiles under other loops."""
        return replace(self, dims=tuple(tuple(dim) for dim in dims))

    def repeated(self, dims: Sequence[Dim], place: int) -> TileOrder:
        """With loops that repeat, one for each of some dims of a stream, before dim `place`."""
        still = (0,) * len(self.tile)
        new = [((trips_of(dim), still),) for dim in dims]
        return self.with_dims([*self.dims[:place], *new, *self.dims[place:]])

    def split(self, place: int, chunk: int) -> TileOrder:
        """With a dim of the stream as two, the inner one of `chunk` tiles.

        Raises
        ------
        Unknown
            If its loops do not end where chunks do.
        """
        inner: list[Walk] = []
        outer = merged(self.dims[place])
        left = chunk
        while left > 1:
            if not outer:
                raise Unknown("chunks are longer than the dim that is split")
            trips, steps = outer.pop()
            if not isinstance(trips, int):
                raise Unknown(f"chunks of {chunk} are made of the dim {trips}")
            if left % trips == 0:
                inner.insert(0, (trips, steps))
                left //= trips
                continue
            if trips % left:
                raise Unknown(f"chunks of {chunk} do not divide {trips} tiles")
            inner.insert(0, (left, steps))
            outer.append((trips // left, tuple(step * left for step in steps)))
            left = 1
        return self.with_dims([*self.dims[:place], outer, inner, *self.dims[place + 1 :]])

    def with_tile(self, rows: int, cols: int, element: ElementType, of: str) -> TileOrder:
        """Tiles of another size in place of each: the data grow or shrink with them.

        Raises
        ------
        Unknown
            If loops do not step by whole tiles.
        """
        old, new = self.tile[-2:], (rows, cols)
        dims = []
        for dim in self.dims:
            made = []
            for trips, steps in dim:
                if any(step % had for step, had in zip(steps[-2:], old, strict=True)):
                    raise Unknown("tiles that overlap change their size")
                last = [s // o * n for s, o, n in zip(steps[-2:], old, new, strict=True)]
                made.append((trips, (*steps[:-2], *last)))
            dims.append(made)
        tile = (*self.tile[:-2], rows, cols)
        return replace(self.with_dims(dims), of=of, tile=tile, element=element)

    def folded(self, rank: int, tile: tuple[int, int], element: ElementType, of: str) -> TileOrder:
        """Without the loops of the innermost dims, whose tiles became one."""
        kept = self.with_dims(self.dims[: len(self.dims) - rank])
        return kept.with_tile(*tile, element, of).without_idle_dims()

    def without_idle_dims(self) -> TileOrder:
        """Without dims of the data, other than rows and columns, in which nothing moves."""
        used = [d for d in range(len(self.tile) - 2) if any(s[d] for _, s in self.loops)]
        used += [len(self.tile) - 2, len(self.tile) - 1]
        dims = [[(trips, tuple(s[d] for d in used)) for trips, s in dim] for dim in self.dims]
        return replace(self.with_dims(dims), tile=tuple(self.tile[d] for d in used))

    def joined(self, rank: int, along: int, element: ElementType) -> TileOrder:
        """Tiles of the innermost dims joined to one, along rows (-2) or columns (-1).

        Raises
        ------
        Unknown
            If they do not lie beside each other.
        """
        inner = [loop for dim in self.dims[len(self.dims) - rank :] for loop in dim]
        extent = self.tile[along]
        for trips, steps in reversed(inner):
            if trips == 1:
                continue
            others = [s for d, s in enumerate(steps) if d != len(steps) + along]
            if not isinstance(trips, int) or steps[along] != extent or any(others):
                raise Unknown("tiles are joined that are not neighbours in the data")
            extent *= trips
        tile = list(self.tile)
        tile[along] = extent
        kept = self.with_dims(self.dims[: len(self.dims) - rank])
        return replace(kept, tile=tuple(tile), element=element)


def trips_of(dim: Dim) -> Trips:
    """The trips of a loop over a dim of a stream.

    Raises
    ------
    Unknown
        If it has several extents.
    """
    if dim.static is not None:
        if dim.static == 0:
            raise Unknown("it has no elements")
        return dim.static
    if dim.is_ragged:
        raise Unknown(f"the dim {dim} has several extents within the stream")
    return str(dim)


def walked(
    grid: Sequence[Walk], loops: Sequence[tuple[Trips, int]], offset: int = 0
) -> list[tuple[Walk, ...]]:
    """What loops over the numbers of tiles walk in the data.

    Parameters
    ----------
    grid : sequence of (int, tuple of int)
        How tile numbers count: extents, outermost first, and steps in the data.
    loops : sequence of (Trips, int)
        Trips and stride, in tiles, of each loop.
    offset : int
        Number of the first tile.

    Returns
    -------
    list of tuple of Walk
        For each loop the loops that it consists of: one that runs past the end of a row of tiles
        goes on in the next.

    Raises
    ------
    Unknown
        If a loop leaves a row of tiles within a step.
    """
    rank = len(grid[0][1])
    grid = merged(grid)
    extents = [int(trips) for trips, _ in grid]
    weights = [prod(extents[k + 1 :]) for k in range(len(extents))]
    last = _digits(offset, weights)
    found = []
    for trips, stride in loops:
        parts = _parts(trips, _digits(stride, weights), stride, extents, weights)
        made = []
        for count, digits in parts:
            for k, digit in enumerate(digits):
                last[k] += digit * (count - 1) if isinstance(count, int) else 0
            steps = [
                sum(digit * steps[d] for digit, (_, steps) in zip(digits, grid, strict=True))
                for d in range(rank)
            ]
            made.append((count, tuple(steps)))
        found.append(tuple(made))
    if any(at >= extent for at, extent in zip(last[1:], extents[1:], strict=True)):
        raise Unknown("loops run past the end of a row of tiles within a step")
    return found


def merged(grid: Sequence[Walk]) -> list[Walk]:
    """The same grid with loops that go on as one made one."""
    found: list[Walk] = []
    for trips, steps in grid:
        if trips == 1:
            continue
        if found and isinstance(trips, int) and isinstance(found[-1][0], int):
            outer, moved = found[-1]
            if moved == tuple(trips * step for step in steps):
                found[-1] = (outer * trips, steps)
                continue
        found.append((trips, steps))
    return found


def _digits(number: int, weights: Sequence[int]) -> list[int]:
    digits = []
    for weight in weights:
        digits.append(number // weight)
        number %= weight
    return digits


def _parts(
    trips: Trips,
    digits: list[int],
    stride: int,
    extents: Sequence[int],
    weights: Sequence[int],
) -> list[tuple[Trips, list[int]]]:
    """A loop over tile numbers as loops that each stay in a dim of the grid, outermost first."""
    moved = [k for k, digit in enumerate(digits) if digit]
    if not moved or trips == 1 or moved == [0]:
        return [(trips, digits)]
    if not isinstance(trips, int):
        if prod(extents[: moved[-1]]) == 1:
            return [(trips, digits)]
        raise Unknown(f"a loop of {trips} trips may run past the end of a row of tiles")
    k = moved[0]
    if len(moved) > 1 or extents[k] % digits[k]:
        return [(trips, digits)]
    most = extents[k] // digits[k]
    if trips <= most:
        return [(trips, digits)]
    if trips % most:
        raise Unknown(f"a loop of {trips} trips ends within a row of {most} tiles")
    over = stride * most
    return [
        *_parts(trips // most, _digits(over, weights), over, extents, weights),
        (most, digits),
    ]
