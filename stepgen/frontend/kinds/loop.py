"""Loop: equal layers, each with weights of its own, one behind the other."""

from __future__ import annotations

from dataclasses import dataclass

from ..kind import Kind, Operands, Value
from ..model import Op
from ..run import Step
from ..weight import Array


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

    def compute(self, at: Step, x: Array) -> Array:  # type: ignore[override]
        """All layers."""
        values = at.run.values
        values[self.begin] = x
        for layer in range(self.trips):
            at.run.evaluate(self.body, (*at.layer, layer), self.shared)
            values[self.begin] = values[self.end]
        return values[self.end]

    def __str__(self) -> str:
        return f"loop of {self.trips} layers"
