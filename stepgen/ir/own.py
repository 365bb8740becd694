"""Users' own operators: one class with type rule, reference and, if wanted, circuit and timing."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from stepgen.ir import operator, registry
from stepgen.ir.arguments import take
from stepgen.ir.class_checks import place
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
        _check_call(cls)
        operator.OWN[cls.name] = cls

    # Subclasses name their streams and parameters.
    @abstractmethod
    def __call__(self, *args: Any, **named: Any) -> Any:
        """Use the operator: pass streams and parameters to `add`."""

    def build(self, node: Node, to: Any) -> None:
        """Add actors to the timing on tiles, a `stepgen.timing.tiles.program.TileProgram`.

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
        line = user_line(self)
        streams = take(inputs, Sequence[Stream], self.name, "what its __call__ passes to add", line)
        return placed(line, lambda: build(self.name, streams, parameters, name))


def _check_call(kind: type) -> None:
    """Check that the signature of `__call__` says what streams and parameters are.

    Raises
    ------
    StepError
        If a parameter has no annotation, or none is a stream.
    """
    signature = inspect.signature(kind.__call__)
    where = f"{kind.__name__}.__call__ at {place(inspect.unwrap(kind.__call__).__code__)}"
    _, *named = signature.parameters.values()
    for parameter in named:
        if parameter.annotation is parameter.empty and parameter.name != "name":
            raise StepError(
                f"{where}: {parameter.name} has no annotation: write {parameter.name}: sg.Stream "
                f"for a stream, or the type of the parameter, as in {parameter.name}: int"
            )
    if not any("Stream" in str(parameter.annotation) for parameter in named):
        raise StepError(f"{where} takes no stream: write one as x: sg.Stream")
