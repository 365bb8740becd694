"""Runs the reference on a program's inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stepgen.commands.call import called, notebook
from stepgen.commands.options import lanes_of
from stepgen.commands.source import Source
from stepgen.ir.lanes import Lanes
from stepgen.ir.show import html_table
from stepgen.ir.wire import BARE, DONE
from stepgen.program.program import Program
from stepgen.semantics import system
from stepgen.semantics.executor import Result
from stepgen.semantics.tokens import Token, values


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

    def start(self, name: str, most: int = 6) -> str:
        """The first tokens of a stream as text, with ``S2`` after a value that closes two dims."""
        return first_tokens(self.streams[name], most)

    def _repr_html_(self) -> str:
        """Output streams and stored tensors, for notebooks."""
        outputs, tensors_of = self.program.graph.outputs, self.program.graph.tensors
        rows = [(n, str(outputs[n]), f"{self.count(n):,}", self.start(n)) for n in outputs]
        streams = html_table("streams", ("stream", "type", "values", "begins with"), rows)
        tensors = html_table(
            "tensors",
            (),
            [
                (n, repr(tensors_of[n]), np.array2string(self.tensors[n].ravel(), threshold=8))
                for n in self.written
            ],
        )
        return notebook(self, "", *([streams] * bool(outputs)), *([tensors] * bool(self.written)))

    def __repr__(self) -> str:
        said = [f"{name}: {self.count(name)} values" for name in self.outputs]
        for name in self.written:
            shape = " x ".join(map(str, self.tensors[name].shape))
            said.append(f"tensor {name}: {shape}")
        return f"<{', '.join([f'run of {self.program.graph.name}', *said])}>"


@called
def run(source: Source, *, lanes: Lanes | None = None) -> RunResult:
    """Run the reference (golden model), as ``stepgen run`` does.

    Parameters
    ----------
    program : Graph, Model or Config
    inputs : mapping of str to object, optional
        Contents of input streams and tensors, or what a model takes; missing ones are drawn.
    lanes : int or mapping of str to int, optional
        Lanes of a slice, of all operators or by name; they decide the order of floating-point
        sums.
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


def ran(program: Program, lanes: Lanes | None) -> RunResult:
    """The run of a program.

    Parameters
    ----------
    program : Program
    lanes : int or mapping of str to int, optional
        As for `run`.
    """
    result = system.run(program.graph, program.inputs, lanes=lanes_of(lanes, program))
    return RunResult(**vars(result), program=program)


def first_tokens(tokens: list[Token], most: int = 6) -> str:
    """The first tokens as text, with ``S2`` after a value that closes two dims."""
    shown = []
    for token in tokens[:most]:
        stop = f" S{token.stop}" if token.stop else ""
        if token.kind == DONE:
            shown.append("D")
        elif token.kind == BARE:
            shown.append(f"empty({token.low}){stop}")
        else:
            shown.append(f"{_brief(token.value)}{stop}")
    return ", ".join(shown) + (", ..." if len(tokens) > most else "")


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return np.array2string(value.astype(int) if value.dtype == bool else value, threshold=8)
    return str(value)
