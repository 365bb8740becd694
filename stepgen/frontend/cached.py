"""Caches in a program: streams that say where a token's rows go, and the tiles with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from stepgen.ir.dims import DimLike
from stepgen.ir.dtypes import Tile, address, int32
from stepgen.ir.fn import fn
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Stream
from stepgen.ops.partition import partition
from stepgen.ops.random_offchip_load import random_offchip_load
from stepgen.ops.random_offchip_store import random_offchip_store
from stepgen.ops.reassemble import reassemble

if TYPE_CHECKING:
    from stepgen.frontend.caches import Caches, Places
    from stepgen.frontend.site import Site

COUNTED: Final = ("length", "place")
"""What a host says of each token of a run that writes: as behind the names of `Places`."""

NOTHING: Final = -3e38
"""Score of a row that a token does not see: finite, so that differences are numbers."""

NO_INTEGER: Final = -(2**30)
"""That of integers, whose differences do not wrap around."""


@dataclass(frozen=True)
class Cached:
    """The places of some attentions, as streams with a range or a number for each place.

    Attributes
    ----------
    caches : Caches
    span, place, position : Stream
        As `Places.inputs` says.
    most : int
        The largest position.
    bound : Stream or None
        With windows.
    """

    caches: Caches
    span: Stream
    place: Stream
    position: Stream
    most: int
    bound: Stream | None = None

    @classmethod
    def declared(
        cls, graph: Graph, caches: Caches, places: Places, dims: Sequence[DimLike]
    ) -> Cached:
        """Declare the inputs of a program, of these dims."""
        names = ("span", "place", "position", *(("bound",) if any(places.windows) else ()))
        rows = places.count * caches.requests * caches.tiles * caches.tile
        return cls(
            caches,
            most=rows + caches.rows,
            **{
                what: graph.input(f"{places.name}_{what}", address[1, 1 + (what == "span")], dims)
                for what in names
            },
        )

    @classmethod
    def counted(
        cls, caches: Caches, places: Places, number: Stream, length: Stream, row: Stream, at: Stream
    ) -> Cached:
        """Compute the streams of a run that writes, where no window cuts a place.

        Parameters
        ----------
        caches : Caches
        places : Places
        number : Stream
            That of each place, which comes once its token is there: what is read then is written.
        length, row, at : Stream
            Tiles that a token sees, its row in the last one, and its position in the text, of each
            place.
        """
        rows = caches.tiles * caches.tile
        return cls(
            caches,
            number.map(fn.scale(caches.tiles)).map(fn.as_range(), length),
            number.map(fn.scale(0)).map(fn.add(), row),
            number.map(fn.scale(rows)).map(fn.add(), at),
            most=places.count * rows + caches.rows,
        )

    def behind(self, zero: Stream) -> Cached:
        """The same places, each once a stream has a 0 for it: what is read then is written."""
        span, place, position = (
            zero.map(fn.add(), stream) for stream in (self.span, self.place, self.position)
        )
        bound = None if self.bound is None else zero.map(fn.add(), self.bound)
        return replace(self, span=span, place=place, position=position, bound=bound)

    def explained(self, at: Site, group: int) -> None:
        """Say why attention has its form, where so many heads of queries share one of keys."""
        at.because(f"caches by tiles of {self.caches.tile} rows, as many as a token sees")
        if group > 1:
            at.because(f"{group} heads of queries share a tile, since they share keys")

    @property
    def rows(self) -> int:
        """Tokens whose rows a run puts into each place."""
        return self.caches.chunk or 1

    def tiles(self) -> Stream:
        """The address of each tile."""
        return self.span.flat_map(fn.span(self.caches.tiles), rank=1)

    def with_rows(self, rows: Stream, cache: Any, *, clears: bool) -> Stream:
        """The tiles that tokens see of each place, with their rows, which are written back.

        With `clears` the rows behind them, which nobody has written, become 0: weights of 0 do not
        help against a NaN.
        """
        tile, most = (self.caches.tile, cache.shape[1]), self.caches.tiles
        is_last = self.span.flat_map(fn.span_last(most), rank=1)
        tiles = random_offchip_load(self.tiles(), cache, tile=tile, name=f"{cache.name}_read")
        last, others = partition(tiles, is_last, rank=0)
        place = flat(self.place)
        if clears:
            last = last.map(fn.mask_rows(0), place)
        put = fn.place_row() if self.rows == 1 else fn.place_rows()
        placed = last.map(put, flat(rows), place)
        ends = flat(self.span.map(fn.span_end()))
        done = random_offchip_store(ends, placed, cache, tile=tile, name=f"{cache.name}_write")
        if self.caches.writes:
            # Flags of tiles that are written, all set: a token ends once its rows are there.
            placed = done.map(fn.where(otherwise=0), placed)
        return reassemble([placed, others], is_last, rank=0).flatten(0, 1)

    def masked(self, scores: Stream, heads: int) -> Stream:
        """Scores of all tiles, those of rows that a token does not see being `NOTHING`.

        Those of integers are `NO_INTEGER`. Rows of a tile are those of heads, and of tokens, one
        head behind the other.
        """
        assert isinstance(scores.dtype, Tile)
        nothing = NO_INTEGER if scores.dtype.element == int32 else NOTHING
        first = self.tiles().map(fn.scale(self.caches.tile))
        ends: dict[int | None, Stream] = {None: self.position}
        if self.bound is not None:
            ends[self.caches.rows] = self.bound
        # Heads of one token are at one position; those of several are parted.
        several = self.rows > 1 and heads > 1
        if several:
            scores = parted(scores, self.rows)
        mask = fn.mask_cols if self.rows == 1 else fn.mask_causal
        for window, end in ends.items():
            at = [end.promote(0).expand(first), first]
            if several:
                at = [number.promote(0).expand(count=heads) for number in at]
            scores = scores.map(mask(nothing, window, self.most), *at)
        return scores.accum(fn.retile_row(), rank=1) if several else scores


def parted(tiles: Stream, rows: int) -> Stream:
    """Tiles as several of so many rows, in a dim below."""
    made = tiles.flat_map(fn.retile_streamify("row"), rank=1)
    if rows > 1:
        made, _ = made.reshape(dim=0, chunk=rows, pad=0)
        made = made.accum(fn.retile_row(), rank=1)
    return made


def flat(stream: Stream) -> Stream:
    """All places in one dim."""
    return stream.flatten(0, stream.rank) if stream.rank else stream
