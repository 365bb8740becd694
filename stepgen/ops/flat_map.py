"""flat_map: makes a stream of each element, and concatenates the streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stepgen.compile.circuit import Circuit
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
from stepgen.ir.wire import BARE, DONE
from stepgen.semantics.access_order import Known
from stepgen.semantics.applying import checked, setting, tiles
from stepgen.semantics.process import Holding, Process, Reader, Steps, Use, structure
from stepgen.semantics.tokens import Token, encode

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering
    from stepgen.ir.ordering import Ordering


class FlatMap(Applying, Circuit):
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

    def run(self, use: Use) -> Process:
        """Sends the stream of each element without its end; the last token gets the element's stop.

        The last token is held where elements may give an empty stream, since the group may end with
        it.
        """
        function: Cut = use["fn"]
        at, rank = setting(use), use["rank"]
        x, flags = use.inputs[0], use.inputs[1] if len(use.inputs) > 1 else None
        out = Holding(use.outputs[0], rank == 0 and x.stream.rank > 0 and _may_vanish(use))
        while True:
            token = yield from x.take()
            if token.kind != BARE and token.kind != DONE:
                pieces = [checked(use, piece) for piece in function.pieces(at, tiles([token])[0])]
                known = [use.outputs[0].known] * len(pieces)
                if flags is not None:
                    pieces, known = yield from _keep(use, x, token, flags, pieces)
                for _ in range(rank):
                    pieces = [pieces]
                *inner, _ = encode(pieces, rank)
                for piece, past in zip(inner[:-1], known, strict=False):
                    out.put(piece, known=past)
                if not inner:
                    if token.stop:
                        out.close(rank + 1, rank + token.stop)
                    continue
                last, past = inner[-1], (known or [None])[-1]
                stop = token.stop and rank + token.stop
                made = Token(last.kind, last.value, stop or last.stop, last.low)
                out.put(made, final=stop > 0, known=past)
                continue
            if flags is not None:
                yield from _follow(use, x, token, flags)
            if token.kind == DONE:
                out.done()
                return
            out.put(Token(BARE, None, token.stop + rank, token.low + rank), final=True)

    def lower(self, node: Node, to: Lowering) -> None:
        """The units of the function; behind them those pieces vanish that consist of padding."""
        from stepgen.compile.choosing import add_chain, chosen
        from stepgen.hw.units.drop.params import Drop

        function, x, y = node.attrs["fn"], node.inputs[0], node.outputs[0]
        units = chosen(
            node, to, lambda: function.cut_units(to.lanes, x, node.attrs["rank"]), in_chain=True
        )
        if x.dtype == y.dtype == FLAG and len(node.inputs) > 1:
            raise to.fail(node, f"single flags, such as {x.name}, are dropped by no circuit yet")
        if len(node.inputs) > 1:
            add_chain(node, to, [*units, Drop(hold=y.rank > 0)], y, flags=to.input(node, 1))
        else:
            add_chain(node, to, units, y)

    def ignores_stops(self, node: Node, index: int) -> bool:
        """`drop` counts the flags of its elements."""
        return index == 1


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


def _may_vanish(use: Use) -> bool:
    element = use.inputs[0].stream.dtype
    return len(use.inputs) > 1 or bool(use["fn"].may_vanish(element))


def _keep(
    use: Use, x: Reader, token: Token, flags: Reader, pieces: list[Any]
) -> Steps[tuple[list[Any], list[Known]]]:
    """The pieces whose flag is not set, and what was known with each flag."""
    kept: list[Any] = []
    known: list[Known] = []
    for i, piece in enumerate(pieces):
        flag = yield from flags.take()
        last = i + 1 == len(pieces)
        if flag.kind == DONE or flag.kind == BARE or flag.stop != (token.stop + 1 if last else 0):
            use.mismatch(x, token, flags, flag, lift=1)
        if not flag.value.any():
            kept.append(piece)
            known.append(use.outputs[0].known)
    if not pieces:
        flag = yield from flags.take()
        if structure(flag) != (BARE, token.stop + 1, 1):
            use.mismatch(x, token, flags, flag, lift=1)
    return kept, known


def _follow(use: Use, x: Reader, token: Token, flags: Reader) -> Process:
    """Take the token of the flags that corresponds to an empty group or the end."""
    flag = yield from flags.take()
    up = 1 if token.kind == BARE else 0
    if structure(flag) != (token.kind, token.stop + up, token.low + up):
        use.mismatch(x, token, flags, flag, lift=1)


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
