"""A graph or a model with its inputs, completed by random ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepgen.hw.design.table import Design
from stepgen.ir.graph import Graph
from stepgen.program import inputs as program_inputs
from stepgen.program import models
from stepgen.program.routing import Routing
from stepgen.program.traces import Lengths

if TYPE_CHECKING:
    from stepgen.frontend.model import Model


@dataclass(frozen=True)
class Program:
    """A graph and what goes into it.

    Attributes
    ----------
    graph : Graph
        Complete and checked.
    inputs : dict of str to object
        Nested lists, arrays or tokens by the name of an input stream; matrices by the name of
        a tensor.
    name : str
        As shown in reports.
    given : frozenset of str
        Names of the inputs that were not drawn.
    design : Design or None
        What it became, where it comes from a design folder.
    """

    graph: Graph
    inputs: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    given: frozenset[str] = frozenset()
    design: Design | None = None


def of_graph(
    graph: Graph,
    own: Mapping[str, Any],
    name: str,
    *,
    inputs: Path | None = None,
    seed: int = 0,
    dims: Mapping[str, str] | None = None,
    draw: bool = True,
    tensors: bool = True,
    design: Design | None = None,
) -> Program:
    """A program of a graph, with its inputs completed.

    Parameters
    ----------
    graph : Graph
    own : mapping of str to object
        Inputs that come with it.
    name : str
        As shown in reports.
    inputs, seed, dims, draw, tensors
        As for `load`.
    design : Design, optional
        What it became.

    Raises
    ------
    StepError
        If the graph is not complete, or inputs do not fit.
    """
    graph.check()
    program_inputs.check(graph, own)
    given = {**own, **(program_inputs.load(inputs, graph) if inputs else {})}
    extents = program_inputs.extents(graph, dims or {}, given)
    found = given
    if draw:
        found = program_inputs.complete(graph, given, seed, tensors=tensors, dims=extents)
    return Program(graph, found, name, frozenset(given), design)


def of_model(
    model: Model,
    name: str,
    settings: Mapping[str, str] | None = None,
    *,
    spec: str = "",
    inputs: Path | Mapping[str, Any] | None = None,
    seed: int = 0,
    dims: Mapping[str, str] | None = None,
    routing: Routing | None = None,
    lengths: Lengths | None = None,
    draw: bool = True,
    tensors: bool = True,
) -> Program:
    """The program of a model, with its inputs completed; see `stepgen.program.models.lowered`."""
    lowered = models.lowered(
        model,
        spec or name,
        settings or {},
        inputs,
        seed,
        dims or {},
        routing=routing,
        lengths=lengths,
        draw=draw,
        tensors=tensors,
    )
    every = {**lowered.given, **lowered.drawn}
    return Program(lowered.graph, every, name, frozenset(lowered.given))
