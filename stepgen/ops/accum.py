"""accum: folds each chunk into one element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.ir.applying import Applying, matmul_memory, over_all, tiles_of
from stepgen.ir.dims import Dim, times
from stepgen.ir.dtypes import Tile
from stepgen.ir.expr import Expr
from stepgen.ir.function import Folded, Function
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


class Accum(Applying, Circuit):
    """``[D_a..D_0]`` -> ``[D_a..D_b]``. Attributes of a node: ``fn``, ``rank``, ``init``."""

    computes = True
    is_main = True
    covers = (
        "sums, products, maxima, minima, element by element; matmul (int8 and int16 to int32, "
        "bf16 and f32 to f32); count; where the largest is; retile_row; retile_col over static "
        "dims"
    )

    def infer(self, call: Call) -> Sequence[Out]:
        """The function gives the type of the accumulator for chunks of these dims."""
        function: Function = call.attrs["fn"]
        x = call.inputs[0]
        for other in call.inputs[1:]:
            call.same_shape(x, other)
        rank = call.level("rank", x, 1)
        split = len(x.shape) - rank
        tiles = tiles_of(call, call.inputs)
        if not isinstance(function, Folded):
            call.fail(f"{function} can't fold, choose a function such as add, matmul or retile_row")
        tile = function.accumulator(call, x.shape[split:], *tiles)
        if call.attrs["init"] is not None:
            if function.gathers:
                call.fail(f"{function} joins tiles and starts with none: it takes no init")
            if not function.begins:
                call.fail(f"{function} begins with the first element of a chunk: it takes no init")
            call.constant("init", call.attrs["init"], tile.element)
        whole = function.gathers
        volume = x.volume if whole else _volume(call.inputs, tile, x.shape[split:])
        return [Out(x.shape[:split], tile, dict(enumerate(x.totals[rank:])), volume)]

    def chunks(self, node: Node, rank: int) -> int | None:
        """The folded dims are inside of each element."""
        return rank + int(node.attrs["rank"])

    def memory(self, node: Node, policy: Policy) -> Expr:
        """The accumulator, and the operands of a matmul if the policy counts them."""
        return policy.on_chip(node.outputs[0].dtype) + matmul_memory(node, policy)

    def order(self, of: Ordering) -> TileOrder:
        """Without the loops that are folded; of joined tiles if they are neighbours."""
        function, rank = of.attrs["fn"], of.attrs["rank"]
        if function.grows is not None:
            return of.input().joined(rank, -2 if function.grows == "rows" else -1, of.element)
        product = getattr(function, "extents_of", "") == "product"
        x = of.product() if product else of.widest()
        return x.folded(rank, of.tile, of.element, of.node.name)

    def run(self, use: Use) -> Process:
        """A chunk ends with a stop of `rank` or more; groups above it keep their structure.

        An empty chunk gives the initial state.
        """
        rank, out = use["rank"], use.outputs[0]
        operands = Operands(use)
        state = Fold(use["fn"], setting(use), use["init"])
        while True:
            tokens = yield from use.take_all(use.inputs)
            token = tokens[0]
            if token.kind == DONE:
                out.done()
                return
            if token.kind != VALUE and token.low > rank:
                out.bare(token.low - rank, token.stop - rank)
                continue
            if token.kind == VALUE:
                state.update(operands.of(tokens))
            if token.stop >= rank:
                out.value(checked(use, state.tile()), token.stop - rank)
                state.reset()

    def lower(self, node: Node, to: Lowering) -> None:
        """The units of the function, if it has a circuit."""
        from stepgen.compile.folding import fold

        fold(node, to, node.attrs["fn"].fold_unit, joins=True)


def _volume(xs: Sequence[Stream], tile: Tile, chunk: Sequence[Dim]) -> Expr | None:
    """Scalars of all results, if tiles of a chunk of known length have the same ragged size."""
    if not any(d.is_ragged for d in tile.dims) or any(d.static in (None, 0) for d in chunk):
        return None
    return over_all(xs, tile.elements) / times(d.expr for d in chunk)


@public
def accum(
    fn: Function,
    *xs: Stream,
    rank: int,
    init: float | None = None,
    name: str | None = None,
) -> Stream:
    """Fold each rank-`rank` chunk.

    Parameters
    ----------
    fn : Function
        Such as ``fn.add()``, ``fn.matmul()`` or ``fn.retile_row()``.
    *xs : Stream
        Streams of equal shape ``[D_a..D_0]``.
    rank : int
        b, the rank of a chunk, at least 1.
    init : number, optional
        Every element of the accumulator before the first update, and the result for an empty
        chunk; by default what the function leaves unchanged.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream
        ``[D_a..D_b]``.

    Raises
    ------
    StepError
        If shapes differ or the function can't fold such tiles.

    Notes
    -----
    Accum (paper, section 3): elements update the accumulator in the order of the stream.

    Examples
    --------
    >>> g = sg.Graph()
    >>> x = g.input("x", sg.int8[1, 8], (4, 3))
    >>> x.accum(sg.fn.retile_row(), rank=1)
    <accum_0.0 Stream[int8 3x8; 4]>
    >>> x.accum(sg.fn.add(), rank=1)
    <accum_1.0 Stream[int8 1x8; 4]>
    """
    return build("accum", xs, {"fn": fn, "rank": rank, "init": init}, name)[0]
