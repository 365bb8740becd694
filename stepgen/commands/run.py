"""Runs the reference on a program's inputs."""

from __future__ import annotations

from dataclasses import dataclass

from ..program.program import Program
from ..semantics import system
from ..semantics.executor import Result
from ..semantics.tokens import values
from .call import called
from .options import lanes_of
from .source import Source


@dataclass(frozen=True, repr=False)
class RunResult(Result):
    """A run of the reference; see also `stepgen.semantics.executor.Result`.

    Attributes
    ----------
    program : Program
        What ran: ``program.graph`` and ``program.inputs``, with those that were drawn.
    """

    program: Program

    @property
    def outputs(self) -> list[str]:
        """Names of the program's output streams."""
        return list(self.program.graph.outputs)

    @property
    def written(self) -> list[str]:
        """Names of the tensors that the program writes."""
        return [name for name in self.program.graph.tensors if name in self.stored]

    @property
    def drawn(self) -> list[str]:
        """Names of the inputs that were not given, but drawn."""
        return sorted(set(self.program.inputs) - self.program.given)

    def count(self, name: str) -> int:
        """Number of the values of a stream."""
        return sum(1 for _ in values(self.streams[name]))

    def __repr__(self) -> str:
        said = [f"{name}: {self.count(name)} values" for name in self.outputs]
        for name in self.written:
            shape = " x ".join(map(str, self.tensors[name].shape))
            said.append(f"tensor {name}: {shape}")
        return f"<{', '.join([f'run of {self.program.graph.name}', *said])}>"


@called
def run(source: Source, *, lanes: int | None = None) -> RunResult:
    """Run the reference (golden model), as ``stepgen run`` does.

    Parameters
    ----------
    program : Graph or Model
    inputs : mapping of str to object, optional
        Contents of input streams and tensors, or what a model takes; missing ones are drawn.
    lanes : int, optional
        Lanes of a slice, which decide the order of floating-point sums.
    seed, dim, transform
        See `stepgen.commands.source.Drawing`.
    phase, element, cache, ...
        Of a model, see `stepgen.program.models.parameters`.

    Raises
    ------
    StepError
        As `stepgen.semantics.executor.run`.
    """
    return ran(source.load(), lanes)


def ran(program: Program, lanes: int | None) -> RunResult:
    """The run of a program.

    Parameters
    ----------
    program : Program
    lanes : int, optional
        As for `run`.
    """
    result = system.run(program.graph, program.inputs, lanes=lanes_of(lanes, program))
    return RunResult(**vars(result), program=program)
