"""Kinds of operations of the tensor graph: what each of them needs, makes, computes and costs.

`stepgen.frontend.kinds` has a module for each. The list is closed: importers express a model in
these kinds, and whatever follows knows them all.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from stepgen.frontend.weight import ELEMENTS, Array, Weight
from stepgen.ir import registry
from stepgen.ir.arguments import take_fields
from stepgen.ir.errors import StepError

if TYPE_CHECKING:
    from stepgen.frontend.kinds.loop import Loop
    from stepgen.frontend.rows import Rows
    from stepgen.frontend.run import OpRun
    from stepgen.frontend.sharing import Matrix
    from stepgen.frontend.site import Site

TOKENS = "T"
"""The one dim whose extent differs from run to run: the number of tokens."""


@dataclass(frozen=True)
class Value:
    """The type of what an operation makes.

    Attributes
    ----------
    shape : tuple of int or "T"
        ``"T"`` is the number of tokens; it can only be the first dim.
    element : str
        ``"f32"``, real numbers of any format; ``"int32"``, ids and positions; with places
        ``"int8"``, ``"int16"`` or ``"int32"``.
    places : int or None
        Of quantized numbers: an integer n stands for ``n / 2**places``.
    """

    shape: tuple[int | str, ...]
    element: str = "f32"
    places: int | None = None

    @property
    def width(self) -> int:
        """Extent of the last dim."""
        assert isinstance(self.shape[-1], int)
        return self.shape[-1]

    def with_width(self, *dims: int) -> Value:
        """The same but for the last dim."""
        return replace(self, shape=(*self.shape[:-1], *dims))

    def quantized(self, element: str, places: int) -> Value:
        """The same in integers."""
        return replace(self, element=element, places=places)

    def real(self, array: Array) -> Array:
        """What an array of the value stands for: of quantized numbers, doubles."""
        return array if self.places is None else np.ldexp(array.astype(np.float64), -self.places)

    def __str__(self) -> str:
        unit = "" if self.places is None else f" / 2^{self.places}"
        return f"{self.element}[{', '.join(map(str, self.shape))}]{unit}"


@dataclass(frozen=True)
class Operands:
    """The types of what one operation reads.

    Attributes
    ----------
    where : str
        The operation, for messages: kind, path of its module, the user's line.
    values : tuple of Value
        By input.
    weights : dict of str to tuple of int
        Shape of each weight by its role, of one layer in a loop.
    elements : dict of str to str
        Element type of each weight.
    """

    where: str
    values: tuple[Value, ...]
    weights: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    elements: Mapping[str, str] = field(default_factory=dict)

    @property
    def x(self) -> Value:
        """The first input."""
        return self.values[0]

    def fail(self, message: str) -> NoReturn:
        """Raise an error that names the operation."""
        raise StepError(f"{self.where}: {message}")

    def numbers(self, rank: int | None = None) -> Value:
        """The first input, checked to be real numbers of so many dims."""
        if self.x.element != "f32" or len(self.x.shape) < 2:
            self.fail(f"it works on rows of numbers, not on {self.x}")
        if rank is not None and len(self.x.shape) != rank:
            self.fail(f"it works on values of {rank} dims, not on {self.x}")
        return self.x

    def rows(self, rank: int | None = None) -> Value:
        """The first input, checked to be numbers of so many dims, quantized or not."""
        return self.numbers(rank) if self.x.places is None else self.integers(0, rank=rank)

    def integers(self, index: int, *elements: str, rank: int | None = None) -> Value:
        """An input, checked to be quantized numbers of some element type, of so many dims."""
        value = self.values[index]
        fits = value.places is not None and (not elements or value.element in elements)
        if not fits or len(value.shape) < 2:
            what = " or ".join(elements) or "integers"
            self.fail(f"it works on rows of {what} with places, not on {value}")
        if rank is not None and len(value.shape) != rank:
            self.fail(f"it works on values of {rank} dims, not on {value}")
        return value

    def element(self, element: str, *roles: str) -> None:
        """Check the element type of weights, if they are given."""
        for role in roles:
            found = self.elements.get(role, element)
            if found != element:
                self.fail(f"its {role} must be of {element}, not of {found}")

    def expect(self, role: str, *shape: int) -> None:
        """Check the shape of a weight, if it is given."""
        found = self.weights.get(role)
        if found is not None and found != shape:
            self.fail(f"its {role} must be of {shape_text(shape)}, not of {shape_text(found)}")

    def dims(self, role: str, rank: int) -> tuple[int, ...]:
        """The shape of a weight, checked to have so many dims."""
        found = self.weights[role]
        if len(found) != rank:
            self.fail(f"its {role} must have {rank} dims, not {shape_text(found)}")
        return found


def shape_text(shape: tuple[int, ...]) -> str:
    """``64 x 128``."""
    return " x ".join(map(str, shape)) or "one number"


@dataclass(frozen=True)
class Kind(ABC):
    """One operation of the closed list; its attributes are the fields of the dataclass.

    Attributes
    ----------
    name : str
        Name of its module, in files and in printed models.
    arity : int
        Number of inputs.
    needs, takes : tuple of str
        Roles of the weights that it must have, and of those that it may have.
    scaling : tuple of str
        Roles of those that say what integers count; they are not parameters of the model.
    """

    name: ClassVar[str]
    arity: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()
    takes: ClassVar[tuple[str, ...]] = ()
    scaling: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.name = cls.__module__.rpartition(".")[2]

    def __post_init__(self) -> None:
        take_fields(self)

    @abstractmethod
    def result(self, given: Operands) -> Value:
        """The type of the result.

        Raises
        ------
        StepError
            Through `Operands.fail`, if inputs and weights do not fit together.
        """

    # `named` lets kinds name what they read: compute(self, at, x, weight, bias=None).
    @abstractmethod
    def compute(self, at: OpRun, *xs: Array, **weights: Array) -> Array:
        """The golden model, in doubles.

        Parameters
        ----------
        at : Step
            The operation in a run, with its caches.
        *xs : array
            The inputs; the first dim of those with tokens is T.
        **weights : array
            By role, those of one layer in a loop.
        """

    def lower(self, at: Site, *xs: Rows, **weights: Weight) -> Rows:
        """The operation in a program.

        Parameters
        ----------
        at : Site
            The operation in the lowering.
        *xs : Rows
            The inputs.
        **weights : Weight
            By role.
        """
        at.fail(f"{self.name} can't be lowered to a program yet")

    def matrix(self, at: Site, **weights: Weight) -> Matrix | None:
        """The matrix that it multiplies rows by, if linears like it can share an array."""
        return None

    def bounds(self, given: Operands, positions: int) -> dict[int, tuple[int, str]]:
        """By number of an input, how many ids or positions there are, and what has so many rows.

        Parameters
        ----------
        given : Operands
        positions : int
            Positions that a program has tables for.
        """
        return {}

    def columns(self) -> int | None:
        """Columns of the slices in which it wants its input; None if it does not matter."""
        return None

    def flops(self, given: Operands, cached: int) -> int:
        """Operations for one token, by stepgen's count of functions.

        Parameters
        ----------
        given : Operands
        cached : int
            Rows in each cache, that of the token included.
        """
        return 0

    def touched(self, given: Operands) -> dict[str, int]:
        """Elements of each weight that one token reads: all, if nothing else is known."""
        return {role: math.prod(shape) for role, shape in given.weights.items()}

    def bytes_of(self, role: str, element: str) -> float:
        """Bytes of a number of a weight in memory, where doubles are rounded to f32."""
        return float(min(ELEMENTS[element].itemsize, 4))

    def cached(self, given: Operands) -> int:
        """Elements that one token adds to a cache."""
        return 0

    def loop(self) -> Loop | None:
        """Itself, if it is a loop."""
        return None

    def attributes(self) -> dict[str, Any]:
        """The attributes by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def short(self) -> str:
        """What operations are called that the user gives no name."""
        return self.name

    def __str__(self) -> str:
        default = {f.name: f.default for f in fields(self)}
        own = {k: v for k, v in self.attributes().items() if v != default[k]}
        given = ", ".join(f"{k}={v}" for k, v in own.items())
        return f"{self.name}({given})" if given else self.name


@cache
def kinds() -> dict[str, type[Kind]]:
    """Every kind by name."""
    return registry.classes("stepgen.frontend.kinds", Kind)  # type: ignore[type-abstract]
