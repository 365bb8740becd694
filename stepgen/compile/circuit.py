"""Operators with circuits: which units an operator becomes, and how it treats stops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepgen.ir.operator import operators
from stepgen.ir.stream import Node

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering


class Circuit(ABC):
    """What an operator derives from that has a circuit, beside `stepgen.ir.operator.Operator`.

    Attributes
    ----------
    covers : str
        Supported cases, for the table in docs/circuits.md; empty for all.
    moves : bool
        Whether the units move elements and do not look at them, so that the items of tuples can go
        separate ways.
    selects : bool
        Whether the units choose by the arrival of elements, and send selectors that say what they
        chose, as their second output. The first items of tuples decide for the others.
    routes, merges : bool
        Whether its last input, of selectors, decides which output an element leaves by, or which
        input the next element is taken from.
    bundles : bool
        Whether it only makes tuples of its inputs, or takes tuples apart, for which it needs no
        unit.
    restructures : bool
        Whether each element of its one input leaves by its one output, once and in order.
    """

    covers: ClassVar[str] = ""
    moves: ClassVar[bool] = False
    selects: ClassVar[bool] = False
    routes: ClassVar[bool] = False
    merges: ClassVar[bool] = False
    bundles: ClassVar[bool] = False
    restructures: ClassVar[bool] = False

    @abstractmethod
    def lower(self, node: Node, to: Lowering) -> None:
        """Add the units and channels of a node to the design table.

        Raises
        ------
        StepError
            If the operator has no circuit as it is used.
        """

    def ignores_stops(self, node: Node, index: int) -> bool:
        """Whether the unit counts the beats of an input and ignores their stops."""
        return False

    def shares(self, node: Node, outputs: Sequence[int]) -> int | None:
        """How many references to a buffer come back of one at an input.

        Parameters
        ----------
        node : Node
        outputs : sequence of int
            How many come back of one at each output of references.

        Returns
        -------
        int or None
            None if no references may pass.
        """
        return outputs[0] if self.restructures else None

    def returns(self, node: Node, outputs: Sequence[int]) -> bool:
        """Whether it may send a reference to outputs of which fewer come back."""
        return False

    def only_rewrites_stops(self, node: Node) -> bool:
        """Whether the unit only changes stops of its first input, without a holding register."""
        return False


def circuits() -> dict[str, Circuit]:
    """Every operator that has a circuit, by its name."""
    return {name: face for name, face in operators().items() if isinstance(face, Circuit)}


def circuit_of(node: Node) -> Circuit | None:
    """The operator of a node, if it has a circuit."""
    face = node.face
    return face if isinstance(face, Circuit) else None
