"""expand: repeats elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.ir.dims import Dim, held_at_once, show_shape, static, times
from stepgen.ir.dtypes import Tile
from stepgen.ir.expr import Expr
from stepgen.ir.graph import build
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.policy import Policy
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tile_order import TileOrder
from stepgen.ir.wire import BARE, DONE, VALUE, wire_levels
from stepgen.semantics.process import Process, Use, structure

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering
    from stepgen.ir.ordering import Ordering


class Expand(Operator, Circuit):
    """x ``[D_a..D_b, 1..1]``, ref ``[D_a..D_0]`` -> ref's shape.

    Without ref, ``[D_a..D_1, 1]`` -> ``[D_a..D_1, count]``. Attributes of a node: ``rank``,
    ``count``.
    """

    keeps_tiles = True
    covers = "all; references to buffers by a count, or where they go to streamify alone"
    moves = True

    def infer(self, call: Call) -> Sequence[Out]:
        """The inner dims of x must be 1, the outer ones those of ref."""
        x, ref = call.inputs[0], call.inputs[1] if len(call.inputs) > 1 else None
        if (ref is None) == (call.attrs["count"] is None):
            call.fail("it needs either a reference stream or a count")
        rank = call.level("rank", x, 1)
        if any(d != 1 for d in x.shape[len(x.shape) - rank :]):
            call.fail(
                f"{x.name} has shape {show_shape(x.shape)}, whose {rank} innermost dims must be 1 "
                f"to be repeated"
            )
        if ref is None:
            count = call.integer("count", 1)
            totals = {0: x.totals[0] * count} | {k: t for k, t in enumerate(x.totals) if k > 0}
            repeated = (static(count),)
            return [Out((*x.shape[:-1], *repeated), x.dtype, totals, _volume(x, repeated))]
        if ref.rank != x.rank:
            call.same_shape(x, ref)
        outer = len(x.shape) - rank
        call.same_dims(
            x.shape[:outer],
            ref.shape[:outer],
            f"{x.name} above its dims of 1",
            f"{ref.name} above rank {rank}",
            lowest=rank,
        )
        totals = dict(enumerate(ref.totals))
        return [Out(ref.shape, x.dtype, totals, _volume(x, ref.shape[outer:]))]

    def repeats(self, node: Node) -> int:
        """The dims of 1 are repeated."""
        return int(node.attrs["rank"])

    def chunks(self, node: Node, rank: int) -> int | None:
        """The same."""
        return rank

    def steers(self, node: Node, index: int) -> bool:
        """The reference does."""
        return index == 1

    def memory(self, node: Node, policy: Policy) -> Expr:
        """The repeated element."""
        return policy.on_chip(node.outputs[0].dtype)

    def order(self, of: Ordering) -> TileOrder:
        """The same tiles, repeated."""
        x, rank = of.input(), of.attrs["rank"] if len(of.node.inputs) > 1 else 1
        place = len(x.dims) - rank
        return x.with_dims(x.dims[:place]).repeated(of.out.shape[place:], place)

    def run(self, use: Use) -> Process:
        """With or without a reference stream."""
        return _counted(use) if len(use.inputs) == 1 else _by_reference(use)

    def lower(self, node: Node, to: Lowering) -> None:
        """One ring buffer, for twice the largest element, or once where memory is scarce."""
        from stepgen.hw.units.expand.params import Expand as Unit

        x = node.inputs[0]
        base = wire_levels(x.dtype)
        if len(node.inputs) == 1 and x.rank < 1:
            raise to.fail(node, f"{x.name} is {x}, which has no dim to repeat over")
        ref = node.inputs[1] if len(node.inputs) > 1 else None
        beats = 1
        if base and isinstance(x.dtype, Tile):
            rows = to.bound(node, f"the number of rows of {x.dtype}", [x.dtype.rows])
            beats = max(rows, 1) * to.slices(node, x.dtype)
        one = Unit(
            count=node.attrs["count"],
            capacity=max(2, beats),
            base=base,
            level=base + node.attrs["rank"],
            ref_base=0 if ref is None else wire_levels(ref.dtype),
        )
        full = replace(one, capacity=max(2, beats * held_at_once(x.shape)))
        params = to.sized(full, one)
        reference = {} if ref is None else {"ref": to.input(node, 1, structure_only=True)}
        y = to.output(node, delay=params.delay(to.lanes))
        to.unit(node.name, params, x=to.input(node, 0), **reference, y=y)

    def shares(self, node: Node, outputs: Sequence[int]) -> int | None:
        """Those of all copies, if their number is known."""
        count = node.attrs["count"]
        return None if count is None else int(count) * outputs[0]


def _volume(x: Stream, dims: Sequence[Dim]) -> Expr | None:
    """Scalars of all tiles when each is repeated over `dims`, if that is known."""
    if any(d.is_ragged for d in dims):
        return None
    return times([x.volume, *(d.expr for d in dims)])


def _counted(use: Use) -> Process:
    x, out = use.inputs[0], use.outputs[0]
    while True:
        token = yield from x.take()
        if token.kind == VALUE:
            for _ in range(use["count"] - 1):
                out.value(token.value)
        out.put(token)
        if token.kind == DONE:
            return


def _by_reference(use: Use) -> Process:
    """One element of x belongs to each rank-`rank` group of ref, also to an empty one.

    An empty group inside that group does not wait for the element.
    """
    (x, ref), out, rank = use.inputs, use.outputs[0], use["rank"]
    while True:
        mark = yield from ref.peek()
        if mark.kind == DONE or (mark.kind == BARE and mark.low > rank):
            tokens = yield from use.take_all((x, ref))
            out.put(tokens[0])
            if mark.kind == DONE:
                return
            continue
        if mark.kind == BARE and mark.stop < rank:
            yield from ref.take()
            out.put(mark)
            continue
        item = yield from x.peek()
        mark = yield from ref.take()
        if mark.kind == BARE:
            out.put(mark)
        elif item.kind == VALUE:
            out.value(item.value, mark.stop)
        if item.kind != VALUE or mark.stop >= rank:
            yield from x.take()
            if structure(item) != (VALUE, mark.stop, 0):
                use.mismatch(x, item, ref, mark)


@public
def expand(
    x: Stream,
    ref: Stream | None = None,
    *,
    rank: int = 1,
    count: int | None = None,
    name: str | None = None,
) -> Stream:
    """Repeat each element over the dims of a reference stream, or a known number of times.

    Parameters
    ----------
    x : Stream
        ``[D_a..D_b, 1..1]``.
    ref : Stream, optional
        ``[D_a..D_0]``; what it carries is ignored.
    rank : int
        b, the number of inner dims of 1.
    count : int, optional
        Instead of `ref`: what the innermost dim becomes.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream
        Of ref's shape.

    Raises
    ------
    StepError
        If an inner dim of `x` is not 1 or the outer dims differ.

    Notes
    -----
    Expand (paper, section 3); `count` is its static form.

    Examples
    --------
    >>> g = sg.Graph()
    >>> x, ref = g.input("x", sg.int8[8, 8], (4, 1)), g.input("ref", sg.int8[1, 8], (4, 3))
    >>> x.expand(count=3)
    <expand_0.0 Stream[int8 8x8; 4, 3]>
    >>> x.expand(ref, rank=1)
    <expand_1.0 Stream[int8 8x8; 4, 3]>
    """
    inputs = (x,) if ref is None else (x, ref)
    return build("expand", inputs, {"rank": rank, "count": count}, name)[0]
