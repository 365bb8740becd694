"""Users' own operators: one class with type rule, reference and, if wanted, circuit and timing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from stepgen.ir import operator, registry
from stepgen.ir.errors import StepError
from stepgen.ir.graph import build
from stepgen.ir.stream import Node, Stream
from stepgen.ir.where import placed, user_line


class OwnOperator(operator.Operator):
    """An operator that is not part of stepgen; defining the class registers it.

    `infer` is its type rule, `run` its golden model, and `__call__` is what users call; its
    parameters are also those of the operator in a saved graph. A class that also derives from
    `stepgen.compile.circuit.Circuit` has a circuit, one with `build` is timed on tiles. Costs and
    other properties have the defaults of `Operator`.

    Attributes
    ----------
    name : str
        Its name in graphs: the name of the class in snake_case.

    Raises
    ------
    StepError
        When the class is defined, if it lacks a method or another operator has its name.
    """

    name: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        known = {name: type(face) for name, face in operator.operators().items()}
        cls.name = registry.name_of(cls, "operator", known)
        operator.OWN[cls.name] = cls

    # Subclasses name their streams and parameters.
    @abstractmethod
    def __call__(self, *args: Any, **named: Any) -> Any:
        """Use the operator: pass streams and parameters to `add`."""

    @abstractmethod
    def run(self, use: Any) -> Any:
        """The golden model: a generator that takes tokens and emits tokens.

        Parameters
        ----------
        use : stepgen.semantics.process.Use
            Readers of the inputs, writers of the outputs, and parameters by name.
        """

    def build(self, node: Node, to: Any) -> None:
        """Add actors to the timing on tiles, a `stepgen.timing.tiles.program.Program`.

        Raises
        ------
        StepError
            If there is no timing on tiles, as by default.
        """
        raise StepError(f"{node.name} ({node.where}): {self.name} has no timing on tiles")

    def add(
        self, inputs: Sequence[Stream], parameters: dict[str, Any], name: str | None = None
    ) -> tuple[Stream, ...]:
        """Add a use to the graph of its inputs; returns its outputs.

        Raises
        ------
        StepError
            At the line of the use, if streams or parameters are not accepted.
        """
        return placed(user_line(self), lambda: build(self.name, inputs, parameters, name))
