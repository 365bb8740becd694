"""promote: adds a dim of 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepgen.ir.dims import nonempty, static
from stepgen.ir.graph import build
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tile_order import TileOrder

if TYPE_CHECKING:
    from stepgen.ir.ordering import Ordering


class Promote(Operator):
    """``[D_a..D_0]`` -> ``[1 if D_a > 0 else 0, D_a..D_0]``, or a 1 between D_p and D_{p-1}.

    Attributes of a node: ``level``; rank + 1 is the outermost.
    """

    keeps_tiles: ClassVar[bool] = True

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
