"""The tensor graph of a model: operations on values with one dynamic dim, and weights by role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stepgen.frontend.kind import TOKENS, Kind, Operands, Value, shape_text
from stepgen.frontend.weight import Array, Weight
from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError

if TYPE_CHECKING:
    from stepgen.frontend.state import State


@dataclass(frozen=True)
class Op:
    """One operation; the value that it makes has its name.

    Attributes
    ----------
    kind : Kind
        What it computes.
    name : str
        Unique in the model.
    inputs : tuple of str
        Names of values.
    weights : dict of str to str
        Names of weights by their roles.
    path : str
        Of the module that it comes from, as ``layers.*.mlp.up_proj``.
    line : str
        The user's line, as ``model.py:12``; it does not count in comparisons.
    """

    kind: Kind
    name: str
    inputs: tuple[str, ...]
    weights: Mapping[str, str] = field(default_factory=dict)
    path: str = ""
    line: str = field(default="", compare=False)

    @property
    def where(self) -> str:
        """The operation, for messages."""
        line = f" at {self.line}" if self.line else ""
        name = self.path or self.name
        return f"{self.kind.name}{'' if name == self.kind.name else f' {name}'}{line}"

    def check_numbers(self, numbers: Array, rows: int, table: str) -> None:
        """Check ids or positions.

        Raises
        ------
        StepError
            If one is past the rows of a table.
        """
        strange = np.flatnonzero((numbers < 0) | (numbers >= rows))
        if strange.size:
            first = int(strange[0])
            side = "before" if numbers[first] < 0 else "past"
            raise StepError(
                f"{self.where}: {numbers[first]} of token {first} is {side} {table} of {rows} rows"
            )


@dataclass(frozen=True)
class Placed:
    """An operation with what it reads, and how often it runs.

    Attributes
    ----------
    op : Op
    given : Operands
    trips : int
        Product of the trips of the loops around it.
    depth : int
        Number of those loops.
    """

    op: Op
    given: Operands
    trips: int
    depth: int


@dataclass(frozen=True, eq=False)
class Model:
    """A model as operations; it is checked when it is made.

    Parameters
    ----------
    name : str
    tokens : tuple of int
        Least and most tokens of one run.
    inputs : dict of str to Value
    outputs : tuple of str
        Names of values.
    ops : tuple of Op
        Each behind what it reads.
    weights : dict of str to Weight
    characters : str
        That ids stand for, in order; empty where they stand for something else.

    Raises
    ------
    StepError
        If an operation is not possible, with its kind, the path of its module and the user's line.
    """

    name: str
    tokens: tuple[int, int]
    inputs: Mapping[str, Value]
    outputs: tuple[str, ...]
    ops: tuple[Op, ...]
    weights: Mapping[str, Weight]
    characters: str = ""

    dim = TOKENS

    def __post_init__(self) -> None:
        least, most = self.tokens
        if not 1 <= least <= most:
            raise StepError(
                f"{self.name}: {TOKENS} must run from at least 1 to a larger number, "
                f"not from {least} to {most}"
            )
        if len({*self.characters}) < len(self.characters):
            twice = next(c for c in self.characters if self.characters.count(c) > 1)
            raise StepError(f"{self.name}: two ids stand for the character {shown(twice)}")
        outer = {*self.inputs, *(op.name for op in self.ops)}
        self._checked  # noqa: B018
        for name in self.outputs:
            if name not in outer:
                raise StepError(f"{self.name}: no operation makes its output {shown(name)}")

    @cached_property
    def types(self) -> dict[str, Value]:
        """Every value by name, those in loops too."""
        return self._checked.types

    @cached_property
    def placed(self) -> tuple[Placed, ...]:
        """Every operation in order, those of a loop behind it."""
        return tuple(self._checked.order)

    @cached_property
    def _checked(self) -> _Checker:
        checker = _Checker(self)
        checker.check(self.ops, dict(self.inputs), (), frozenset())
        return checker

    def run(
        self,
        inputs: Mapping[str, Any],
        state: State | None = None,
        every: dict[tuple[str, tuple[int, ...]], Array] | None = None,
    ) -> dict[str, Array]:
        """Compute the outputs, in doubles.

        Parameters
        ----------
        inputs : mapping of str to array
            Arrays of T rows. ``positions`` count on from the state if they are not given.
        state : State, optional
            Continue after its tokens, and append those of this run. Without it, a run begins anew.
        every : dict, optional
            Gets what each operation makes, by its name and the layer.

        Returns
        -------
        dict of str to array

        Raises
        ------
        StepError
            If inputs are missing or do not fit, an id is past a table, or the caches are full.
        """
        from stepgen.frontend.run import run

        return run(self, inputs, state, every)

    def taken(self, name: str, given: Any) -> Array:
        """One input as an array, checked."""
        value = self.inputs[name]
        try:
            array = np.asarray(given)
            whole = array.dtype.kind in "iu"
            if array.dtype.kind == "c" or (value.element == "int32" and not whole):
                raise TypeError
            array = array.astype(np.int64 if whole else np.float64)
        except (OverflowError, TypeError, ValueError):
            raise StepError(
                f"{self.name}: the input {name} must be {value}, not {shown(given)}"
            ) from None
        fits = array.ndim == len(value.shape) and all(
            want in (TOKENS, have) for want, have in zip(value.shape, array.shape, strict=True)
        )
        if not fits:
            raise StepError(
                f"{self.name}: the input {name} must be {value}, not of {shape_text(array.shape)}"
            )
        return array

    def check_tokens(self, count: int) -> None:
        """Check the number of tokens of a run.

        Raises
        ------
        StepError
            If it is out of the model's range.
        """
        least, most = self.tokens
        if not least <= count <= most:
            raise StepError(f"{self.name} takes {least} to {most} tokens in a run, not {count}")

    def used(self) -> dict[str, list[Op]]:
        """The operations that read each weight, by its name."""
        found: dict[str, list[Op]] = {}
        for placed in self.placed:
            for name in placed.op.weights.values():
                found.setdefault(name, []).append(placed.op)
        return found

    @property
    def parameters(self) -> int:
        """Number of weights, those that several operations share once, without scales and steps."""
        scaling = {
            name
            for placed in self.placed
            for role, name in placed.op.weights.items()
            if role in placed.op.kind.scaling
        }
        found = (weight for name, weight in self.weights.items() if name not in scaling)
        return sum(weight.size for weight in found if weight.element != "int32")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        own, its = (
            (m.name, m.tokens, dict(m.inputs), m.outputs, m.ops, sorted(m.weights))
            for m in (self, other)
        )
        return own == its and all(w.same(other.weights[n]) for n, w in self.weights.items())

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        from stepgen.frontend.show import text

        return text(self)

    def __repr__(self) -> str:
        return f"<Model {self.name}: {len(self.placed)} operations, {self.parameters:,} parameters>"

    def _repr_html_(self) -> str:
        from stepgen.frontend.show import html

        return html(self)


class _Checker:
    """Finds the type of every value, and checks every operation."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.types: dict[str, Value] = dict(model.inputs)
        self.order: list[Placed] = []

    def check(
        self,
        ops: Sequence[Op],
        known: dict[str, Value],
        trips: tuple[int, ...],
        shared: frozenset[str],
    ) -> None:
        """Check operations one by one; `known` are the values that they may read."""
        for op in ops:
            given = self._operands(op, known, trips, shared)
            self.order.append(Placed(op, given, int(np.prod(trips, dtype=int)), len(trips)))
            loop = op.kind.loop()
            if loop is not None:
                self._free(given, loop.begin)
                inner = {**known, loop.begin: given.x}
                self.types[loop.begin] = given.x
                self.check(loop.body, inner, (*trips, loop.trips), shared | {*loop.shared})
                if inner.get(loop.end) != given.x:
                    made = inner.get(loop.end, f"nothing called {loop.end}")
                    given.fail(f"a layer begins with {given.x}, but it makes {made}")
            self._free(given, op.name)
            known[op.name] = self.types[op.name] = op.kind.result(given)

    def _free(self, given: Operands, name: str) -> None:
        if name in self.types:
            given.fail(f"there is a value {shown(name)} already")

    def _operands(
        self, op: Op, found: Mapping[str, Value], trips: tuple[int, ...], shared: frozenset[str]
    ) -> Operands:
        place = Operands(op.where, ())
        values = []
        for name in op.inputs:
            if name not in found:
                place.fail(f"it reads {shown(name)}, which nothing before it makes")
            values.append(found[name])
        if len(values) != op.kind.arity:
            place.fail(f"it reads {op.kind.arity} values, not {len(values)}")
        for role in op.kind.needs:
            if role not in op.weights:
                place.fail(f"it needs the weight {role}")
        shapes, elements = {}, {}
        for role, name in op.weights.items():
            if role not in (*op.kind.needs, *op.kind.takes):
                takes = ", ".join((*op.kind.needs, *op.kind.takes)) or "none"
                place.fail(f"it has no weight {shown(role)}; its weights are {takes}")
            if name not in self.model.weights:
                place.fail(f"its {role} is {shown(name)}, and there is no such weight")
            shape = self.model.weights[name].shape
            stacked = () if name in shared else trips
            if shape[: len(stacked)] != stacked:
                place.fail(
                    f"its {role} {name} must have {shape_text(stacked)} in front, one of each "
                    f"layer, not {shape_text(shape)}"
                )
            shapes[role] = shape[len(stacked) :]
            elements[role] = self.model.weights[name].element
        return Operands(op.where, tuple(values), shapes, elements)


def short(name: str) -> str:
    """The name of an operation without those of the layers that it is in."""
    return name.rpartition("*.")[2]


def inside(op: Op) -> frozenset[str]:
    """The names of operations that run in each layer of a loop."""
    loop = op.kind.loop()
    return frozenset() if loop is None else frozenset(one.name for one in walk(loop.body))


def walk(ops: Sequence[Op]) -> Iterator[Op]:
    """Operations in order, those of a loop behind it."""
    for op in ops:
        yield op
        loop = op.kind.loop()
        if loop is not None:
            yield from walk(loop.body)
