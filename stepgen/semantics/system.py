"""The reference of several programs as one system: part after part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.lanes import Lanes
from stepgen.ir.stream import StreamType
from stepgen.ir.system import SystemGraph
from stepgen.ir.wire import LANES
from stepgen.semantics import executor
from stepgen.semantics.memory import TensorMemory
from stepgen.semantics.numbers import Array
from stepgen.semantics.tokens import Token


def run(
    graph: Graph,
    inputs: Mapping[str, Any],
    *,
    lanes: Lanes = LANES,
    choices: Mapping[str, Sequence[int]] | None = None,
    guesses: bool = False,
) -> executor.Result:
    """Run a program, or a system of several.

    Parameters
    ----------
    graph : Graph
    inputs : mapping
        Contents of its open inputs and of tensors, by name.
    lanes, choices, guesses
        As for `executor.run`. The parts of a system have lanes of their own; merges have the names
        that they have in it.

    Returns
    -------
    Result
        With the streams between parts, too.

    Raises
    ------
    StepError
        As of `executor.run`.
    """
    if not isinstance(graph, SystemGraph):
        return executor.run(graph, inputs, lanes=lanes, choices=choices, guesses=guesses)
    return _run(graph, inputs, choices or {}, guesses)


def _run(
    system: SystemGraph,
    inputs: Mapping[str, Any],
    choices: Mapping[str, Sequence[int]],
    guesses: bool,
) -> executor.Result:
    _check(system, inputs)
    passed: dict[str, list[Token]] = {}
    streams: dict[str, list[Token]] = {}
    types: dict[str, StreamType] = {}
    arrays: tuple[dict[str, Array], ...] = {}, {}, {}
    for part, graph in system.parts.items():
        made = executor.run(
            graph,
            system.own(part, {**inputs, **passed}),
            lanes=system.lanes[part],
            choices=system.own(part, choices),
            guesses=guesses,
        )
        for name, tokens in made.streams.items():
            streams[f"{part}_{name}"], types[f"{part}_{name}"] = tokens, made.types[name]
        for port in graph.outputs:
            if fed := system.links.get(f"{part}_{port}"):
                passed[fed] = made.streams[port]
        for found, own in zip(arrays, (made.tensors, made.images, made.stored), strict=True):
            found |= {f"{part}_{name}": array for name, array in own.items()}
    return executor.Result(streams, types, *arrays)


def images(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, Array]:
    """The contents of every tensor before the run, in memory order."""
    if not isinstance(graph, SystemGraph):
        return TensorMemory(graph, inputs).images
    return {
        f"{part}_{name}": image
        for part, one in graph.parts.items()
        for name, image in TensorMemory(one, graph.own(part, inputs)).images.items()
    }


def _check(system: SystemGraph, inputs: Mapping[str, Any]) -> None:
    known = [*system.inputs, *system.tensors]
    for name in inputs:
        if name not in known:
            raise StepError(
                f"the system {system.name} has no input or tensor {name!r}, those are "
                f"{', '.join(known) or 'none'}"
            )
    for name in system.inputs:
        if name not in inputs:
            raise StepError(f"the input {name} of the system {system.name} was not given")
