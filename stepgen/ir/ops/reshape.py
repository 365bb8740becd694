"""reshape: splits a dim into two, the inner of a fixed length, or of at most this length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from stepgen.ir.dims import ceil_div, chunk_of, show_shape, static
from stepgen.ir.dtypes import FLAG, Tile
from stepgen.ir.graph import build
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tile_order import TileOrder

if TYPE_CHECKING:
    from stepgen.ir.ordering import Ordering


class Reshape(Operator):
    """``[.., D, ..]`` -> ``[.., ceil(D/chunk), chunk, ..]``, and for dim 0 the padding flags.

    Without padding ``[.., D]`` -> ``[.., ceil(D/chunk), D']``, where D' is at most `chunk`.
    Attributes of a node: ``dim``, ``chunk``, ``pad``.
    """

    keeps_tiles: ClassVar[bool] = True
    optional_outputs: ClassVar[frozenset[int]] = frozenset({1})

    def infer(self, call: Call) -> Sequence[Out]:
        """Only the innermost dim can be padded, or end with a shorter chunk."""
        x = call.inputs[0]
        level, chunk = call.level("dim", x), call.integer("chunk", 1)
        dim = x.dim(level)
        if call.attrs["pad"] is None:
            return [self._capped(call, x, level, chunk)]
        if level > 0 and (dim.static is None or dim.static % chunk):
            call.fail(
                f"{x.name} has shape {show_shape(x.shape)}, whose dim D{level} of {dim} must be "
                f"static and divisible by the chunk of {chunk} since only D0 can be padded"
            )
        if level == 0 and isinstance(x.dtype, Tile):
            call.constant("pad", call.attrs["pad"], x.dtype.element)
        if level == 0 and not isinstance(x.dtype, Tile) and (dim.static or 1) % chunk:
            call.fail(f"{x.name} is {x}, but only tiles can be padded")
        chunks = ceil_div(dim, chunk, call.symbols)
        split = x.rank - level
        shape = (*x.shape[:split], chunks, static(chunk), *x.shape[split + 1 :])
        if level > 0:
            totals = {k if k < level else k + 1: total for k, total in enumerate(x.totals)}
            totals[level] = x.totals[level]
            totals[level + 1] = x.totals[level] / chunk
            return [Out(shape, x.dtype, totals, x.volume)]
        above = {k + 1: total for k, total in enumerate(x.totals) if k > 0}
        return [Out(shape, x.dtype, above), Out(shape, FLAG, above)]

    def _capped(self, call: Call, x: Stream, level: int, chunk: int) -> Out:
        """Chunks of at most so many elements: what their total is stays as it was."""
        if level > 0:
            call.fail(f"only D0 has chunks of different length (pad=None), not D{level}")
        dim = x.dim(0)
        inner = (ceil_div(dim, chunk, call.symbols), chunk_of(dim, chunk, call.symbols))
        totals = {k + 1: total for k, total in enumerate(x.totals) if k > 0}
        return Out((*x.shape[:-1], *inner), x.dtype, totals | {0: x.totals[0]}, x.volume)

    def contents(self, node: Node, port: int) -> Sequence[int] | None:
        """The structure determines the flags."""
        return () if port == 1 else super().contents(node, port)

    def chunks(self, node: Node, rank: int) -> int | None:
        """Above the split dim smaller by 1."""
        return rank if rank <= node.attrs["dim"] + 1 else rank - 1

    def order(self, of: Ordering) -> TileOrder:
        """The same tiles, if there is no padding."""
        x, level, chunk = of.node.inputs[0], of.attrs["dim"], of.attrs["chunk"]
        if of.port or (x.dim(level).static or 0) % chunk:
            return of.own()
        return of.input().split(x.rank - level, chunk)


# The return type depends on the dim, which a type checker knows if it is a literal.
@overload
def reshape(x: Stream, *, chunk: int, pad: None, name: str | None = None) -> Stream: ...
@overload
def reshape(
    x: Stream, *, dim: Literal[0] = 0, chunk: int, pad: float = 0, name: str | None = None
) -> tuple[Stream, Stream]: ...
@overload
def reshape(
    x: Stream,
    *,
    dim: Literal[1, 2, 3, 4, 5, 6, 7, 8],
    chunk: int,
    pad: float = 0,
    name: str | None = None,
) -> Stream: ...
@overload
def reshape(
    x: Stream, *, dim: int, chunk: int, pad: float | None = 0, name: str | None = None
) -> Any: ...
@public
def reshape(
    x: Stream, *, dim: int = 0, chunk: int, pad: float | None = 0, name: str | None = None
) -> Any:
    """Split the dim D_dim into chunks.

    Parameters
    ----------
    x : Stream
        ``[D_a..D_0]``.
    dim : int
        Which dim, counted from the innermost. A dim above 0 must be static and divisible.
    chunk : int
        Length of the new inner dim.
    pad : number or None
        What the elements are made of that fill the last chunk of a group (dim 0 only). With None
        nothing fills it: it is shorter, and a group of up to `chunk` elements is one chunk.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream or (Stream, Stream)
        The data ``[.., ceil(D/chunk), chunk, ..]``; for dim 0 also a flag per element that says
        whether it is padding. Without padding the data alone, ``[.., ceil(D/chunk), D']``.

    Raises
    ------
    StepError
        If a dim above 0 is dynamic or not divisible, or is not to be padded.

    Notes
    -----
    Reshape (paper, section 3); every group is padded for itself. Without padding, which the paper
    does not have, rows that are packed into tiles make tiles of at most `chunk` rows.

    Examples
    --------
    >>> g = sg.Graph()
    >>> x = g.input("x", sg.int8[1, 8], (4, 6))
    >>> x.reshape(chunk=4)
    (<reshape_0.0 Stream[int8 1x8; 4, 2, 4]>, <reshape_0.1 Stream[bool 1x1; 4, 2, 4]>)
    >>> x.reshape(dim=1, chunk=2)
    <reshape_1.0 Stream[int8 1x8; 2, 2, 6]>
    >>> x.reshape(chunk=4, pad=None)
    <reshape_2.0 Stream[int8 1x8; 4, 2, D0]>
    """
    streams = build("reshape", (x,), {"dim": dim, "chunk": chunk, "pad": pad}, name)
    return streams if len(streams) > 1 else streams[0]
