"""Which tiles of a stream have one size, where their size takes several values in the stream.

A dynamic tile of each expert goes through a region that all share, so the rows of its tiles are
ragged; yet all pieces that one of them is repeated for have the same rows, and can be joined again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgen.ir.dims import Dim
from stepgen.ir.operator import Call

if TYPE_CHECKING:
    from stepgen.ir.stream import Stream


def one_size(call: Call, dims: Sequence[Dim]) -> bool:
    """Whether tile dims take one value within each chunk that a use folds."""
    rank = call.attrs["rank"]
    return all(not d.is_ragged or any(_uniform(s, d, rank) for s in call.inputs) for d in dims)


def _uniform(stream: Stream, dim: Dim, rank: int) -> bool:
    """Whether `dim` is a tile dim of a stream and takes one value within each rank-`rank` chunk."""
    if dim not in stream.dtype.dims:
        return False
    if rank == 0:
        return True
    node = stream.node
    if rank <= node.face.repeats(node):
        return True
    below = node.face.chunks(node, rank)
    return below is not None and any(_uniform(s, dim, below) for s in node.inputs)
