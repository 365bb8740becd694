"""Whether the tiles of a chunk have the same size, in streams whose tiles differ in size.

If the dynamic tiles of several experts share a region, the rows of its tiles are ragged; but all
repetitions of one of them have the same number of rows, so their results can be joined or added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgen.ir.dims import Dim
from stepgen.ir.dtypes import Buffer
from stepgen.ir.operator import Call

if TYPE_CHECKING:
    from stepgen.ir.stream import Stream


def one_size(call: Call, dims: Sequence[Dim]) -> bool:
    """Whether tile dims have one value within each chunk that a use folds."""
    rank = call.attrs["rank"]
    return all(not d.is_ragged or any(_uniform(s, d, rank) for s in call.inputs) for d in dims)


def _uniform(stream: Stream, dim: Dim, rank: int) -> bool:
    """Whether `dim` has one value within each rank-`rank` chunk of a stream's tiles or buffers."""
    if dim not in stream.dtype.dims:
        return False
    held = stream.dtype.shape if isinstance(stream.dtype, Buffer) else ()
    node = stream.node
    if rank <= node.face.repeats(node) and all(d.static == 1 for d in held):
        return True
    below = node.face.chunks(node, rank)
    return below is not None and any(
        _uniform(s, dim, below)
        for index, s in enumerate(node.inputs)
        if not node.face.steers(node, index)
    )
