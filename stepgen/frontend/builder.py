"""Building a model in Python, operation by operation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from stepgen.frontend.kind import TOKENS, Kind, Value
from stepgen.frontend.kinds.attention import Attention
from stepgen.frontend.kinds.embedding import Embedding
from stepgen.frontend.kinds.experts import Experts
from stepgen.frontend.kinds.heads import Heads
from stepgen.frontend.kinds.join import Join
from stepgen.frontend.kinds.linear import Linear
from stepgen.frontend.kinds.map import Map
from stepgen.frontend.kinds.norm import Norm
from stepgen.frontend.kinds.rope import Rope
from stepgen.frontend.kinds.scaled_linear import ScaledLinear
from stepgen.frontend.kinds.split import Split
from stepgen.frontend.model import Model, Op
from stepgen.frontend.passes.dead import drop_dead
from stepgen.frontend.passes.layers import fold_layers
from stepgen.frontend.run import POSITIONS
from stepgen.frontend.weight import Weight
from stepgen.ir.errors import StepError
from stepgen.ir.fn import fn
from stepgen.ir.function import Function
from stepgen.ir.where import user_line


@dataclass(frozen=True)
class Handle:
    """A value while a model is built; ``a + b`` and ``a * b`` work on each pair of numbers."""

    builder: Builder
    name: str

    def __add__(self, other: Handle) -> Handle:
        return self.builder.map(fn.add(), self, other)

    def __mul__(self, other: Handle) -> Handle:
        return self.builder.map(fn.mul(), self, other)


class Builder:
    """Makes a model; each method adds an operation and gives its value.

    Weights are arrays of bf16 (of `ml_dtypes`), f32 or f64, or `Weight` objects. Layers are built
    one after the other in a ``for`` loop, each in its scope, as ``with b.scope(f"layers.{i}")``;
    `model` makes loops of those that are alike.

    Parameters
    ----------
    name : str
        Of the model.
    tokens : tuple of int
        Least and most tokens of one run.

    Examples
    --------
    >>> import numpy as np
    >>> import stepgen as sg
    >>> b = sg.frontend.Builder("mlp", tokens=(1, 64))
    >>> x = b.input("x", 8)
    >>> y = b.linear(b.map(sg.fn.silu(), b.linear(x, np.ones((8, 16)))), np.ones((16, 4)))
    >>> b.model(y).run({"x": np.zeros((3, 8))})["linear_1"].shape
    (3, 4)
    """

    def __init__(self, name: str, tokens: tuple[int, int] = (1, 1024)) -> None:
        self.name, self.tokens = name, tokens
        self._inputs: dict[str, Value] = {}
        self._ops: list[Op] = []
        self._weights: dict[str, Weight] = {}
        self._names: set[str] = set()
        self._path: list[str] = []

    @contextmanager
    def scope(self, path: str) -> Iterator[None]:
        """Put a path in front of the names of operations until the block ends."""
        self._path.append(path)
        try:
            yield
        finally:
            self._path.pop()

    def path(self, name: str = "") -> str:
        """The path of a name in the current scope."""
        return ".".join([*self._path, *([name] if name else [])])

    def add(
        self,
        kind: Kind,
        *inputs: Handle,
        weights: Mapping[str, Any] | None = None,
        name: str = "",
        line: str = "",
    ) -> Handle:
        """Add an operation of any kind.

        Parameters
        ----------
        kind : Kind
        *inputs : Handle
        weights : mapping of str to array, Weight or str
            By role; a str names a weight that is there.
        name : str, optional
            In the current scope; by default that of the kind.
        line : str, optional
            The user's line; by default the current one.
        """
        line = line or user_line()
        path = self.path(name)
        made = self._free(path if name else self.path(kind.short))
        roles = {}
        for role, given in (weights or {}).items():
            if isinstance(given, str):
                roles[role] = given
            elif given is not None:
                roles[role] = f"{made}.{role}"
                what = f"{kind.name} {path or made} at {line}: its {role}"
                self._weights[roles[role]] = Weight.of(given, what)
        for handle in inputs:
            if not isinstance(handle, Handle) or handle.builder is not self:
                raise StepError(f"{kind.name} {path} at {line}: it reads values of this builder")
        self._ops.append(Op(kind, made, tuple(x.name for x in inputs), roles, path, line))
        return Handle(self, made)

    def weight(self, name: str, numbers: Any) -> str:
        """Add a weight that several operations share; give its name to each of them."""
        if name not in self._weights:
            self._weights[name] = Weight.of(numbers, f"the weight {name}")
        return name

    def _free(self, name: str) -> str:
        found, number = name, 0
        while found in self._names:
            number += 1
            found = f"{name}_{number}"
        self._names.add(found)
        return found

    def _input(self, name: str, value: Value) -> Handle:
        if self._free(name) != name:
            raise StepError(f"{self.name} at {user_line()}: there is a value {name!r} already")
        self._inputs[name] = value
        return Handle(self, name)

    def ids(self, name: str = "ids") -> Handle:
        """An input of ids, int32[T]."""
        return self._input(name, Value((TOKENS,), "int32"))

    def positions(self) -> Handle:
        """The input ``positions``, int32[T]; runs count on if it is not given."""
        return self._input(POSITIONS, Value((TOKENS,), "int32"))

    def input(self, name: str, *width: int) -> Handle:
        """An input of rows, f32[T, width], or of heads."""
        return self._input(name, Value((TOKENS, *width)))

    def embedding(self, ids: Handle, table: Any, name: str = "") -> Handle:
        """Rows of a table [entries, width]."""
        return self.add(Embedding(), ids, weights={"table": table}, name=name)

    def linear(
        self,
        x: Handle,
        weight: Any,
        bias: Any = None,
        *,
        transposed: bool = False,
        name: str = "",
    ) -> Handle:
        """``x @ weight + bias``, of a weight [in, out], or [out, in] if it is transposed."""
        kind = Linear(transposed)
        return self.add(kind, x, weights={"weight": weight, "bias": bias}, name=name)

    def scaled_linear(
        self,
        x: Handle,
        weight: Any,
        scale: Any,
        bias: Any = None,
        *,
        bits: int = 8,
        step: Any = None,
        name: str = "",
    ) -> Handle:
        """``x @ (scale * weight) + bias``: weight [in, out] of int8, scale [groups, out].

        With a step [1], x becomes int8, the nearest number of steps, and sums are of int32.
        """
        weights = {"weight": weight, "scale": scale, "bias": bias, "step": step}
        return self.add(ScaledLinear(bits), x, weights=weights, name=name)

    def norm(
        self,
        x: Handle,
        weight: Any = None,
        bias: Any = None,
        *,
        how: Literal["rms", "layer"] = "rms",
        eps: float = 1e-6,
        name: str = "",
    ) -> Handle:
        """RMSNorm or LayerNorm of the last dim."""
        return self.add(Norm(how, eps), x, weights={"weight": weight, "bias": bias}, name=name)

    def rope(
        self,
        x: Handle,
        positions: Handle,
        frequencies: Any,
        *,
        pairs: Literal["halves", "neighbours"] = "halves",
        factor: float = 1.0,
        name: str = "",
    ) -> Handle:
        """Heads turned by ``positions * frequencies``."""
        weights = {"frequencies": frequencies}
        return self.add(Rope(pairs, factor), x, positions, weights=weights, name=name)

    def attention(
        self,
        q: Handle,
        k: Handle,
        v: Handle,
        *,
        scale: float,
        window: Any = None,
        softcap: float = 0.0,
        causal: bool = True,
        name: str = "",
    ) -> Handle:
        """Attention of heads, with a cache if it is causal."""
        window = np.int32(window) if type(window) is int else window
        kind = Attention(scale, softcap, causal)
        return self.add(kind, q, k, v, weights={"window": window}, name=name)

    def experts(
        self,
        x: Handle,
        router: Any,
        gate: Any,
        up: Any,
        down: Any,
        *,
        top: int,
        activation: Function | None = None,
        normalise: bool = True,
        name: str = "",
    ) -> Handle:
        """A mixture of gated experts."""
        kind = Experts(top, activation or fn.silu(), normalise)
        weights = {"router": router, "gate": gate, "up": up, "down": down}
        return self.add(kind, x, weights=weights, name=name)

    def map(self, function: Function, *xs: Handle, name: str = "") -> Handle:
        """A function of stepgen, as ``fn.silu()``, of each number or pair."""
        return self.add(Map(function), *xs, name=name)

    def heads(self, x: Handle, each: int, name: str = "") -> Handle:
        """Rows as heads of a width."""
        return self.add(Heads(each), x, name=name)

    def join(self, x: Handle, name: str = "") -> Handle:
        """Heads as rows."""
        return self.add(Join(), x, name=name)

    def split(self, x: Handle, first: int, count: int, name: str = "") -> Handle:
        """Some columns of rows."""
        return self.add(Split(first, count), x, name=name)

    def model(self, *outputs: Handle, fold: bool = True) -> Model:
        """The model that computes these values.

        Parameters
        ----------
        *outputs : Handle
        fold : bool
            Whether layers that are alike become loops.

        Raises
        ------
        StepError
            If an operation is not possible.
        """
        names = tuple(handle.name for handle in outputs)
        flat = Model(self.name, self.tokens, self._inputs, names, tuple(self._ops), self._weights)
        return fold_layers(drop_dead(flat)) if fold else flat
