"""Whether the tiles of a chunk have the same size, in streams whose tiles differ in size.

If the dynamic tiles of several experts share a region, the rows of its tiles are ragged; but all
repetitions of one of them have the same number of rows, so their results can be joined or added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgen.ir.dims import Dim
from stepgen.ir.operator import Call

if TYPE_CHECKING:
    from stepgen.ir.stream import Stream


def one_size(call: Call, dims: Sequence[Dim]) -> bool:
    """Whether tile dims have one value within each chunk that a use folds."""
    rank = call.attrs["rank"]
    return all(not d.is_ragged or any(_uniform(s, d, rank) for s in call.inputs) for d in dims)


def _uniform(stream: Stream, dim: Dim, rank: int) -> bool:
    """Whether `dim` is a tile dim of a stream and has one value within each rank-`rank` chunk."""
    if dim not in stream.dtype.dims:
        return False
    if rank == 0:
        return True
    node = stream.node
    if rank <= node.face.repeats(node):
        return True
    below = node.face.chunks(node, rank)
    return below is not None and any(_uniform(s, dim, below) for s in node.inputs)
