"""reassemble: merges chunks of the streams that a selector names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from stepgen.ir.dims import Dim, static
from stepgen.ir.graph import build
from stepgen.ir.merging import common_type, merged_totals
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.stream import Node, Out, Stream


class Reassemble(Operator):
    """x_i ``[E_i, D_{a-1}..D_0]``, sel ``[S_b..S_0]`` -> ``[S_b..S_0, K, D_{a-1}..D_0]``.

    The inputs of a node are the x_i and, last, the selectors. Attributes: ``rank``, ``order``.
    """

    is_main: ClassVar[bool] = True

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
