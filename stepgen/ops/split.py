"""split: takes a static dim apart."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.ir.dims import static
from stepgen.ir.graph import build
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tile_order import TileOrder, Unknown, trips_of
from stepgen.ir.wire import BARE, DONE, wire_levels
from stepgen.semantics.process import Process, Use
from stepgen.semantics.tokens import Token

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering
    from stepgen.ir.ordering import Ordering


class Split(Operator, Circuit):
    """``[D_a..D_d..D_0]`` -> for each size ``[D_a..size..D_0]``.

    Attributes of a node: ``sizes``, ``dim``.
    """

    keeps_tiles = True
    moves = True

    def infer(self, call: Call) -> Sequence[Out]:
        """The sizes add up to the extent, which must be static."""
        x, dim, sizes = call.inputs[0], call.level("dim", call.inputs[0]), call.integers("sizes", 1)
        extent = x.dim(dim)
        if extent != sum(sizes):
            call.fail(
                f"sizes {list(sizes)} add up to {sum(sizes)}, but D{dim} of {x.name} is {extent}: "
                f"it is {x}"
            )
        outer, inner = x.shape[: x.rank - dim], x.shape[x.rank - dim + 1 :]
        above = {k: total for k, total in enumerate(x.totals) if k > dim}
        return [
            Out(
                (*outer, static(size), *inner),
                x.dtype,
                {**above, dim: x.totals[dim] * Fraction(size, sum(sizes))},
            )
            for size in sizes
        ]

    def chunks(self, node: Node, rank: int) -> int | None:
        """The same; of a chunk that is taken apart each output has a part."""
        return rank

    def order(self, of: Ordering) -> TileOrder:
        """A part of the trips of one loop."""
        x = of.input()
        place = len(x.dims) - 1 - of.attrs["dim"]
        loops = [loop for loop in x.dims[place] if loop[0] != 1]
        if len(loops) > 1:
            raise Unknown("a dim of several loops is taken apart")
        part = [(trips_of(of.out.shape[place]), loops[0][1])] if loops else []
        return x.with_dims([*x.dims[:place], part, *x.dims[place + 1 :]])

    def run(self, use: Use) -> Process:
        """The last token of each part gets the stop of the group, which comes with its last one.

        Where groups have no dim above but the outermost, their stop is known before.
        """
        x, outs, dim, sizes = use.inputs[0], use.outputs, use["dim"], use["sizes"]
        inside, waits = x.stream.rank > dim, x.stream.rank > dim + 1
        while True:
            lasts = []
            for out, size in zip(outs, sizes, strict=True):
                for chunk in range(size):
                    while True:
                        token = yield from x.take()
                        above = token.kind == BARE and token.low > dim + 1
                        if token.kind == DONE or above:
                            for each in outs:
                                each.put(token)
                        if token.kind == DONE:
                            return
                        if above:
                            continue
                        if chunk == size - 1 and token.stop >= dim and waits:
                            lasts.append(token)
                        elif chunk == size - 1 and token.stop >= dim and inside:
                            out.put(Token(token.kind, token.value, dim + 1, token.low))
                        else:
                            out.put(token)
                        if token.stop >= dim:
                            break
            for out, last in zip(outs, lasts, strict=False):
                out.put(Token(last.kind, last.value, token.stop, last.low))

    def lower(self, node: Node, to: Lowering) -> None:
        """One unit, which counts."""
        from stepgen.hw.units.split.params import Split as Unit

        level = wire_levels(node.inputs[0].dtype) + node.attrs["dim"]
        params = Unit(tuple(node.attrs["sizes"]), level)
        ys = {y: to.output(node, port) for port, y in enumerate(params.outputs)}
        to.unit(node.name, params, x=to.input(node, 0), **ys)

    def shares(self, node: Node, outputs: Sequence[int]) -> int | None:
        """Those of an output, if all have as many."""
        return outputs[0] if len(outputs) == len(node.outputs) and len({*outputs}) == 1 else None


@public
def split(
    x: Stream, sizes: Sequence[int], *, dim: int = 0, name: str | None = None
) -> tuple[Stream, ...]:
    """Take a static dim apart: its first elements go to the first output, and so on.

    So several results share one unit, such as the queries, keys and values of a row.

    Parameters
    ----------
    x : Stream
        ``[D_a..D_0]``.
    sizes : sequence of int
        The extents of the outputs in that dim, each at least 1. They add up to that of `x`.
    dim : int
        d, the level of the dim.
    name : str, optional
        Name of the node.

    Returns
    -------
    tuple of Stream
        For each size a stream like `x` with this size as D_d.

    Raises
    ------
    StepError
        If the dim is not static, or the sizes add up to another number.

    Notes
    -----
    Not of the paper. `concat` joins the parts again.

    Examples
    --------
    >>> g = sg.Graph()
    >>> x = g.input("x", sg.int8[1, 8], (3, 8))
    >>> x.split((4, 2, 2))[1:]
    (<split_0.1 Stream[int8 1x8; 3, 2]>, <split_0.2 Stream[int8 1x8; 3, 2]>)
    """
    return build("split", (x,), {"sizes": tuple(sizes), "dim": dim}, name)
