"""Caches in a program: streams that say where a token's rows go, and the tiles with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..ir.dims import DimLike
from ..ir.dtypes import Tile, address, int32
from ..ir.fn import fn
from ..ir.graph import Graph
from ..ir.ops.partition import partition
from ..ir.ops.random_offchip_load import random_offchip_load
from ..ir.ops.random_offchip_store import random_offchip_store
from ..ir.ops.reassemble import reassemble
from ..ir.stream import Stream

if TYPE_CHECKING:
    from .caches import Caches, Places

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
    span, place, filled : Stream
        As `Places.inputs` says.
    first, until : Stream or None
        With windows.
    """

    caches: Caches
    span: Stream
    place: Stream
    filled: Stream
    first: Stream | None = None
    until: Stream | None = None

    @classmethod
    def declared(
        cls, graph: Graph, caches: Caches, places: Places, dims: Sequence[DimLike]
    ) -> Cached:
        """Declare the inputs of a program, of these dims."""
        names = ("span", "place", "filled", *(("first", "until") if any(places.windows) else ()))
        return cls(
            caches,
            **{
                what: graph.input(f"{places.name}_{what}", address[1, 1 + (what == "span")], dims)
                for what in names
            },
        )

    def tiles(self) -> Stream:
        """The address of each tile."""
        return self.span.flat_map(fn.span(self.caches.tiles), rank=1)

    def with_rows(self, rows: Stream, cache: Any, *, clears: bool) -> Stream:
        """The tiles that a token sees of each place, with its row, which is written back.

        With `clears` the rows behind it, which nobody has written, become 0: weights of 0 do not
        help against a NaN.
        """
        tile, most = (self.caches.tile, cache.shape[1]), self.caches.tiles
        is_last = self.span.flat_map(fn.span_last(most), rank=1)
        tiles = random_offchip_load(self.tiles(), cache, tile=tile, name=f"{cache.name}_read")
        last, others = partition(tiles, is_last, rank=0)
        place = flat(self.place)
        if clears:
            last = last.map(fn.mask_rows(0), place)
        placed = last.map(fn.place_row(), flat(rows), place)
        ends = flat(self.span.map(fn.span_end()))
        random_offchip_store(ends, placed, cache, tile=tile, name=f"{cache.name}_write")
        return reassemble([placed, others], is_last, rank=0).flatten(0, 1)

    def masked(self, scores: Stream) -> Stream:
        """Scores of all tiles, those of rows that a token does not see being `NOTHING`.

        Those of integers are `NO_INTEGER`.
        """
        assert isinstance(scores.dtype, Tile)
        nothing = NO_INTEGER if scores.dtype.element == int32 else NOTHING
        most = self.caches.tiles
        is_last = self.span.flat_map(fn.span_last(most), rank=1)
        last, others = partition(scores, is_last, rank=0)
        last = last.map(fn.mask_cols(nothing), flat(self.filled))
        scores = reassemble([last, others], is_last, rank=0).flatten(0, 1)
        if self.first is None or self.until is None:
            return scores
        is_first = self.span.flat_map(fn.span_first(most), rank=1)
        first, others = partition(scores, is_first, rank=0)
        window = fn.mask_cols(nothing, self.caches.rows)
        first = first.map(window, flat(self.until), flat(self.first))
        return reassemble([first, others], is_first, rank=0).flatten(0, 1)


def flat(stream: Stream) -> Stream:
    """All places in one dim."""
    return stream.flatten(0, stream.rank) if stream.rank else stream
