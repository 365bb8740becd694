"""unzip: takes tuples apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.ir.dtypes import TupleType
from stepgen.ir.graph import build
from stepgen.ir.operator import Call, Operator, Sizes, public
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tile_order import TileOrder
from stepgen.ir.wire import DONE, VALUE
from stepgen.ops.zip import Zip
from stepgen.semantics.process import Process, Use

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering
    from stepgen.ir.ordering import Ordering


class Unzip(Operator, Circuit):
    """Tuples ``[D_a..D_0]`` -> for each of their items a stream of the same shape."""

    bundles = True

    def infer(self, call: Call) -> Sequence[Out]:
        """Every item has the dims of the tuples."""
        x = call.inputs[0]
        if not isinstance(x.dtype, TupleType):
            call.fail(f"{x.name} must be a stream of tuples, not {x}")
        return [Out(x.shape, item, dict(enumerate(x.totals))) for item in x.dtype.items]

    def chunks(self, node: Node, rank: int) -> int | None:
        """The same."""
        return rank

    def measured_element(self, node: Node, sizes: Sizes) -> int:
        """A tuple has all items."""
        return sizes.element(node.inputs[0])

    def order(self, of: Ordering) -> TileOrder:
        """That of the stream that was zipped."""
        made = of.node.inputs[0].node
        return of.unzipped(made) if type(made.face) is Zip else of.own()

    def run(self, use: Use) -> Process:
        """Each item goes to an output of its own, empty groups and the end to all."""
        x = use.inputs[0]
        while True:
            token = yield from x.take()
            for n, out in enumerate(use.outputs):
                if token.kind == VALUE:
                    out.value(token.value[n], token.stop)
                else:
                    out.put(token)
            if token.kind == DONE:
                return

    def lower(self, node: Node, to: Lowering) -> None:
        """Nothing: the items of tuples are streams already (see `stepgen.compile.unzip`)."""

    def ignores_stops(self, node: Node, index: int) -> bool:
        """It reads nothing."""
        return True


@public
def unzip(x: Stream, *, name: str | None = None) -> tuple[Stream, ...]:
    """Take the tuples of a stream apart.

    Parameters
    ----------
    x : Stream
        ``[D_a..D_0]`` of tuples.
    name : str, optional
        Name of the node.

    Returns
    -------
    tuple of Stream
        A stream of the same shape for each item.

    Raises
    ------
    StepError
        If the stream has no tuples.

    Notes
    -----
    The inverse of `zip`, and stepgen's addition. In the paper functions alone take tuples apart.

    Examples
    --------
    >>> g = sg.Graph()
    >>> x, y = g.input("x", sg.int8[1, 8], (4,)), g.input("y", sg.int32[1, 1], (4,))
    >>> x.zip(y).promote(0).unzip()
    (<unzip_0.0 Stream[int8 1x8; 4, 1]>, <unzip_0.1 Stream[int32 1x1; 4, 1]>)
    """
    return build("unzip", (x,), {}, name)
