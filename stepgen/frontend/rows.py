"""Values of a model as streams of tiles: rows of tokens, whole or in slices of columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from stepgen.compile.converting import cheapest, ways
from stepgen.frontend.orders import Note, in_slices
from stepgen.ir.dtypes import Tile
from stepgen.ir.fn import fn
from stepgen.ir.itensor import Itensor
from stepgen.ir.stream import Stream


@dataclass(frozen=True)
class Rows:
    """A value as a stream of tiles.

    Attributes
    ----------
    stream : Stream
        Tiles of f32, of integers or of addresses, in the order of the tokens; of slices there is a
        dim below.
    slices : int
        Into how many tiles a row is cut; 1 for whole rows, which have no such dim.
    note : callable or None
        Keeps in which order the value is read, while an operation that reads it is lowered.
    """

    stream: Stream
    slices: int = 1
    note: Note | None = field(default=None, compare=False, repr=False)

    @property
    def cols(self) -> int:
        """Columns of a tile."""
        assert isinstance(self.stream.dtype, Tile)
        cols = self.stream.dtype.cols.static
        assert cols is not None
        return cols

    def __str__(self) -> str:
        """A row, and how it is cut."""
        return f"{self.slices} slices of {self.cols} columns" if self.slices > 1 else "a whole row"

    @property
    def order(self) -> Itensor:
        """The order in which the rows of a tile come."""
        return self._in(self.cols)

    def _in(self, cols: int, times: int = 1) -> Itensor:
        tile = self.stream.dtype
        assert isinstance(tile, Tile)
        assert tile.rows.static is not None
        count = self.slices * self.cols // cols
        return in_slices(tile.rows.static, cols, count, tile.element, times)

    def brought(self, cols: int, times: int = 1) -> Stream:
        """The rows in slices of so many columns, so often, by the converter that costs least.

        The stream has a dim of the repeats and one of the slices, where there are several.
        """
        read = self._in(cols, times)
        way = cheapest(ways(self.stream, read, of=self.order, rank=int(self.slices > 1)))
        nodes = self.stream.graph.nodes
        before, made = len(nodes), way.make()
        if self.note is not None:
            buffers = {node.op for node in nodes[before:]} >= {"bufferize"}
            self.note(self.order, read, way, way.name == "buffer" and not buffers)
        return made

    def whole(self) -> Rows:
        """The same in whole rows."""
        return self.sliced(self.slices * self.cols)

    def sliced(self, cols: int) -> Rows:
        """The same in slices of so many columns."""
        if self.cols == cols:
            return self
        count = self.slices * self.cols // cols
        return replace(self, stream=self.brought(cols), slices=count)

    def by_rows(self) -> Rows:
        """The same with a dim of the rows of a tile, each in its slices."""
        rows = self.whole().stream.flat_map(fn.retile_streamify("row"), rank=1)
        return Rows(rows).sliced(self.cols)

    def of_rows(self) -> Rows:
        """The reverse of `by_rows`."""
        return Rows(self.whole().stream.accum(fn.retile_row(), rank=1)).sliced(self.cols)

    def map(self, function: Any, *operands: Stream) -> Rows:
        """A function of each tile, and of those of other streams."""
        return replace(self, stream=self.stream.map(function, *operands))

    def each(self, function: Any, tile: Stream) -> Rows:
        """A function of each tile, and of a tile that all slices of a row share."""
        return self.map(function, self.spread(tile))

    def spread(self, tile: Stream) -> Stream:
        """A tile of each row, once for each of its slices."""
        return tile.promote(0).expand(count=self.slices) if self.slices > 1 else tile


@dataclass
class Layers:
    """The layers of a loop while their body is lowered.

    Attributes
    ----------
    trips : int
    shared : tuple of str
        Weights that all of them share.
    number : Stream
        That of each layer, for each tile of tokens.
    """

    trips: int
    shared: tuple[str, ...]
    number: Stream
