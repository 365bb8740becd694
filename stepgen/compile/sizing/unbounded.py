"""Why no depth of a FIFO is enough, for users."""

from __future__ import annotations

from stepgen.compile.sizing.depths import Unbounded
from stepgen.ir.dims import Dim
from stepgen.ir.dtypes import Tile
from stepgen.ir.stream import Node, Stream


def reason(found: Unbounded, stream: Stream | None, consumer: Node) -> str:
    """What is missing, as a sentence.

    Parameters
    ----------
    found : Unbounded
    stream : Stream or None
        The stream that its channel carries; None for a memory inside a unit.
    consumer : Node
        The operator that waits.
    """
    waits = f"while it waits for {found.awaited}"
    dims = " and ".join(found.dims)
    lacks = f"{dims} {'has' if len(found.dims) == 1 else 'have'} no bound" if dims else ""
    if stream is None:
        kept = f"it may have to store more than its memory {found.channel} holds"
        said = f"{waits}, {kept}" + (f", since {lacks}" if lacks else "")
    else:
        kept = f"the channel {found.channel} may have to buffer all its beats"
        said = f"{waits}, {kept}, but {stream.name} is {stream}, and {lacks}"
    roots = _without_bound(consumer if stream is None else stream.node) if lacks else []
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
