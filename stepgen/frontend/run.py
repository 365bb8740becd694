"""The golden meaning of a model: its operations one after the other, in doubles or integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from stepgen.frontend.kind import Value
from stepgen.frontend.model import Model, Op
from stepgen.frontend.state import State
from stepgen.frontend.weight import Array
from stepgen.ir.errors import StepError


@dataclass
class Run:
    """One evaluation of a model.

    Attributes
    ----------
    model : Model
    state : State or None
        Caches that it continues and fills; without them it begins anew.
    values : dict of str to array
        What is computed so far.
    every : dict, optional
        Gets the results of operations in loops, by name and layer.
    """

    model: Model
    state: State | None
    values: dict[str, Array]
    every: dict[tuple[str, tuple[int, ...]], Array] | None = None

    def evaluate(
        self, ops: Sequence[Op], layer: tuple[int, ...] = (), shared: tuple[str, ...] = ()
    ) -> None:
        """Run operations in order, those of a loop as one of its layers."""
        for op in ops:
            weights = {}
            for role, name in op.weights.items():
                array = self.model.weights[name].array
                own = array if name in shared or not layer else array[layer]
                weights[role] = own if own.dtype.kind == "i" else own.astype(np.float64)
            inputs = [self.values[name] for name in op.inputs]
            made = op.kind.compute(OpRun(self, op, layer), *inputs, **weights)
            self.values[op.name] = made
            if self.every is not None:
                self.every[op.name, layer] = self.model.types[op.name].real(made)


@dataclass(frozen=True)
class OpRun:
    """An operation in a run.

    Attributes
    ----------
    run : Run
    op : Op
    layer : tuple of int
        Number of the layer in each loop around it.
    """

    run: Run
    op: Op
    layer: tuple[int, ...] = field(default=())

    @property
    def where(self) -> str:
        """The operation, for messages."""
        inside = f", layer {', '.join(map(str, self.layer))}" if self.layer else ""
        return f"{self.op.where}{inside}"

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The types of what it reads."""
        return tuple(self.run.model.types[name] for name in self.op.inputs)

    def fail(self, message: str) -> NoReturn:
        """Raise an error that names the operation."""
        raise StepError(f"{self.where}: {message}")

    def note(self, what: str, made: Array) -> None:
        """Give what is computed inside of the operation to who wants to know everything."""
        every = self.run.every
        if every is not None:
            key = f"{self.op.name}:{what}", self.layer
            flat = made.reshape(-1)
            every[key] = np.concatenate([every[key], flat]) if key in every else flat

    def append(self, keys: Array, values: Array) -> tuple[Array, Array]:
        """Put the tokens of this run behind those in the cache, and give all."""
        state = self.run.state
        if state is None:
            return keys, values
        key = (self.op.name, self.layer)
        if key in state.caches:
            old = state.caches[key]
            keys, values = np.concatenate([old[0], keys]), np.concatenate([old[1], values])
        state.caches[key] = keys, values
        return keys, values


def run(
    model: Model,
    inputs: Mapping[str, object],
    state: State | None = None,
    every: dict[tuple[str, tuple[int, ...]], Array] | None = None,
) -> dict[str, Array]:
    """What a model computes; see `Model.run`."""
    for name in inputs:
        if name not in model.inputs:
            raise StepError(f"{model.name} has no input {name!r}, it has {', '.join(model.inputs)}")
    tokens, arrays = None, {}
    for name in model.inputs:
        if name not in inputs:
            continue
        arrays[name] = model.taken(name, inputs[name])
        rows = len(arrays[name])
        if tokens is not None and rows != tokens:
            raise StepError(f"{model.name}: {name} has {rows} rows, another input has {tokens}")
        tokens = rows
    past = 0 if state is None else state.rows
    for name in model.inputs:
        if name not in arrays and (name != POSITIONS or tokens is None):
            raise StepError(f"{model.name} needs the input {name}, {model.inputs[name]}")
        if name not in arrays:
            assert tokens is not None
            arrays[name] = np.arange(past, past + tokens)
    if tokens is not None:
        model.check_tokens(tokens)
        if state is not None:
            state.check(tokens, model.name)
    with np.errstate(all="ignore"):  # what overflows is infinite, as on hardware
        Run(model, state, arrays, every).evaluate(model.ops)
    if state is not None and tokens is not None:
        state.rows += tokens
    return {name: model.types[name].real(arrays[name]) for name in model.outputs}


POSITIONS = "positions"
"""An input of this name counts on from the state if it is not given."""
