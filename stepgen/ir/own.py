"""Operators of users' own: one class with all faces, in a file of theirs."""

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
    """An operator that is not part of stepgen; defining the class makes it known.

    `infer` is its type rule, `run` its golden model, and `__call__` what users write, whose
    parameters are also those that a saved graph may have. What derives from
    `stepgen.compile.circuit.Circuit` too is built, what has `build` is timed on tiles. Costs and
    what else is asked of an operator have the defaults of `Operator`.

    Attributes
    ----------
    name : str
        What graphs call it: the name of the class in snake_case.

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

    # Subclasses give their streams and parameters names.
    @abstractmethod
    def __call__(self, *args: Any, **named: Any) -> Any:
        """Use the operator: hand streams and parameters on to `add`."""

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
        """Add a use to the graph of its inputs; returns what comes out.

        Raises
        ------
        StepError
            At the line of the use, if the streams or parameters don't fit.
        """
        return placed(user_line(self), lambda: build(self.name, inputs, parameters, name))
