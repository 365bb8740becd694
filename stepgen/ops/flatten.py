"""flatten: merges adjacent dims into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.ir.dims import joined
from stepgen.ir.graph import build
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tile_order import TileOrder
from stepgen.ir.wire import BARE, DONE, wire_levels
from stepgen.semantics.process import Holding, Process, Use
from stepgen.semantics.tokens import Token

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering
    from stepgen.ir.ordering import Ordering


class Flatten(Operator, Circuit):
    """``[.., D_hi..D_lo, ..]`` -> ``[.., D, ..]``. Attributes of a node: ``lo``, ``hi``."""

    keeps_tiles = True
    moves = True
    restructures = True

    def infer(self, call: Call) -> Sequence[Out]:
        """Regular dims multiply, with a ragged one the result is ragged.

        An outermost dim has one value per run, so it is regular even if one of the dims is ragged.
        """
        x = call.inputs[0]
        lo = call.level("lo", x)
        hi = call.level("hi", x)
        if lo > hi:
            call.fail(f"lo must not exceed hi, {lo} against {hi}")
        top = x.rank - hi
        outermost = x.totals[lo] if hi == x.rank else None
        dim = joined(x.shape[top : x.rank - lo + 1], outermost, call.symbols)
        shape = (*x.shape[:top], dim, *x.shape[x.rank - lo + 1 :])
        totals = x.totals[: lo + 1] + x.totals[hi + 1 :]
        return [Out(shape, x.dtype, dict(enumerate(totals)), x.volume)]

    def chunks(self, node: Node, rank: int) -> int | None:
        """Larger by the number of merged dims."""
        lo, hi = node.attrs["lo"], node.attrs["hi"]
        return rank if rank <= lo else rank + int(hi) - int(lo)

    def order(self, of: Ordering) -> TileOrder:
        """The same tiles."""
        x, lo, hi = of.input(), of.attrs["lo"], of.attrs["hi"]
        first, end = len(x.dims) - 1 - hi, len(x.dims) - lo
        joined = [loop for dim in x.dims[first:end] for loop in dim]
        return x.with_dims([*x.dims[:first], joined, *x.dims[end:]])

    def run(self, use: Use) -> Process:
        """Levels up to `lo` stay, those of the merged dims vanish, those above are lowered.

        An empty group within the merged dims adds nothing to the merged group, but may end it: then
        the token held gets its stop, or the merged group is empty.
        """
        x, lo, hi = use.inputs[0], use["lo"], use["hi"]
        out = Holding(use.outputs[0], _holds(use.node))
        down = hi - lo
        while True:
            token = yield from x.take()
            if token.kind == DONE:
                out.done()
                return
            if token.kind == BARE and lo < token.low <= hi:
                if token.stop > hi:
                    out.close(lo + 1, token.stop - down)
                continue
            if token.stop <= hi:
                stop, final = min(token.stop, lo), token.stop < lo
            else:
                stop, final = token.stop - down, True
            low = token.low - down if token.low > hi else token.low
            out.put(Token(token.kind, token.value, stop, low), final=final)

    def lower(self, node: Node, to: Lowering) -> None:
        """One unit, with a holding register only where an inner dim may be empty."""
        from stepgen.hw.units.flatten.params import Flatten as Unit

        base, lo, hi = wire_levels(node.inputs[0].dtype), node.attrs["lo"], node.attrs["hi"]
        params = Unit(lo=base + lo, hi=base + hi, hold=_holds(node))
        to.unit(node.name, params, x=to.input(node, 0), y=to.output(node))

    def only_rewrites_stops(self, node: Node) -> bool:
        """Unless an inner dim may be empty."""
        return not _holds(node)


def _holds(node: Node) -> bool:
    """Whether the end of an inner group may have to wait for the stop of an outer one."""
    (x,) = node.inputs
    lo, hi = node.attrs["lo"], node.attrs["hi"]
    return hi < x.rank and any(x.dim(level).may_be_empty for level in range(lo, hi))


@public
def flatten(x: Stream, lo: int, hi: int, *, name: str | None = None) -> Stream:
    """Join the dims D_lo to D_hi.

    Parameters
    ----------
    x : Stream
        ``[D_a..D_0]``.
    lo, hi : int
        Levels of the innermost and the outermost dim to join, counted from the innermost.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream
        With ``hi - lo`` dims less.

    Raises
    ------
    StepError
        If the stream has no such dims.

    Notes
    -----
    Flatten (paper, section 3): a stop level up to `lo` stays, one up to `hi` becomes `lo`, one
    above sinks by ``hi - lo``.

    Examples
    --------
    >>> g = sg.Graph()
    >>> x = g.input("x", sg.int8[1, 8], (2, 4, 3))
    >>> x.flatten(0, 1)
    <flatten_0.0 Stream[int8 1x8; 2, 12]>
    """
    return build("flatten", (x,), {"lo": lo, "hi": hi}, name)[0]
