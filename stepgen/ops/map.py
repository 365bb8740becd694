"""map: applies a function to each element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.compile.stop_use import lacks_stops
from stepgen.ir.applying import Applying, matmul_memory, operands_of, over_all
from stepgen.ir.dtypes import Tile
from stepgen.ir.expr import Expr
from stepgen.ir.function import Function, Mapped
from stepgen.ir.graph import build
from stepgen.ir.operator import Call, Sizes, public
from stepgen.ir.policy import Policy
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tile_order import TileOrder
from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics.applying import Operands, checked, setting
from stepgen.semantics.process import Process, Use

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering
    from stepgen.ir.ordering import Ordering


class Map(Applying, Circuit):
    """``[D_a..D_0]`` (several, of equal shape) -> the same. Attributes of a node: ``fn``."""

    computes = True
    is_main = True
    covers = (
        "matmul, also of sums that start at a row (int8 and int16 to int32, bf16 and f32 to f32); "
        "sums, products, comparisons, conversions, requantize, also per column; "
        "rows and columns are broadcast; sums, maxima and running maxima of rows; "
        "shifts of columns; the largest of a row, also as selectors, and where it is; "
        "selectors of flags, and flags of selectors; logic of both; what flags choose; "
        "rows placed by number; masks by number and by position; "
        "ranges of starts and lengths, and their ends"
    )

    def infer(self, call: Call) -> Sequence[Out]:
        """The shape of the inputs, with the function's tile."""
        function: Function = call.attrs["fn"]
        x = call.inputs[0]
        for other in call.inputs[1:]:
            call.same_shape(x, other)
        operands = operands_of(call, function, call.inputs)
        if not isinstance(function, Mapped):
            call.fail(f"{function} can't be mapped, choose a function from tiles to a tile")
        made = function.tile(call, *operands)
        volume = over_all(call.inputs, made.elements) if isinstance(made, Tile) else None
        return [Out(x.shape, made, dict(enumerate(x.totals)), volume)]

    def chunks(self, node: Node, rank: int) -> int | None:
        """The same."""
        return rank

    def memory(self, node: Node, policy: Policy) -> Expr:
        """Operands of a matmul, if the policy counts them."""
        return matmul_memory(node, policy)

    def measured_memory(self, node: Node, sizes: Sizes) -> int:
        """Only the operands."""
        return sizes.operands(node)

    def order(self, of: Ordering) -> TileOrder:
        """That of the operand with most of the result; a product has one of its own."""
        if getattr(of.attrs["fn"], "extents_of", "") == "product":
            return of.product().without_idle_dims()
        return of.made_of(of.widest())

    def run(self, use: Use) -> Process:
        """Keep the structure, replace the values."""
        function: Mapped = use["fn"]
        at, operands, out = setting(use), Operands(use), use.outputs[0]
        while True:
            tokens = yield from use.take_all(use.inputs)
            if tokens[0].kind == VALUE:
                given = operands.of(tokens)
                function.fit(*given)
                out.value(checked(use, function.compute(at, *given)), tokens[0].stop)
                continue
            out.put(tokens[0])
            if tokens[0].kind == DONE:
                return

    def lower(self, node: Node, to: Lowering) -> None:
        """One unit, if the function has a circuit."""
        from stepgen.compile.choosing import add_chosen

        function = node.attrs["fn"]
        types = [s.dtype for s in (*node.inputs, *node.outputs)]
        without_stops = [lacks_stops(x) for x in node.inputs]
        add_chosen(node, to, lambda: function.unit(to.lanes, types, without_stops))

    def ignores_stops(self, node: Node, index: int) -> bool:
        """For the operands that the function's unit counts."""
        return index in node.attrs["fn"].counted


@public
def map(fn: Function, *xs: Stream, name: str | None = None) -> Stream:
    """Apply a function to every element.

    Parameters
    ----------
    fn : Function
        Such as ``fn.matmul()``.
    *xs : Stream
        Streams of equal shape, one per tile or selector that the function takes; a stream of tuples
        gives several.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream
        Of the same shape.

    Raises
    ------
    StepError
        If shapes differ or the function does not take such tiles.

    Notes
    -----
    Map (paper, section 3); of several streams it is Map of their Zip.

    Examples
    --------
    >>> g = sg.Graph()
    >>> x, w = g.input("x", sg.int8[1, 16], (4,)), g.input("w", sg.int8[16, 8], (4,))
    >>> y = x.map(sg.fn.matmul(), w)
    >>> y
    <map_0.0 Stream[int32 1x8; 4]>
    >>> y.map(sg.fn.requantize(shift=6))
    <map_1.0 Stream[int8 1x8; 4]>
    """
    return build("map", xs, {"fn": fn}, name)[0]
