"""partition: routes chunks to the consumers that their selector names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.ir.dims import Dim, times
from stepgen.ir.dtypes import Buffer, DataType, Selector, Tile
from stepgen.ir.graph import build
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.stream import Node, Out, Routing, Stream
from stepgen.ir.wire import BARE, DONE, wire_levels
from stepgen.semantics.process import Process, Use, lowered, structure
from stepgen.semantics.tokens import Token

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering


class Partition(Operator, Circuit):
    """x ``[D_a..D_0]``, sel ``[D_a..D_b]`` -> n streams ``[E_i, D_{b-1}..D_0]``.

    Attributes of a node: ``rank``, ``num_consumers``.
    """

    is_main = True
    moves = True
    routes = True

    def infer(self, call: Call) -> Sequence[Out]:
        """One output per consumer; E_i depends on the selectors only."""
        x, sel = call.inputs
        rank = call.level("rank", x)
        n = call.selector(sel).n
        if call.attrs["num_consumers"] is None:
            call.attrs["num_consumers"] = n
        if call.attrs["num_consumers"] != n:
            call.fail(
                f"num_consumers is {call.attrs['num_consumers']}, but {sel.name} is {sel} with "
                f"{n} consumers"
            )
        outer = x.shape[: len(x.shape) - rank]
        call.same_dims(outer, sel.shape, f"{x.name} above rank {rank}", sel.name, lowest=rank)
        routing = call.graph.routing(sel)
        return [_out(x, rank, routing, i) for i in range(n)]

    def steers(self, node: Node, index: int) -> bool:
        """The selectors do."""
        return index == 1

    def steered_by(self, node: Node) -> Sequence[int]:
        """The selectors."""
        return (1,)

    def ends_with(self, node: Node) -> Sequence[int]:
        """The routed stream, so that a loop through the selectors ends."""
        return (0,)

    def run(self, use: Use) -> Process:
        """Sends complete chunks, which close level `rank`; the structure above chunks is dropped.

        In a loop there may be more selectors than chunks, since the loop keeps naming consumers
        until the end reaches it: the rest is dropped.
        """
        (x, sel), rank = use.inputs, use["rank"]
        while True:
            head = yield from x.peek()
            if head.kind == DONE:
                yield from x.take()
                for out in use.outputs:
                    out.done()
                yield from _drain(use)
                return
            choice = yield from sel.take()
            if head.kind == BARE and head.low > rank:
                yield from x.take()
                if structure(choice) != lowered(head, rank):
                    use.mismatch(x, head, sel, choice, lift=-rank)
                continue
            if choice.kind in (BARE, DONE):
                yield from x.take()
                use.mismatch(x, head, sel, choice, lift=-rank)
            outs = [out for out, bit in zip(use.outputs, choice.value, strict=True) if bit]
            while True:
                token = yield from x.take()
                stop = min(token.stop, rank)
                for out in outs:
                    out.put(Token(token.kind, token.value, stop, token.low))
                if token.stop >= rank:
                    break
            if token.stop - rank != choice.stop:
                use.mismatch(x, token, sel, choice, lift=-rank)

    def lower(self, node: Node, to: Lowering) -> None:
        """One unit with an output per consumer."""
        from stepgen.hw.units.partition.params import Partition as Unit

        x = node.inputs[0]
        level = wire_levels(x.dtype) + node.attrs["rank"]
        shares = tuple(to.stored.shares.get(y, 0) for y in node.outputs)
        rest = to.stored.rests.get(node)
        params = Unit(
            consumers=len(node.outputs),
            level=level,
            surplus=node.name in to.on_cycles,
            shares=shares if any(shares) else (),
            given=self.shares(node, shares),
            rests=rest is not None,
            once=node.graph.routing(node.inputs[1]).once,
        )
        delay = params.delay(to.lanes)
        ys = {y: to.output(node, port, delay=delay) for port, y in enumerate(params.ys)}
        if rest is not None:
            ys["rest"] = rest
        to.unit(node.name, params, x=to.input(node, 0), sel=to.input(node, 1), **ys)

    def shares(self, node: Node, outputs: Sequence[int]) -> int:
        """Those of the outputs that a selector may name, if it names the ones that have most."""
        selector = node.inputs[1].dtype
        assert isinstance(selector, Selector)
        return sum(sorted(outputs, reverse=True)[: selector.hot])

    def returns(self, node: Node, outputs: Sequence[int]) -> bool:
        """Unless each selector names as many outputs, and these have equal shares."""
        selector = node.inputs[1].dtype
        assert isinstance(selector, Selector)
        return bool(outputs) and (selector.hot is None or len(set(outputs)) > 1)


def _out(x: Stream, rank: int, routing: Routing, index: int) -> Out:
    inner = x.shape[len(x.shape) - rank :]
    shape = (routing.counts[index], *(_of_input(d, routing, index) for d in inner))
    dtype: DataType = x.dtype
    if not isinstance(dtype, (Tile, Buffer)):
        return Out(shape, dtype)
    tile, held = (dtype.tile, dtype.shape) if isinstance(dtype, Buffer) else (dtype, ())
    rows, cols = (_of_input(d, routing, index) for d in tile.dims)
    held = tuple(_of_input(d, routing, index) for d in held)
    volume, others = None, (cols, *shape, *held)
    if tile.rows in routing.sums and not any(d.is_ragged for d in others):
        per_row = [cols.expr, *(d.expr for d in (*shape[1:], *held))]
        volume = times([routing.sums[tile.rows][index], *per_row])
    tile = Tile(rows, cols, tile.element)
    dtype = Buffer(tile, held) if isinstance(dtype, Buffer) else tile
    return Out(shape, dtype, volume=volume)


def _of_input(dim: Dim, routing: Routing, index: int) -> Dim:
    """For the selector of a merge, chunks of input i have the dims of input i again."""
    return routing.merged[dim][index] if dim in routing.merged else dim


def _drain(use: Use) -> Process:
    x, sel = use.inputs
    while True:
        choice = yield from sel.take()
        if choice.kind == DONE:
            return
        if not use.cyclic:
            use.mismatch(x, Token(DONE), sel, choice)


@public
def partition(
    x: Stream,
    sel: Stream,
    *,
    rank: int,
    num_consumers: int | None = None,
    name: str | None = None,
) -> tuple[Stream, ...]:
    """Send each rank-`rank` chunk to every consumer whose bit its selector has set.

    Parameters
    ----------
    x : Stream
        ``[D_a..D_0]``.
    sel : Stream
        Selectors ``[D_a..D_b]``, one per chunk. No bit set drops the chunk, several multicast it.
    rank : int
        b, the rank of a chunk.
    num_consumers : int, optional
        Number of outputs, by default that of the selectors.
    name : str, optional
        Name of the node.

    Returns
    -------
    tuple of Stream
        ``[E_i, D_{b-1}..D_0]``; equal selectors give equal E_i.

    Raises
    ------
    StepError
        If the shapes don't fit.

    Notes
    -----
    Partition (paper, section 3).

    Examples
    --------
    >>> g = sg.Graph()
    >>> x, route = g.input("x", sg.int8[1, 8], (4, 3)), g.input("route", sg.Selector(2), (4,))
    >>> x.partition(route, rank=1)
    (<partition_0.0 Stream[int8 1x8; E0, 3]>, <partition_0.1 Stream[int8 1x8; E1, 3]>)
    """
    return build("partition", (x, sel), {"rank": rank, "num_consumers": num_consumers}, name)
