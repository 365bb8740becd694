"""scan: accum that emits its state at every element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.ir.applying import Applying, matmul_memory, tiles_of
from stepgen.ir.expr import Expr
from stepgen.ir.function import Function, Scanned
from stepgen.ir.graph import build
from stepgen.ir.operator import Call, public
from stepgen.ir.policy import Policy
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tile_order import TileOrder
from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics.applying import Operands, checked, setting
from stepgen.semantics.folding import Fold
from stepgen.semantics.process import Process, Use

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering
    from stepgen.ir.ordering import Ordering


class Scan(Applying, Circuit):
    """``[D_a..D_0]`` -> the same. Attributes of a node: ``fn``, ``rank``, ``init``."""

    computes = True
    is_main = True
    covers = (
        "sums, products, maxima, minima, element by element; count; "
        "matmul (int8 and int16 to int32, bf16 and f32 to f32)"
    )

    def infer(self, call: Call) -> Sequence[Out]:
        """The function gives the type of its state, which has a constant size."""
        function: Function = call.attrs["fn"]
        x = call.inputs[0]
        for other in call.inputs[1:]:
            call.same_shape(x, other)
        call.level("rank", x, 1)
        tiles = tiles_of(call, call.inputs)
        if not isinstance(function, Scanned):
            call.fail(
                f"{function} can't scan, choose a function whose result keeps its size such as add"
            )
        tile = function.state(call, *tiles)
        if call.attrs["init"] is not None:
            call.constant("init", call.attrs["init"], tile.element)
        return [Out(x.shape, tile, dict(enumerate(x.totals)))]

    def memory(self, node: Node, policy: Policy) -> Expr:
        """The state, and the operands of a matmul if the policy counts them."""
        return policy.on_chip(node.outputs[0].dtype) + matmul_memory(node, policy)

    def order(self, of: Ordering) -> TileOrder:
        """That of the operand with most of the state; a product has one of its own."""
        if getattr(of.attrs["fn"], "extents_of", "") == "product":
            return of.product().without_idle_dims()
        return of.made_of(of.widest())

    def run(self, use: Use) -> Process:
        """The state is reset after each chunk."""
        rank, out = use["rank"], use.outputs[0]
        operands = Operands(use)
        state = Fold(use["fn"], setting(use), use["init"])
        while True:
            tokens = yield from use.take_all(use.inputs)
            token = tokens[0]
            if token.kind == VALUE:
                state.update(operands.of(tokens))
                # The function may change its state in place, of which the tile may be a view.
                out.value(checked(use, state.tile()).copy(), token.stop)
            else:
                out.put(token)
                if token.kind == DONE:
                    return
            if token.stop >= rank:
                state.reset()

    def lower(self, node: Node, to: Lowering) -> None:
        """One unit, if the function has a circuit; a matmul of integers has two."""
        from stepgen.compile.folding import fold

        fold(node, to, node.attrs["fn"].scan_unit, joins=False)


@public
def scan(
    fn: Function,
    *xs: Stream,
    rank: int,
    init: float | None = None,
    name: str | None = None,
) -> Stream:
    """Fold each rank-`rank` chunk and emit the state after every element.

    Parameters
    ----------
    fn : Function
        Such as ``fn.add()``: one whose state keeps its size.
    *xs : Stream
        Streams of equal shape ``[D_a..D_0]``.
    rank : int
        b, the rank of a chunk, at least 1; the state starts anew with each chunk.
    init : number, optional
        Every element of the state before the first update; by default what the function leaves
        unchanged.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream
        Of the same shape.

    Raises
    ------
    StepError
        If shapes differ or the function can't scan such tiles.

    Notes
    -----
    Scan (paper, section 3): elements update the state in the order of the stream.

    Examples
    --------
    >>> g = sg.Graph()
    >>> x = g.input("x", sg.f32[1, 8], (4, 3))
    >>> x.scan(sg.fn.add(), rank=1)
    <scan_0.0 Stream[f32 1x8; 4, 3]>
    """
    return build("scan", xs, {"fn": fn, "rank": rank, "init": init}, name)[0]
