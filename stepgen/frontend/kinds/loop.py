"""Loop: equal layers, each with weights of its own, one behind the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.model import Op
from stepgen.frontend.rows import Layers, Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.sharing import arrays
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array, Weight
from stepgen.ir.dtypes import address
from stepgen.ir.fn import fn
from stepgen.ops.partition import partition
from stepgen.ops.reassemble import reassemble


@dataclass(frozen=True)
class Loop(Kind):
    """The body once for each layer: what it makes, the next one begins with.

    The weights of the body have a dim of layers in front. Inside, values from outside are read by
    their names.

    Parameters
    ----------
    trips : int
        Number of layers.
    begin : str
        What the body begins with: the loop's input, then what it made before.
    end : str
        The value that it makes.
    shared : tuple of str
        Weights that all layers share, and which have no such dim.
    body : tuple of Op
    """

    trips: int
    begin: str
    end: str
    shared: tuple[str, ...]
    body: tuple[Op, ...]

    def loop(self) -> Loop:
        """Itself."""
        return self

    def result(self, given: Operands) -> Value:
        """What the last layer makes."""
        if self.trips < 1:
            given.fail(f"it must have a layer, not {self.trips}")
        return given.x

    def compute(self, at: OpRun, x: Array) -> Array:  # type: ignore[override]
        """All layers."""
        values = at.run.values
        values[self.begin] = x
        for layer in range(self.trips):
            at.run.evaluate(self.body, (*at.layer, layer), self.shared)
            values[self.begin] = values[self.end]
        return values[self.end]

    def lower(self, at: Site, x: Rows) -> Rows:  # type: ignore[override]
        """One circuit for all layers: what a layer makes goes back, with weights by its number."""
        whole, outer = at.lowering, dict(at.lowering.values)
        if whole.layers is not None:
            at.fail("a loop in a loop can't be lowered to a program yet")
        spans = at.row("layers", Weight.of(np.array([0, self.trips], np.int32)), address)
        first, last, number = (  # one with a first layer is never empty
            spans.flat_map(function(self.trips), rank=1)
            for function in (fn.span_first, fn.span_last, fn.span)
        )
        start = x.whole().stream
        back = whole.graph.feedback(
            start.dtype, (first.count(1),), whole.name(f"{at.op.name}_back")
        )
        begun = reassemble([start, back], first, rank=0).flatten(0, 1)
        whole.extents |= {str(dim): self.trips for dim in whole.graph.span(spans)}
        at.because(f"one circuit for all {self.trips} layers, which go round")
        whole.layers, whole.made_in_layer = Layers(self.trips, self.shared, number), {}
        whole.values[self.begin] = Rows(begun)
        if whole.array == "shared":
            found = arrays(whole, self.body)
            whole.arrays |= {one.site.op.name: a for a in found for one in a.members}
        whole.lower(self.body)
        done, others = partition(whole.read(self.end).whole().stream, last, rank=0)
        back.connect(others)
        whole.layers, whole.values = None, outer
        return Rows(done)

    def __str__(self) -> str:
        return f"loop of {self.trips} layers"
