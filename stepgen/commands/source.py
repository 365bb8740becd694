"""What a command works on: a graph or a model with its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph

if TYPE_CHECKING:
    from stepgen.program.program import Program


class Source(Protocol):
    """Gives the program, with as much of its inputs as is needed."""

    @property
    def seed(self) -> int:
        """Of drawn inputs and of stalls."""

    def load(self, *, draw: bool = True, tensors: bool = True) -> Program:
        """Build the program and transform it; see `stepgen.program.program.load`."""


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """How a program is completed.

    Attributes
    ----------
    seed : int
        Of drawn inputs and of stalls.
    dim : mapping of str to int
        Extents of dynamic dims of drawn inputs.
    transform : sequence of str
        Transforms to apply first, as in ``"time_multiplex:regions=8"``.
    routing : int array of shape [tokens, top], or its file, optional
        Experts of each token, of a model.
    lengths : int array of shape [requests], or its file, optional
        Tokens in the caches of each request, of a model.
    """

    seed: int = 0
    dim: Mapping[str, int] = field(default_factory=dict)
    transform: Sequence[str] = ()
    routing: Any = None
    lengths: Any = None

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise StepError(f"the seed must be at least 0, not {self.seed}")

    @property
    def traces(self) -> dict[str, Any]:
        """The routing and the lengths that are given, by name.

        Raises
        ------
        StepError
            If a file can't be read, or one is not what it should be.
        """
        from stepgen.program import traces

        return traces.given(routing=self.routing, lengths=self.lengths)


@dataclass(frozen=True)
class Given:
    """A graph or a model of Python.

    Attributes
    ----------
    made : Graph or Model
    inputs : mapping of str to object
        Contents of input streams and tensors, or what the model takes; missing ones are drawn.
    drawing : Drawing
    settings : mapping of str to object
        Parameters of the program of a model.
    """

    made: Any
    inputs: Mapping[str, Any] = field(default_factory=dict)
    drawing: Drawing = Drawing()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        """Of drawn inputs and of stalls."""
        return self.drawing.seed

    def load(self, *, draw: bool = True, tensors: bool = True) -> Program:
        """Build the program and transform it; see `stepgen.program.program.load`."""
        from stepgen.program.made import of_graph, of_model
        from stepgen.program.schedule import transformed

        dims = {name: str(n) for name, n in self.drawing.dim.items()}
        more: Any = {"seed": self.seed, "dims": dims, "draw": draw, "tensors": tensors}
        traces = self.drawing.traces
        if isinstance(self.made, Graph):
            if traces:
                raise StepError(
                    f"{next(iter(traces))} is for a model, and {self.made.name} is a graph: give "
                    f"it to the function that makes the graph"
                )
            program = of_graph(self.made, self.inputs, self.made.name, **more)
        else:
            settings = {name: _text(value) for name, value in self.settings.items()}
            name = self.made.name
            program = of_model(self.made, name, settings, inputs=self.inputs, **traces, **more)
        return transformed(program, self.drawing.transform)


def _text(value: Any) -> str:
    """A parameter as the command line has it, whose messages it then gets."""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value)
