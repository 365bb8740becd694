"""Iterative tensor types: in which order a stream brings the tiles of a tensor.

An `Itensor` is the published type of StreamTensor (MICRO 2025): a tile, a nest of loops with trips
and steps, and a map from the loops to the place of the tile in the data. Two streams whose types
are equal bring the same tiles in the same order, so that a FIFO joins them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import Any, ClassVar, Literal, NoReturn

from stepgen.ir.arguments import take
from stepgen.ir.dtypes import ElementName, ElementType
from stepgen.ir.dtypes import element as as_element
from stepgen.ir.errors import StepError
from stepgen.ir.where import user_line

Trips = int | str
"""Iterations of a loop; the name of a dim if they are known only at run time."""

Loop = tuple[Trips, int]
"""Trips and step; the step is in elements of the data."""

Tiling = Literal["whole", "exact", "overlapped", "gapped"]
"""How tiles cover a dim of the data: one tile; side by side; more than once; not everywhere."""

_TAKEN: dict[str, Any] = {
    "tile": tuple[int, ...],
    "loops": tuple[Loop, ...],
    "map": tuple[tuple[int, ...], ...],
}


@dataclass(frozen=True, eq=False)
class Itensor:
    """The order in which a stream brings a tensor, tile by tile.

    The tile of an iteration begins, in each dim of the data, at the sum of index times step over
    the loops that its map names. A loop that no dim names repeats.

    Parameters
    ----------
    tile : tuple of int
        Extents of a tile, one for each dim of the data.
    element : ElementType or its name
        Type of one element.
    loops : tuple of (int or str, int)
        Trips and step of each loop, outermost first. The trips of a loop may be the name of a dim
        that is known only at run time.
    map : tuple of tuple of int
        For each dim of the data the numbers of the loops that walk it, outermost first; none
        where one tile spans the dim.

    Raises
    ------
    StepError
        If ranks disagree, an extent, a number of trips or a step is below 1, or the map names a
        loop that does not exist, or one twice.

    Notes
    -----
    Iterative tensor type (StreamTensor, section 3). A map of one loop for each dim is what it
    has before vectorization; several are the sums behind it, or dims that were split.

    Examples
    --------
    >>> by_columns = Itensor((4, 2), "f32", ((4, 2), (2, 4)), ((1,), (0,)))
    >>> print(by_columns)
    itensor<4x2xf32, iter_space [4, 2]*[2, 4], iter_map (d0, d1) -> (d1, d0)>
    >>> by_columns.shape, by_columns.tokens
    ((8, 8), 8)
    """

    EXAMPLE: ClassVar[str] = (
        "itensor<4x2xf32, iter_space [4, 2]*[2, 4], iter_map (d0, d1) -> (d1, d0)>"
    )

    tile: tuple[int, ...]
    element: ElementType
    loops: tuple[Loop, ...]
    map: tuple[tuple[int, ...], ...]

    def __init__(
        self,
        tile: Sequence[int],
        element: ElementType | ElementName,
        loops: Sequence[Loop],
        map: Sequence[Sequence[int]],
    ) -> None:
        given = {"tile": tile, "loops": loops, "map": map}
        for name, value in given.items():
            object.__setattr__(self, name, take(value, _TAKEN[name], "Itensor", name))
        object.__setattr__(self, "element", as_element(element))
        object.__setattr__(self, "map", tuple(tuple(sorted(used)) for used in self.map))
        self._check()

    @classmethod
    def parse(cls, text: str) -> Itensor:
        """The type that a text says, as it is printed.

        Parameters
        ----------
        text : str
            Blanks do not matter; element types may have the names of MLIR, such as ``i8``.

        Raises
        ------
        StepError
            If it is written otherwise, has symbols or factors in its map, or ranks disagree.

        Examples
        --------
        >>> text = "itensor<4x2xf32, iter_space [4, 2]*[2, 4], iter_map (d0, d1) -> (d1, d0)>"
        >>> Itensor.parse(text).shape
        (8, 8)
        """
        from stepgen.ir.itensor_text import parse

        return parse(text)

    def _check(self) -> None:
        if len(self.tile) != len(self.map):
            self._refuse(
                f"its tile has {len(self.tile)} dims and its map gives {len(self.map)}, but they "
                f"must be those of the data"
            )
        if not self.tile:
            self._refuse("its data have no dims")
        if min(self.tile) < 1:
            self._refuse(f"extents of a tile must be at least 1, not {min(self.tile)}")
        for number, (trips, step) in enumerate(self.loops):
            if isinstance(trips, int) and trips < 1:
                self._refuse(f"loop d{number} must have at least 1 trip, not {trips}")
            if step < 1:
                self._refuse(f"loop d{number} must have a step of at least 1, not {step}")
        for dim, used in enumerate(self.map):
            for number in used:
                if not 0 <= number < len(self.loops):
                    self._refuse(
                        f"its map names d{number} for dim {dim}, but it has {len(self.loops)} loops"
                    )
            if len(set(used)) < len(used):
                self._refuse(f"its map names a loop twice for dim {dim}")

    def _refuse(self, message: str) -> NoReturn:
        raise StepError(f"itensor at {user_line()}: {message} in {self}")

    @property
    def is_static(self) -> bool:
        """Whether the trips of all loops are numbers."""
        return all(isinstance(trips, int) for trips, _ in self.loops)

    @property
    def trips(self) -> tuple[int, ...]:
        """The trips of the loops, outermost first.

        Raises
        ------
        StepError
            If some are known only at run time.
        """
        for number, (trips, _) in enumerate(self.loops):
            if not isinstance(trips, int):
                self._refuse(f"the trips {trips} of loop d{number} are known only at run time")
        return tuple(int(trips) for trips, _ in self.loops)

    @property
    def tokens(self) -> int:
        """Number of tiles in the stream, repeated ones included."""
        return prod(self.trips)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Extents of the data, up to the end of the last tile."""
        trips = self.trips
        return tuple(
            extent + sum((trips[i] - 1) * self.loops[i][1] for i in used)
            for extent, used in zip(self.tile, self.map, strict=True)
        )

    @property
    def repeats(self) -> tuple[int, ...]:
        """Numbers of the loops that repeat, since no dim of the data is walked by them."""
        used = {i for walked in self.map for i in walked}
        return tuple(i for i in range(len(self.loops)) if i not in used)

    @cached_property
    def tilings(self) -> tuple[Tiling, ...]:
        """How tiles cover each dim of the data."""
        return tuple(self._tiling(dim) for dim in range(len(self.tile)))

    def _tiling(self, dim: int) -> Tiling:
        extent, walks = self.tile[dim], [self.loops[i] for i in self.map[dim]]
        if all(trips == 1 for trips, _ in walks):
            return "whole"
        starts = {0}
        for trips, step in walks:
            if not isinstance(trips, int):
                if len(walks) > 1:
                    self._refuse(f"the trips {trips} of one of several loops are not known")
                trips = 2
            starts = {start + step * i for start in starts for i in range(trips)}
        ordered = sorted(starts)
        apart = [after - before for before, after in pairwise(ordered)]
        if len(starts) < prod(t for t, _ in walks if isinstance(t, int)) or min(apart) < extent:
            return "overlapped"
        return "exact" if max(apart) == extent else "gapped"

    @property
    def is_regular(self) -> bool:
        """Whether each dim is walked by one loop of its own at most, and its tiles are exact."""
        used = [i for walked in self.map for i in walked]
        plain = len(set(used)) == len(used) and all(len(walked) < 2 for walked in self.map)
        return plain and set(self.tilings) <= {"whole", "exact"}

    def offsets(self) -> Iterator[tuple[int, ...]]:
        """Where each tile of the stream begins in the data, in order."""
        for place in product(*map(range, self.trips)):
            yield tuple(sum(place[i] * self.loops[i][1] for i in used) for used in self.map)

    @cached_property
    def canonical(self) -> Itensor:
        """The same order with the fewest loops.

        Without loops of one trip; neighbouring loops that go on as one are one; the step of a
        loop that repeats is 1.
        """
        walked = [
            tuple(d for d, m in enumerate(self.map) if i in m) for i in range(len(self.loops))
        ]
        kept: list[tuple[Trips, int, tuple[int, ...]]] = []
        for (trips, step), dims in zip(self.loops, walked, strict=True):
            if trips == 1:
                continue
            step = step if dims else 1
            if kept and kept[-1][2] == dims and isinstance(trips, int):
                outer, outer_step, _ = kept[-1]
                if isinstance(outer, int) and (not dims or outer_step == trips * step):
                    kept[-1] = (outer * trips, step, dims)
                    continue
            kept.append((trips, step, dims))
        loops = [(trips, step) for trips, step, _ in kept]
        walks = [[i for i, kind in enumerate(kept) if d in kind[2]] for d in range(len(self.tile))]
        return Itensor(self.tile, self.element, loops, walks)

    def vectorized(self, vector: Sequence[int]) -> Itensor:
        """The order of the vectors of which tiles consist, row by row: the map becomes sums.

        Parameters
        ----------
        vector : sequence of int
            Extents of a vector; they divide those of the tile.

        Raises
        ------
        StepError
            If they do not.
        """
        if len(vector) != len(self.tile) or any(
            v < 1 or e % v for v, e in zip(vector, self.tile, strict=True)
        ):
            self._refuse(f"vectors of {'x'.join(map(str, vector))} do not divide the tiles")
        inner = [(e // v, v) for e, v in zip(self.tile, vector, strict=True)]
        first = len(self.loops)
        walks = [(*used, first + dim) for dim, used in enumerate(self.map)]
        return Itensor(vector, self.element, (*self.loops, *inner), walks)

    def _key(self) -> tuple[object, ...]:
        own = self.canonical
        return own.tile, own.element, own.loops, own.map

    def __eq__(self, other: object) -> bool:
        """Whether both bring the same tiles in the same order."""
        return isinstance(other, Itensor) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        tile = "x".join(map(str, (*self.tile, self.element)))
        trips = ", ".join(str(trips) for trips, _ in self.loops)
        steps = ", ".join(str(step) for _, step in self.loops)
        names = ", ".join(f"d{i}" for i in range(len(self.loops)))
        walks = ", ".join(" + ".join(f"d{i}" for i in used) or "0" for used in self.map)
        return f"itensor<{tile}, iter_space [{trips}]*[{steps}], iter_map ({names}) -> ({walks})>"

    def __repr__(self) -> str:
        return f"<{self}>"


def as_itensor(order: Itensor | str) -> Itensor:
    """The type, from a type or from how it is written.

    Raises
    ------
    StepError
        If a text is not written as one.
    """
    return order if isinstance(order, Itensor) else Itensor.parse(order)
