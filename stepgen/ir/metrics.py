"""Symbolic metrics: costs of a program without running it (paper, section 4.2).

Costs are expressions over the dynamic dims; substituting the number of tokens of each expert, or
the length of each request, gives numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from stepgen.ir.arguments import checked, shown
from stepgen.ir.dims import Dim
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr, as_expr, max_of, sum_of
from stepgen.ir.graph import Graph
from stepgen.ir.policy import PAPER, PUBLISHED, Policy
from stepgen.ir.where import user_line

Value = int | npt.NDArray[np.integer[Any]]
Provider = Callable[[Graph, Any], "Metrics"]


@dataclass(frozen=True)
class Cost:
    """Cost of one node over a run.

    Attributes
    ----------
    traffic : Expr
        Off-chip bytes.
    memory : Expr
        On-chip bytes.
    flops : Expr
        Arithmetic operations.
    """

    traffic: Expr
    memory: Expr
    flops: Expr


@dataclass(frozen=True)
class Numbers:
    """Metrics with all dims substituted: integers, or arrays with one entry per run."""

    traffic: Value
    memory: Value
    flops: Value

    @property
    def intensity(self) -> npt.NDArray[np.float64]:
        """Operations per off-chip byte."""
        return np.divide(self.flops, self.traffic, dtype=np.float64)


@dataclass(frozen=True)
class Metrics:
    """Costs of a program under one accounting model.

    Attributes
    ----------
    policy : str
        Name of the policy.
    nodes : dict of str to Cost
        The cost of every node, by its name.
    """

    policy: str
    nodes: dict[str, Cost]

    @cached_property
    def traffic(self) -> Expr:
        """Off-chip bytes."""
        return sum_of(*(c.traffic for c in self.nodes.values()))

    @cached_property
    def memory(self) -> Expr:
        """On-chip bytes."""
        return sum_of(*(c.memory for c in self.nodes.values()))

    @cached_property
    def flops(self) -> Expr:
        """Arithmetic operations."""
        return sum_of(*(c.flops for c in self.nodes.values()))

    @property
    def intensity(self) -> Expr:
        """Operations per off-chip byte."""
        return self.flops / self.traffic

    @cached_property
    def symbols(self) -> list[Expr]:
        """The dims that the totals depend on, by name."""
        free = self.traffic.free_symbols | self.memory.free_symbols | self.flops.free_symbols
        return sorted(free, key=lambda s: (len(s.name), s.name))

    @checked
    def evaluate(self, values: Mapping[Any, Value] | None = None) -> Numbers:
        """The totals for given dims.

        Parameters
        ----------
        values : mapping
            From a symbol, a `Dim` or a name to an integer, or to an array with one entry per run.

        Returns
        -------
        Numbers
            Bytes and operations: integers, or arrays with one entry per run.

        Raises
        ------
        StepError
            If a dim is missing, a value is not an extent, or arrays differ in their number of runs.
        """
        given = {_name(key): _extent(key, value) for key, value in (values or {}).items()}
        missing = [s.name for s in self.symbols if s.name not in given]
        if missing:
            raise StepError(
                f"evaluate at {user_line()}: the {self.policy} metrics depend on the dims "
                f"{', '.join(missing)}, which have no value"
            )
        try:
            runs = np.broadcast_shapes(*(np.shape(v) for v in given.values()))
        except ValueError:
            shapes = ", ".join(f"{name} {list(np.shape(v))}" for name, v in given.items())
            raise StepError(
                f"evaluate at {user_line()}: arrays need one entry per run, not {shapes}"
            ) from None
        results = [e.evaluate(given) for e in (self.traffic, self.memory, self.flops)]
        return Numbers(*(_integer(np.broadcast_to(r, runs)) for r in results))


_providers: dict[str, Provider] = {}


def register_policy(name: str, provider: Provider) -> None:
    """Register an accounting model with its own code, such as ``hardware``.

    Parameters
    ----------
    name : str
        Name of the policy.
    provider : callable
        Takes the graph and the `design` given to `metrics`, returns `Metrics`.
    """
    _providers[name] = provider


@checked
def metrics(graph: Graph, policy: str = "paper", design: Any = None) -> Metrics:
    """Costs of a program.

    Parameters
    ----------
    graph : Graph
        The program.
    policy : str
        The accounting model: ``paper`` (the text's formulas), ``published`` (as in its figures) or
        a registered one.
    design : optional
        For a registered policy: the design table whose units are counted.

    Returns
    -------
    Metrics
        Bytes and operations of every node, symbolic in the dynamic dims.

    Raises
    ------
    StepError
        If there is no such policy.
    """
    for known in (PAPER, PUBLISHED):
        if known.name == policy:
            largest = _largest(graph)
            return Metrics(policy, {n.name: _cost(n, known, largest) for n in graph.nodes})
    if policy not in _providers:
        names = ", ".join([PAPER.name, PUBLISHED.name, *_providers])
        raise StepError(
            f"metrics at {user_line()}: there is no policy {policy!r}, those are {names}"
        )
    return _providers[policy](graph, design)


@checked
def selector_counts(graph: Graph, name: str, mask: npt.ArrayLike) -> dict[str, Value]:
    """How often each consumer is selected: values for `Metrics.evaluate`.

    Parameters
    ----------
    graph : Graph
        The program.
    name : str
        The input that carries the selectors.
    mask : array of bool
        ``[.., n]``, one row per selector; one leading dim more than the stream has gives one
        result per run.

    Returns
    -------
    dict of str to int or array
        From the name of each consumer's dim to the number of selectors with its bit set.

    Raises
    ------
    StepError
        If there is no such input or the array does not fit.
    """
    prefix = f"selector_counts at {user_line()}:"
    stream = next(iter(graph.node(name).outputs), None)
    known = graph.routings.get(stream) if stream is not None else None
    if stream is None or known is None:
        raise StepError(f"{prefix} no partition is steered by {name}")
    try:
        array = np.asarray(mask)
    except ValueError:
        array = np.array(None)
    if not (array.dtype == bool or (array.dtype.kind in "iuf" and np.isin(array, (0, 1)).all())):
        raise StepError(f"{prefix} {name} must be an array of bool, not {shown(mask)}")
    dims = len(stream.shape)
    if array.ndim not in (dims + 1, dims + 2) or array.shape[-1] != len(known.counts):
        raise StepError(
            f"{prefix} {name} must be an array of {dims + 1} dims with {len(known.counts)} "
            f"columns, not of shape {array.shape}"
        )
    counts = array.astype(np.int64).sum(axis=tuple(range(array.ndim - 1 - dims, array.ndim - 1)))
    return {str(d): counts[..., i] for i, d in enumerate(known.counts)}


def _largest(graph: Graph) -> dict[Expr, Expr]:
    """For a ragged dim of merged streams the largest of the dims that it replaces.

    Memory must suffice for the elements of any of the streams.
    """
    largest: dict[Expr, Expr] = {}
    for routing in graph.routings.values():
        for dim, parts in routing.merged.items():
            largest[dim.expr] = max_of(*(d.expr.subs(largest) for d in parts))
    return largest


def _cost(node: Any, policy: Policy, largest: Mapping[Expr, Expr]) -> Cost:
    face = node.face
    memory = as_expr(face.memory(node, policy)).subs(largest)
    return Cost(as_expr(face.traffic(node, policy)), memory, as_expr(face.flops(node, policy)))


def _name(key: Any) -> str:
    return str(key.expr) if isinstance(key, Dim) else str(key)


def _extent(key: Any, value: Value) -> Value:
    array = np.asarray(value)
    if array.dtype.kind not in "iu" or (array.size and array.min() < 0):
        raise StepError(
            f"evaluate at {user_line()}: the dim {_name(key)} must be of integers from 0 on, not "
            f"{shown(value)}"
        )
    return value


def _integer(array: npt.NDArray[Any]) -> Value:
    if array.dtype.kind == "f" and np.array_equal(array, np.rint(array)):
        array = np.rint(array).astype(np.int64)
    return int(array) if array.ndim == 0 and array.dtype.kind != "f" else array
