"""linear_offchip_load: affine reads of a tensor in off-chip memory."""

from __future__ import annotations

from stepgen.ir.affine import affine, reading
from stepgen.ir.wire import BARE, DONE
from stepgen.semantics.process import Process, Use


def run(use: Use) -> Process:
    """One read for each element of the reference stream, or a single one without it."""
    out, shape = use.outputs[0], use["shape"]
    levels = len(shape)
    if not use.inputs:
        _read(use, levels - 1)
        out.done()
        return
    ref = use.inputs[0]
    while True:
        mark = yield from ref.take()
        if mark.kind == DONE:
            out.done()
            return
        if mark.kind == BARE:
            out.bare(mark.low + levels, mark.stop + levels)
        else:
            _read(use, levels + mark.stop)


def _read(use: Use, close: int) -> None:
    """Emit the tiles of one read, the last of which closes `close` dims."""
    tile = tuple(use["tile"])
    for number, stop in affine(*reading(use.node.attrs)):
        data = use.memory.read(use.node, tile, number)
        use.outputs[0].value(data, close if stop == len(use["shape"]) else stop)
