"""FlatMap of retile_streamify by rows becomes `promote`, `flatten` and, for padding, `drop`."""

from ...functions.retiling import RetileStreamify
from ...hw.design.pace import Extent, Extents
from ...hw.design.params import UnitParams
from ...hw.units.drop.params import Drop
from ...hw.units.flatten.params import Flatten
from ...hw.units.promote.params import Promote
from ...ir.dims import static
from ...ir.dtypes import Tile
from ...ir.stream import Node
from ..circuit import Circuit
from ..lower import Lowering


class FlatMapCircuit(Circuit):
    """Rows become tiles: a new dim below the rows; for rank 0 the rows join the dim above them."""

    covers = "retile_streamify by rows"

    def lower(self, node: Node, to: Lowering) -> None:
        function, x = node.attrs["fn"], node.inputs[0]
        if not isinstance(function, RetileStreamify) or function.axis != "row":
            raise to.fail(node, f"{function} has no circuit yet")
        assert isinstance(x.dtype, Tile)
        (y,) = node.outputs
        dims = to.extents(node, x)
        dims = [dims[0], Extent.of(static(1)), *dims[1:]]
        stages: list[tuple[UnitParams, Extents]] = [(Promote(level=1, outermost=False), dims)]
        if node.attrs["rank"] == 0:
            hold = x.rank > 0 and x.dtype.rows.may_be_empty
            dims = [*dims[:2], dims[2] * dims[3], *dims[4:]]
            stages.append((Flatten(lo=2, hi=3, hold=hold), dims))
        if len(node.inputs) > 1:
            stages.append((Drop(hold=y.rank > 0), dims))

        channel = to.input(node, 0)
        for index, (params, dims) in enumerate(stages):
            last = index == len(stages) - 1
            target = to.output(node) if last else to.link(node, params.kind, y, dims)
            name = node.name if last else f"{node.name}_{params.kind}"
            flags = {"flags": to.input(node, 1)} if isinstance(params, Drop) else {}
            to.unit(name, params, x=channel, **flags, y=target)
            channel = target

    def ignores_stops(self, node: Node, index: int) -> bool:
        """`drop` counts the flags of its elements."""
        return index == 1
