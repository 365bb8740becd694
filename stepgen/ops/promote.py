"""promote: adds a dim of 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.ir.dims import nonempty, static
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


class Promote(Operator, Circuit):
    """``[D_a..D_0]`` -> ``[1 if D_a > 0 else 0, D_a..D_0]``, or a 1 between D_p and D_{p-1}.

    Attributes of a node: ``level``; rank + 1 is the outermost.
    """

    keeps_tiles = True
    moves = True
    restructures = True

    def infer(self, call: Call) -> Sequence[Out]:
        """Only the outermost new dim can be 0, for an empty stream."""
        x = call.inputs[0]
        if call.attrs["level"] is None:
            call.attrs["level"] = x.rank + 1
        level = call.integer("level", 0, x.rank + 1)
        split = len(x.shape) - level
        new = nonempty(x.shape[0]) if split == 0 else static(1)
        totals = dict(enumerate(x.totals[:level]))
        totals |= {k + 1: total for k, total in enumerate(x.totals) if k >= level}
        if split:
            totals[level] = x.totals[level]
        else:
            totals[level] = new.expr
        return [Out((*x.shape[:split], new, *x.shape[split:]), x.dtype, totals, x.volume)]

    def chunks(self, node: Node, rank: int) -> int | None:
        """Above the new dim smaller by 1."""
        return rank - 1 if rank > node.attrs["level"] else rank

    def order(self, of: Ordering) -> TileOrder:
        """The same tiles."""
        x = of.input()
        place = len(x.dims) - of.attrs["level"]
        return x.with_dims([*x.dims[:place], (), *x.dims[place:]])

    def run(self, use: Use) -> Process:
        """Levels from `level` on rise by one.

        A new outermost dim ends with the stream, so a token is held until it is known not to be the
        last; an empty stream stays empty.
        """
        x, level = use.inputs[0], use["level"]
        outermost = level == x.stream.rank + 1
        out = Holding(use.outputs[0], outermost)
        empty = True
        while True:
            token = yield from x.take()
            if token.kind == DONE:
                if outermost and not empty:
                    out.close(level, level)
                out.done()
                return
            empty = False
            if outermost:
                out.put(token, final=token.stop < x.stream.rank)
                continue
            stop = token.stop + 1 if token.stop >= level else token.stop
            low = token.low + 1 if token.kind == BARE and token.low > level else token.low
            out.put(Token(token.kind, token.value, stop, low))

    def lower(self, node: Node, to: Lowering) -> None:
        """One unit, with a holding register for an outermost dim."""
        from stepgen.hw.units.promote.params import Promote as Unit

        (x,) = node.inputs
        level = node.attrs["level"]
        params = Unit(level=wire_levels(x.dtype) + level, outermost=level > x.rank)
        to.unit(node.name, params, x=to.input(node, 0), y=to.output(node))

    def only_rewrites_stops(self, node: Node) -> bool:
        """Unless the dim is the outermost, whose stop is known only at the end."""
        return bool(node.attrs["level"] <= node.inputs[0].rank)


@public
def promote(x: Stream, level: int | None = None, *, name: str | None = None) -> Stream:
    """Add a dim of 1 inside of D_level.

    Parameters
    ----------
    x : Stream
        ``[D_a..D_0]``.
    level : int, optional
        The new dim becomes D_level: each rank-`level` group becomes a group of one. By default the
        new dim is the outermost (``rank + 1``); it is 0 if the stream is empty.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream
        Of one rank more.

    Raises
    ------
    StepError
        If `level` is not from 0 to ``rank + 1``.

    Notes
    -----
    Promote (paper, section 3) adds the outermost dim; any other `level` is stepgen's addition.

    Examples
    --------
    >>> g = sg.Graph()
    >>> x = g.input("x", sg.int8[1, 8], (4, 3))
    >>> x.promote()
    <promote_0.0 Stream[int8 1x8; 1, 4, 3]>
    >>> x.promote(level=1)
    <promote_1.0 Stream[int8 1x8; 4, 1, 3]>
    """
    return build("promote", (x,), {"level": level}, name)[0]
