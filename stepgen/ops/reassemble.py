"""reassemble: merges chunks of the streams that a selector names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from stepgen.compile.circuit import Circuit, circuit_of
from stepgen.ir.dims import Dim, static
from stepgen.ir.dtypes import Selector
from stepgen.ir.graph import build
from stepgen.ir.merging import common_type, merged_totals
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.wire import BARE, DONE, wire_levels
from stepgen.semantics.process import Process, Use
from stepgen.semantics.tokens import Token

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering


class Reassemble(Operator, Circuit):
    """x_i ``[E_i, D_{a-1}..D_0]``, sel ``[S_b..S_0]`` -> ``[S_b..S_0, K, D_{a-1}..D_0]``.

    The inputs of a node are the x_i and, last, the selectors. Attributes: ``rank``, ``order``.
    """

    is_main = True
    covers = 'order "index" and "arrival"'
    moves = True
    merges = True

    def infer(self, call: Call) -> Sequence[Out]:
        """K is ragged unless every selector has the same number of bits set."""
        *xs, sel = call.inputs
        selector = call.selector(sel)
        if len(xs) != selector.n:
            call.fail(f"{sel.name} is {sel}, but there are {len(xs)} streams to take from")
        rank = call.integer("rank", 0)
        inner, dtype, _ = common_type(call, xs, rank)
        known = call.graph.routings.get(sel.origin)
        if known is not None:
            _check_counts(call, xs, sel, known.counts)
        if selector.hot is None:
            chosen = call.symbols.fresh("K", "ragged", selector.n)
        else:
            chosen = static(selector.hot)
        totals, volume = merged_totals(xs, rank)
        outer = {level + rank + 1: total for level, total in enumerate(sel.totals)}
        return [Out((*sel.shape, chosen, *inner), dtype, {**totals, **outer}, volume)]

    def steers(self, node: Node, index: int) -> bool:
        """The selectors do."""
        return index + 1 == len(node.inputs)

    def steered_by(self, node: Node) -> Sequence[int]:
        """The selectors."""
        return (len(node.inputs) - 1,)

    def ends_with(self, node: Node) -> Sequence[int]:
        """The selectors, so that a loop through an input ends."""
        return (len(node.inputs) - 1,)

    def run(self, use: Use) -> Process:
        """The last chunk of a group gets the selector's stop; without a set bit the group is empty.

        In order of arrival the chunks of a group have the order of `choices`, if given.
        """
        *xs, sel = use.inputs
        rank, out = use["rank"], use.outputs[0]
        while True:
            choice = yield from sel.take()
            if choice.kind == DONE:
                break
            if choice.kind == BARE:
                out.bare(choice.low + rank + 1, choice.stop + rank + 1)
                continue
            chosen = [i for i, bit in enumerate(choice.value) if bit]
            close = choice.stop + rank + 1
            if not chosen:
                out.bare(rank + 1, close)
            if use.choices is not None and use["order"] == "arrival":
                chosen = _replayed(use, chosen)
            for i in chosen:
                while True:
                    token = yield from xs[i].take()
                    if token.kind == DONE or (token.kind == BARE and token.low > rank):
                        use.mismatch(sel, choice, xs[i], token, lift=rank)
                    ends = token.stop == rank
                    stop = close if ends and i == chosen[-1] else token.stop
                    out.put(Token(token.kind, token.value, stop, token.low))
                    if ends:
                        break
        out.done()
        for x in xs:
            token = yield from x.take()
            if token.kind != DONE:
                use.fail(f"{x.name} has a chunk left when the selectors of {sel.name} have ended")

    def lower(self, node: Node, to: Lowering) -> None:
        """One unit with an input per producer."""
        from stepgen.hw.units.reassemble.params import Reassemble as Unit

        level = wire_levels(node.inputs[0].dtype) + node.attrs["rank"]
        *xs, sel = node.inputs
        in_step = tuple(n for n, x in enumerate(xs) if _routed(x, n, _selectors(sel)))
        single = isinstance(sel.dtype, Selector) and sel.dtype.hot == 1
        params = Unit(len(xs), level, node.attrs["order"], in_step, single)
        inputs = {name: to.input(node, index) for index, name in enumerate(params.inputs)}
        to.unit(node.name, params, **inputs, y=to.output(node))

    def shares(self, node: Node, outputs: Sequence[int]) -> int:
        """As many as of what it merges."""
        return outputs[0]


def _check_counts(call: Call, xs: Sequence[Stream], sel: Stream, counts: Sequence[Dim]) -> None:
    """Check that every chunk is consumed: an input of another length is a mistake.

    Lengths are an error only if they differ for some value of the same symbols.
    """
    for x, count in zip(xs, counts, strict=True):
        mine, its = x.dim(x.rank), count
        if not mine.same(its) and mine.expr.free_symbols <= its.expr.free_symbols:
            call.fail(
                f"{x.name} has shape {_shape(x)} and {sel.name} of shape {_shape(sel)} selects it "
                f"{its} times, which differ in dim D{x.rank}, {mine} against {its}"
            )


def _shape(stream: Stream) -> str:
    return f"[{', '.join(str(d) for d in stream.shape)}]"


def _replayed(use: Use, chosen: Iterable[int]) -> list[int]:
    assert use.choices is not None
    order = [next(use.choices, -1) for _ in chosen]
    if sorted(order) != list(chosen):
        if use.guesses:
            use.choices = None
            return list(chosen)
        use.fail(
            f"the order of arrival that was given, {order}, does not fit inputs {list(chosen)}"
        )
    return order


def _selectors(stream: Stream) -> Stream:
    """The stream that a stream of selectors is but for its structure."""
    stream = stream.resolved()
    node, circuit = stream.node, circuit_of(stream.node)
    same = node.face.copies or (circuit is not None and circuit.restructures)
    return _selectors(node.inputs[0]) if same else stream


def _routed(x: Stream, output: int, selectors: Stream) -> bool:
    """Whether the chunks of a stream come in the order of selectors that name an output.

    All but routes and merges keep the order of what passes them; what is merged has the order of
    its selectors.
    """
    seen, streams = set[Stream](), [x.resolved()]
    while streams:
        stream = streams.pop()
        node = stream.node
        if stream in seen:
            continue
        seen.add(stream)
        circuit = circuit_of(node)
        if circuit is None or circuit.selects:
            continue
        if circuit.routes and _selectors(node.inputs[-1]) == selectors:
            if stream.port == output:
                return True
            continue
        if not circuit.routes:
            above = node.inputs[-1:] if circuit.merges else node.inputs
            streams += [one.resolved() for one in above]
    return False


@public
def reassemble(
    xs: Sequence[Stream],
    sel: Stream,
    *,
    rank: int,
    order: Literal["index", "arrival"] = "index",
    name: str | None = None,
) -> Stream:
    """For each selector take one rank-`rank` chunk from every selected stream.

    Parameters
    ----------
    xs : sequence of Stream
        ``[E_i, D_{a-1}..D_0]``, all of rank `rank`.
    sel : Stream
        Selectors ``[S_b..S_0]`` over the streams. No bit set gives an empty group.
    rank : int
        a, the rank of a chunk.
    order : {"index", "arrival"}
        The order of the chunks within a group.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream
        ``[S_b..S_0, K, D_{a-1}..D_0]``, K being the number of bits set.

    Raises
    ------
    StepError
        If the streams differ in type or are known not to have as many chunks as are selected.

    Notes
    -----
    Reassemble (paper, section 3), whose order is ``"arrival"``; ``"index"``, which does not depend
    on time, is stepgen's addition. Chunks are never interleaved.

    Examples
    --------
    >>> g = sg.Graph()
    >>> a, b = g.input("a", sg.int8[1, 8], (2, 3)), g.input("b", sg.int8[1, 8], (2, 3))
    >>> route = g.input("route", sg.Selector(2, hot=1), (4,))
    >>> sg.reassemble([a, b], route, rank=1)
    <reassemble_0.0 Stream[int8 1x8; 4, 1, 3]>
    """
    attrs: dict[str, Any] = {"rank": rank, "order": order}
    return build("reassemble", (*xs, sel), attrs, name)[0]
