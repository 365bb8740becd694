"""zip: makes tuples of the elements of several streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.ir.dtypes import TupleType
from stepgen.ir.graph import build
from stepgen.ir.operator import Call, Operator, Sizes, public
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics.process import Process, Use

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering


class Zip(Operator, Circuit):
    """``[D_a..D_0]`` (several, of equal shape) -> the same shape of tuples."""

    bundles = True

    def infer(self, call: Call) -> Sequence[Out]:
        """The shapes must be equal."""
        x, *others = call.inputs
        for other in others:
            call.same_shape(x, other)
        items = TupleType(tuple(s.dtype for s in call.inputs))
        return [Out(x.shape, items, dict(enumerate(x.totals)))]

    def chunks(self, node: Node, rank: int) -> int | None:
        """The same."""
        return rank

    def measured_element(self, node: Node, sizes: Sizes) -> int:
        """One of each input."""
        return sum(sizes.element(s) for s in node.inputs)

    def run(self, use: Use) -> Process:
        """Structures must agree token by token; empty groups are passed on."""
        out = use.outputs[0]
        while True:
            tokens = yield from use.take_all(use.inputs)
            if tokens[0].kind == VALUE:
                out.value(tuple(token.value for token in tokens), tokens[0].stop)
                continue
            out.put(tokens[0])
            if tokens[0].kind == DONE:
                return

    def lower(self, node: Node, to: Lowering) -> None:
        """Nothing: who reads its tuples reads its inputs (see `stepgen.compile.unzip`)."""

    def ignores_stops(self, node: Node, index: int) -> bool:
        """It reads nothing."""
        return True


@public
def zip(x: Stream, *xs: Stream, name: str | None = None) -> Stream:
    """Make tuples of the elements of several streams.

    Parameters
    ----------
    x, *xs : Stream
        Of equal shape.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream
        Of tuples, for functions of several tiles; `unzip` takes them apart.

    Raises
    ------
    StepError
        If the shapes differ.

    Notes
    -----
    Zip (paper, section 3). Extents that differ only at run time are an error of the run that
    names both streams. The paper pairs two streams. At inputs and outputs of a circuit each item
    has a port of its own.

    Examples
    --------
    >>> g = sg.Graph()
    >>> x, y = g.input("x", sg.int8[1, 8], (4,)), g.input("y", sg.int8[1, 8], (4,))
    >>> x.zip(y)
    <zip_0.0 Stream[(int8 1x8, int8 1x8); 4]>
    >>> x.zip(y).map(sg.fn.add())
    <map_0.0 Stream[int8 1x8; 4]>
    """
    return build("zip", (x, *xs), {}, name)[0]
