"""fork: copies a stream for several consumers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.ir.dtypes import MOST_CONSUMERS
from stepgen.ir.graph import build
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tile_order import TileOrder
from stepgen.ir.wire import DONE
from stepgen.semantics.process import Process, Use

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering
    from stepgen.ir.ordering import Ordering


class Fork(Operator, Circuit):
    """``[D_a..D_0]`` -> n times the same. Attributes of a node: ``n``."""

    copies = True
    keeps_tiles = True
    moves = True

    def infer(self, call: Call) -> Sequence[Out]:
        """Every copy has the dims of the original; for selectors see `Stream.origin`."""
        x, n = call.inputs[0], call.integer("n", 1, MOST_CONSUMERS)
        return [Out(x.shape, x.dtype, dict(enumerate(x.totals)), x.volume) for _ in range(n)]

    def chunks(self, node: Node, rank: int) -> int | None:
        """The same."""
        return rank

    def order(self, of: Ordering) -> TileOrder:
        """The same."""
        return of.input()

    def run(self, use: Use) -> Process:
        """Every token goes to all outputs."""
        x = use.inputs[0]
        while True:
            token = yield from x.take()
            for out in use.outputs:
                out.put(token)
            if token.kind == DONE:
                return

    def lower(self, node: Node, to: Lowering) -> None:
        """One unit with an output per copy."""
        from stepgen.hw.units.fork.params import Fork as Unit

        params = Unit(branches=len(node.outputs))
        ys = {y: to.output(node, port) for port, y in enumerate(params.outputs)}
        to.unit(node.name, params, x=to.input(node, 0), **ys)

    def shares(self, node: Node, outputs: Sequence[int]) -> int:
        """Those of all copies."""
        return sum(outputs)

    def only_rewrites_stops(self, node: Node) -> bool:
        """It leaves them as they are."""
        return True


@public
def fork(x: Stream, n: int, *, name: str | None = None) -> tuple[Stream, ...]:
    """Copy a stream for several consumers.

    A program may just as well use a stream many times; the fork makes explicit where the copies
    part, and each copy asks for a FIFO of its own.

    Parameters
    ----------
    x : Stream
        ``[D_a..D_0]``.
    n : int
        Number of copies, at least 1.
    name : str, optional
        Name of the node.

    Returns
    -------
    tuple of Stream
        `n` streams like `x`.

    Raises
    ------
    StepError
        If `n` is not an integer, or below 1.

    Notes
    -----
    Not of the paper, where a stream that is used many times is copied without a word.

    Examples
    --------
    >>> g = sg.Graph()
    >>> x = g.input("x", sg.int8[1, 8], (4,))
    >>> x.fork(2)
    (<fork_0.0 Stream[int8 1x8; 4]>, <fork_0.1 Stream[int8 1x8; 4]>)
    """
    return build("fork", (x,), {"n": n}, name)
