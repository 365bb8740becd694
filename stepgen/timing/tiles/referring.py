"""Which references to buffers are to come back, and which are read for their structure alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stepgen.ir.dtypes import Buffer
from stepgen.ir.stream import Node, Stream

Uses = Mapping[Stream, Sequence[tuple[Node, int]]]
"""By stream, the operators that use it, and which of their inputs it is."""


def refers(stream: Stream, uses: Uses, above: tuple[Stream, ...] = ()) -> bool:
    """Whether a buffer is kept for the references on a stream.

    Not for those that steer alone: their number and grouping is all that is read. What nobody uses
    is dropped, and so given back.

    Parameters
    ----------
    stream : Stream
    uses : mapping of Stream to sequence of (Node, int)
    above : tuple of Stream
        Streams that wait for the answer: a loop of references does not count as a use.
    """
    if not isinstance(stream.dtype, Buffer) or stream in above:
        return False
    found = uses.get(stream, ())
    return not found or any(_refers(node, index, uses, (*above, stream)) for node, index in found)


def _refers(node: Node, index: int, uses: Uses, above: tuple[Stream, ...]) -> bool:
    if node.face.steers(node, index):
        return False
    passed = [s for s in node.outputs if isinstance(s.dtype, Buffer)]
    return not passed or any(refers(s, uses, above) for s in passed)
