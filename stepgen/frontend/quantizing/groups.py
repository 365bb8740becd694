"""Values of a model that become integers of one element type, with the same places."""

from __future__ import annotations

from collections.abc import Iterable

from stepgen.frontend.form import forms
from stepgen.frontend.kinds.heads import Heads
from stepgen.frontend.kinds.join import Join
from stepgen.frontend.kinds.loop import Loop
from stepgen.frontend.kinds.map import Map
from stepgen.frontend.kinds.split import Split
from stepgen.frontend.model import Model, Op, walk
from stepgen.functions.arithmetic import Add, Sub

_LAYOUT = (Heads, Join, Split, Loop)
"""Kinds that only say where numbers stand: they are those of integers too."""


def keeps(op: Op) -> bool:
    """Whether an operation stays as it is in a model of integers."""
    return isinstance(op.kind, _LAYOUT)


class Groups:
    """The values of a model by groups: what a sum adds, and what only moves, is in one.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: Model) -> None:
        self._first: dict[str, str] = {}
        self._elements: dict[str, str] = {}
        ops, known = [*walk(model.ops)], forms()
        for op in ops:
            loop = op.kind.loop()
            if loop is not None:
                self._unite([op.name, *op.inputs, loop.begin, loop.end])
            elif keeps(op) or _adds(op):
                self._unite([op.name, *op.inputs])
        wanted: dict[str, set[str]] = {}
        made: dict[str, set[str]] = {}
        for op in ops:
            form = known.get(type(op.kind))
            if form is None:
                continue
            for name, element in zip(op.inputs, form.reads(op.kind), strict=True):
                if element:
                    wanted.setdefault(self.of(name), set()).add(element)
            gives = {"int16"} if _adds(op) else {*form.gives}
            made[self.of(op.name)] = made.get(self.of(op.name), gives) & gives
        for group, gives in made.items():
            wants = wanted.get(group, {"int32"}) & gives
            self._elements[group] = wants.pop() if len(wants) == 1 else _widest(gives)

    def of(self, name: str) -> str:
        """The name of the group of a value: that of one of its values."""
        while (first := self._first.get(name, name)) != name:
            name = first
        return name

    def element(self, name: str) -> str:
        """The element type of a value."""
        return self._elements[self.of(name)]

    def _unite(self, names: Iterable[str]) -> None:
        first, *others = map(self.of, names)
        for other in others:
            if other != first:
                self._first[other] = first


def _adds(op: Op) -> bool:
    return isinstance(op.kind, Map) and isinstance(op.kind.fn, Add | Sub)


def _widest(gives: set[str]) -> str:
    """The element type of what several operations want in different ones, or none."""
    return "int16" if "int16" in gives else min(gives)
