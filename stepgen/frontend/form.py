"""Integer forms of kinds: what a quantized model has in place of operations on real numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from stepgen.frontend.kind import Kind, Operands, kinds
from stepgen.frontend.weight import Weight

if TYPE_CHECKING:
    from stepgen.frontend.quantizing.making import Making

Weights: TypeAlias = Mapping[str, Weight]
"""Weights by role."""


class Form(Kind):
    """A kind that computes with integers.

    Attributes
    ----------
    of : type of Kind
        The kind of real numbers that it stands for.
    gives : tuple of str
        Element types that it can make.
    """

    of: ClassVar[type[Kind]]
    gives: ClassVar[tuple[str, ...]]

    @classmethod
    @abstractmethod
    def reads(cls, kind: Kind) -> tuple[str, ...]:
        """The element type of each input, ``""`` of ids and positions."""

    @classmethod
    @abstractmethod
    def made(cls, making: Making) -> tuple[Form, Weights]:
        """The form of an operation, and its weights.

        Raises
        ------
        StepError
            Through `Making.fail`, if the operation has a parameter that the form has not.
        """


def forms() -> dict[type[Kind], type[Form]]:
    """The integer form of each kind that has one."""
    return {kind.of: kind for kind in kinds().values() if issubclass(kind, Form)}


def real(given: Operands) -> Operands:
    """Operands as if they were of real numbers, for checks of shapes."""
    values = tuple(
        v if v.places is None else replace(v, element="f32", places=None) for v in given.values
    )
    return replace(given, values=values)
