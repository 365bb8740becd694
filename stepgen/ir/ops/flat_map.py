"""flat_map: makes a stream of each element, and concatenates the streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from stepgen.ir.applying import Applying, tiles_of
from stepgen.ir.dims import Dim, joined, product_bound, times
from stepgen.ir.dtypes import FLAG, Selector, Tile, TupleType
from stepgen.ir.expr import Expr
from stepgen.ir.function import Cut, Function
from stepgen.ir.graph import build
from stepgen.ir.operator import Call, public
from stepgen.ir.pieces import Pieces
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tile_order import TileOrder

if TYPE_CHECKING:
    from stepgen.ir.ordering import Ordering


class FlatMap(Applying):
    """``[D_a..D_1, D_0]`` -> ``[D_a..D_1, D'_b..D'_0]``, D'_b being D_0 times the function's.

    The inputs of a node are the elements and, if given, the padding flags. Attributes: ``fn``,
    ``rank``.
    """

    def infer(self, call: Call) -> Sequence[Out]:
        """The function gives the stream of an element; flags drop pieces of it."""
        function: Function = call.attrs["fn"]
        x = call.inputs[0]
        rank = call.integer("rank", 0)
        cuts_selectors = isinstance(function, Cut) and function.cuts_selectors
        selects = cuts_selectors and isinstance(x.dtype, Selector)
        if isinstance(x.dtype, TupleType):
            call.fail(f"it makes streams of tiles or selectors, not of {x}: take one from unzip")
        element = x.dtype if selects else tiles_of(call, [x])[0]
        if not isinstance(function, Cut):
            call.fail(
                f"{function} makes no stream of a tile, choose a function such as retile_streamify"
            )
        pieces = function.stream(call, rank, element)
        dims = pieces.dims
        totals = {k + rank: total for k, total in enumerate(x.totals) if k > 0}
        if rank:
            totals[rank] = x.totals[0]
        if len(call.inputs) > 1:
            last, count = _kept(call, x, call.inputs[1], dims[-1], rank)
        else:
            count = _count(x, pieces)
            last = dims[-1]
            if rank == 0:
                last = joined([x.dim(0), last], count if x.rank == 0 else None, call.symbols)
        if count is not None:
            totals[0] = count
        middle = (x.dim(0), *dims[1:-1]) if rank else ()
        shape = (*x.shape[:-1], *middle, last)
        return [Out(shape, pieces.dtype, totals, routing=pieces.routing)]

    def steered_by(self, node: Node) -> Sequence[int]:
        """The flags too."""
        return super().steered_by(node) or range(1, len(node.inputs))

    def order(self, of: Ordering) -> TileOrder:
        """With a loop over the pieces of each tile."""
        if of.attrs["fn"].cuts_into() not in ("rows", "cols") or len(of.node.inputs) > 1:
            return of.own()
        x, (rows, cols) = of.input(), of.tile
        high, wide = x.tile[-2:]
        step = (rows, 0) if rows < high else (0, cols)
        pieces = high // rows * (wide // cols)
        still = (0,) * (len(x.tile) - 2)
        return of.cut(replace(x, tile=(*x.tile[:-2], rows, cols)), (pieces, (*still, *step)))


def _count(x: Stream, pieces: Pieces) -> Expr | None:
    """Number of pieces in all, if it is known."""
    if pieces.total is not None:
        return pieces.total
    if not any(d.is_ragged for d in pieces.dims):
        return times([x.totals[0], *(d.expr for d in pieces.dims)])
    piece = pieces.dtype
    if not isinstance(piece, Tile) or any(d.is_ragged for d in piece.dims):
        return None
    return x.volume / piece.elements


def _kept(call: Call, x: Stream, flags: Stream, pieces: Dim, rank: int) -> tuple[Dim, Expr | None]:
    """The innermost dim without the dropped pieces, and the number of the others in all."""
    if flags.dtype != FLAG:
        call.fail(f"padding must be a stream of flags ({FLAG}), but {flags.name} is {flags}")
    call.same_dims((*x.shape, pieces), flags.shape, f"{x.name} cut into pieces", flags.name)
    bound = product_bound([pieces] if rank else [x.dim(0), pieces])
    made = flags.origin.node
    padded = made.inputs[0] if made.op == "reshape" else None
    if rank == 0 and padded is not None:
        return padded.dim(0), padded.totals[0]
    outermost = rank == 0 and x.rank == 0
    fresh = call.symbols.fresh("N", "dynamic" if outermost else "ragged", bound)
    return fresh, None if padded is None else padded.totals[0]


@public
def flat_map(
    fn: Function,
    x: Stream,
    *,
    rank: int,
    padding: Stream | None = None,
    name: str | None = None,
) -> Stream:
    """Turn each element into a rank-`rank` stream and string the streams together.

    Parameters
    ----------
    fn : Function
        Such as ``fn.retile_streamify("row")``.
    x : Stream
        ``[D_a..D_1, D_0]`` of tiles, or of selectors where the function takes them.
    rank : int
        b, the rank of the stream that an element becomes. With 0, ``[4]`` tiles of 3 rows become
        ``[12]`` rows; with 1 they become ``[4, 3]``.
    padding : Stream, optional
        Flags ``[D_a..D_0, pieces]`` that say which pieces to drop, such as the second output of
        `reshape`; the dim that `reshape` padded then comes back as it was.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream
        ``[D_a..D_1, D'_b..D'_0]``.

    Raises
    ------
    StepError
        If the function makes no such stream or the flags have another shape.

    Notes
    -----
    FlatMap (paper, section 3).

    Examples
    --------
    >>> g = sg.Graph()
    >>> x = g.input("x", sg.int8[4, 8], (3,))
    >>> x.flat_map(sg.fn.retile_streamify("row"), rank=0)
    <flat_map_0.0 Stream[int8 1x8; 12]>
    >>> x.flat_map(sg.fn.retile_streamify("row"), rank=1)
    <flat_map_1.0 Stream[int8 1x8; 3, 4]>
    """
    inputs = (x,) if padding is None else (x, padding)
    return build("flat_map", inputs, {"fn": fn, "rank": rank}, name)[0]
