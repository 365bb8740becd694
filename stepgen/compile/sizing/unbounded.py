"""What a user is told where no depth of a FIFO is enough."""

from __future__ import annotations

from ...ir.dims import Dim
from ...ir.dtypes import Tile
from ...ir.stream import Node, Stream
from .depths import Unbounded


def told(found: Unbounded, stream: Stream | None) -> str:
    """What is missing, as a sentence.

    Parameters
    ----------
    found : Unbounded
    stream : Stream or None
        The stream that its channel carries; None for a memory inside a unit.
    """
    waits = f"while it waits for {found.awaited}"
    if stream is None:
        return f"{waits}, it may have to store more than its memory {found.channel} holds"
    dims = " and ".join(found.dims)
    said = (
        f"{waits}, the channel {found.channel} may have to buffer all its beats, but {stream.name} "
        f"is {stream}, and {dims} {'has' if len(found.dims) == 1 else 'have'} no bound"
    )
    roots = _without_bound(stream.node)
    return f"{said}; give one to {' and '.join(roots)}" if roots else said


def _without_bound(node: Node) -> list[str]:
    """The dims without a bound in the inputs that a node depends on."""
    seen, todo = {node}, [node]
    while todo:
        above = {x.node for x in todo.pop().inputs} - seen
        todo += above
        seen |= above
    dims: list[Dim] = []
    for x in node.graph.inputs.values():
        if x.node in seen:
            dims += (*x.shape, *(x.dtype.dims if isinstance(x.dtype, Tile) else ()))
    return sorted({str(d) for d in dims if d.bound is None})
