"""Making a model of integers: which places each value and each weight has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np

from stepgen.frontend.form import Form, forms
from stepgen.frontend.integers import integers, places_for
from stepgen.frontend.kind import Kind, Value
from stepgen.frontend.kinds.int_cast import IntCast
from stepgen.frontend.kinds.loop import Loop
from stepgen.frontend.model import Model, Op
from stepgen.frontend.quantizing.groups import Groups, keeps
from stepgen.frontend.weight import Array, Weight
from stepgen.ir.errors import StepError


@dataclass
class Plan:
    """The places of a model of integers.

    Attributes
    ----------
    model : Model
        Of real numbers.
    most : dict of str to float
        Largest numbers on calibration data: of values by name, and of what operations compute
        inside, by ``name:what``.
    choices : dict of str to int
        Places that are chosen, of all that `made` asked for.
    short : set of str
        Those of int8, for which the fewest numbers that are cut off need not be best.
    """

    model: Model
    most: Mapping[str, float]
    choices: dict[str, int] = field(default_factory=dict)
    short: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.groups = Groups(self.model)
        self._arrays: dict[tuple[Any, ...], Weight] = {}
        self._in_group: dict[str, float] = {}
        for name, most in self.most.items():
            group = self.groups.of(name)
            self._in_group[group] = max(most, self._in_group.get(group, 0.0))

    def choice(self, key: str, most: float, element: str) -> int:
        """The places of a number that has at most this size.

        By default as many as fit; numbers of 16 bits have one more bit for what was never seen.
        """
        if key not in self.choices:
            self.choices[key] = places_for(most, element) - (element == "int16")
            if element == "int8":
                self.short.add(key)
        return self.choices[key]

    def value(self, name: str, element: str | None = None) -> Value:
        """The type of a value, by default that of its group."""
        group, own = self.groups.of(name), self.groups.element(name)
        if own == "int32":  # sums, whose places follow from their factors
            return self.model.types[name].quantized(own, 0)
        key = group if element in (None, own) else f"{group} as {element}"
        places = self.choice(key, self._in_group.get(group, 0.0), element or own)
        return self.model.types[name].quantized(element or own, places)

    def weight(self, name: str, element: str, places: int, *, turned: bool) -> Weight:
        """A weight in integers, made once."""
        key = name, element, places, turned
        if key not in self._arrays:
            given = self.model.weights[name]
            given = given.T if turned else given

            def read() -> Array:
                return integers(given.array, element, places)

            self._arrays[key] = Weight(given.shape, element, read)
        return self._arrays[key]

    def made(self) -> Model:
        """The model of integers.

        Raises
        ------
        StepError
            If an operation has no form of integers, with its kind, the path of its module and the
            user's line.
        """
        weights: dict[str, Weight] = {}
        ops, _ = self._ops(self.model.ops, weights, {})
        return replace(self.model, ops=tuple(ops), weights=weights)

    def _ops(
        self, ops: Sequence[Op], weights: dict[str, Weight], cast: dict[tuple[str, str], str]
    ) -> tuple[list[Op], dict[str, set[str]]]:
        """Operations in integers, and the new names of their weights by the old ones."""
        made: list[Op] = []
        names: dict[str, set[str]] = {}
        cast, known = dict(cast), forms()
        for op in ops:
            loop = op.kind.loop()
            if loop is not None:
                body, inner = self._ops(loop.body, weights, cast)
                shared = [n for name in loop.shared for n in sorted(inner.get(name, ()))]
                made.append(replace(op, kind=_with(loop, body, shared)))
                continue
            if keeps(op):
                made.append(op)
                continue
            form = known.get(type(op.kind))
            if form is None:
                raise StepError(f"{op.where}: the scheme int has no form of it")
            inputs = []
            for name, element in zip(op.inputs, form.reads(op.kind), strict=True):
                if element and element != self.groups.element(name):
                    if (name, element) not in cast:
                        cast[name, element] = f"{name}.{element}"
                        value = self.value(name, element)
                        as_such: Kind = IntCast(element, value.places)  # type: ignore[arg-type]
                        made.append(Op(as_such, cast[name, element], (name,), path=op.path))
                    name = cast[name, element]
                inputs.append(name)
            making = Making(self, op, form)
            kind, own = form.made(making)
            roles = {}
            for role, weight in own.items():
                old = op.weights[role]
                roles[role] = old if weights.get(old, weight) is weight else f"{op.name}.{role}"
                weights[roles[role]] = weight
                names.setdefault(old, set()).add(roles[role])
            made.append(replace(op, kind=kind, inputs=tuple(inputs), weights=roles))
        return made, names


def _with(loop: Loop, body: list[Op], shared: list[str]) -> Kind:
    return replace(loop, body=tuple(body), shared=tuple(shared))


@dataclass(frozen=True)
class Making:
    """An operation on its way to integers.

    Attributes
    ----------
    plan : Plan
    op : Op
    form : type of Form
    """

    plan: Plan
    op: Op
    form: type[Form]

    def fail(self, why: str) -> NoReturn:
        """Raise an error that names the operation."""
        raise StepError(f"{self.op.where}: the scheme int has no form of it: {why}")

    @property
    def inputs(self) -> list[Value]:
        """The types of what it reads, as it wants them."""
        wanted = zip(self.op.inputs, self.form.reads(self.op.kind), strict=True)
        return [self.plan.value(name, element) for name, element in wanted if element]

    @property
    def element(self) -> Any:
        """Element type of the result."""
        return self.plan.groups.element(self.op.name)

    @property
    def places(self) -> int:
        """Places of the result; 0 of int32, where they follow."""
        return self.plan.value(self.op.name).places or 0

    @property
    def weights(self) -> dict[str, Weight]:
        """Weights as they are, by role."""
        return {role: self.plan.model.weights[name] for role, name in self.op.weights.items()}

    def most(self, role: str) -> float:
        """The largest number of a weight."""
        return float(np.abs(self.weights[role].array.astype(np.float64)).max())

    def noted(self, what: str) -> float:
        """The largest number of what it computes inside."""
        return self.plan.most[f"{self.op.name}:{what}"]

    def choice(self, what: str, most: float, element: str) -> int:
        """Places of something that is its own."""
        return self.plan.choice(f"{self.op.name}:{what}", most, element)

    def integers(self, role: str, element: str, places: int, *, turned: bool = False) -> Weight:
        """A weight in integers; turned, with its last two dims exchanged."""
        return self.plan.weight(self.op.weights[role], element, places, turned=turned)
