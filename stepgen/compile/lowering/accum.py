"""Accum becomes a unit that rewrites stops (retile_row) or a memory (retile_col)."""

from ...functions.retiling import RetileCol, RetileRow
from ...hw.units.flatten.params import Flatten
from ...hw.units.retile_col import params as retile_col
from ...ir.dtypes import Tile
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..circuit import Circuit
from ..lower import Lowering


class AccumCircuit(Circuit):
    """Concatenation by rows only rewrites stops; by columns it needs a memory."""

    covers = "retile_row; retile_col over a static number of tiles"

    def lower(self, node: Node, to: Lowering) -> None:
        function = node.attrs["fn"]
        if isinstance(function, RetileRow):
            _retile_row(node, to)
        elif isinstance(function, RetileCol):
            _retile_col(node, to)
        else:
            raise to.fail(node, f"{function} has no circuit yet")


def _retile_row(node: Node, to: Lowering) -> None:
    (x,) = node.inputs
    rank = node.attrs["rank"]
    assert isinstance(x.dtype, Tile)
    inner = [x.dtype.rows, *(x.dim(level) for level in range(rank - 1))]
    params = Flatten(lo=1, hi=1 + rank, hold=any(d.may_be_empty for d in inner))
    to.unit(node.name, params, x=to.input(node, 0), y=to.output(node))


def _retile_col(node: Node, to: Lowering) -> None:
    (x,) = node.inputs
    assert isinstance(x.dtype, Tile)
    rank = node.attrs["rank"]
    counts = [x.dim(level).static for level in range(rank)]
    if rank != 1 or counts[0] is None:
        raise to.fail(
            node,
            f"{x.name} is {x}; joining tiles by columns takes a chunk of rank 1 and static length",
        )
    chunks = to.bound(node, f"the number of chunks of {x.name}", x.shape[:-1])
    params = retile_col.RetileCol(
        count=counts[0],
        slices=to.slices(node, x.dtype),
        rows=max(1, to.bound(node, f"the number of rows of {x.dtype}", [x.dtype.rows])),
        level=wire_levels(x.dtype) + rank,
        buffers=min(2, max(1, chunks)),
        bits=x.dtype.element.bits,
    )
    y = to.output(node, delay=params.delay(to.lanes))
    to.unit(node.name, params, x=to.input(node, 0), y=y)
