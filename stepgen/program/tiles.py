"""Timing simulation of a program on a described machine, from a graph and its inputs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from stepgen.ir.arguments import checked
from stepgen.ir.dtypes import FLAG, Selector, Tile, address
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.lanes import Lanes
from stepgen.ir.stream import Stream
from stepgen.ir.system import SystemGraph
from stepgen.ir.wire import LANES, VALUE, Beats
from stepgen.semantics import executor
from stepgen.semantics.executor import Result
from stepgen.semantics.inputs import given_tokens
from stepgen.semantics.memory import as_matrix
from stepgen.semantics.tokens import Token
from stepgen.timing.drive import MAX_CYCLES
from stepgen.timing.tiles import engine, known, shares
from stepgen.timing.tiles.depths import Depth
from stepgen.timing.tiles.machines import Machine
from stepgen.timing.tiles.report import Run

TRIES = 16
"""Iterations of reference and timing before values and orders of arrival must agree."""


@checked
def simulate(
    graph: Graph,
    inputs: Mapping[str, Any],
    machine: Machine,
    *,
    depths: Mapping[str, Depth] | None = None,
    limit: int = MAX_CYCLES,
) -> Run:
    """Time a program; tiles carry no data.

    Parameters
    ----------
    graph : Graph
        The program.
    inputs : mapping
        The contents of every input stream, as for `stepgen.semantics.executor.run`, and of tensors
        of addresses; the contents of other tensors are not used and may be missing.
    machine : Machine
        The machine.
    depths : mapping of str to int or "unbounded", optional
        FIFO depths of streams by name.
    limit : int
        Cycles that the run may take.

    Returns
    -------
    Run

    Raises
    ------
    StepError
        If inputs are missing or do not fit, the program deadlocks, or its timing
        depends on data (see `simulate_with_data`).
    """
    return _timed(graph, inputs, machine, depths, {}, limit)


@checked
def simulate_with_data(
    graph: Graph,
    inputs: Mapping[str, Any],
    machine: Machine,
    *,
    depths: Mapping[str, Depth] | None = None,
    lanes: Lanes = LANES,
    limit: int = MAX_CYCLES,
) -> tuple[Run, Result]:
    """Time a program and compute its values, in the order in which chunks arrive.

    Numbers and flags computed from data may determine timing: the reference provides them for
    the timing, and the timing the orders of arrival for the reference, until both agree.

    Parameters
    ----------
    graph, inputs, machine, depths, limit
        As for `simulate`, but with the contents of all tensors that are read.
    lanes : int or mapping of str to int
        Lanes of a slice, which decide the order of floating-point sums.

    Returns
    -------
    run : Run
    result : Result
        All streams and tensors of the reference.

    Raises
    ------
    StepError
        As `simulate` and `stepgen.semantics.executor.run`; or if values and orders of arrival do
        not converge.
    """
    steering = known.decided(graph)
    choices: dict[str, list[int]] = {}
    for _ in range(TRIES):
        result = executor.run(graph, inputs, lanes=lanes, choices=choices)
        contents = {s.name: to_beats(s, result.streams[s.name]) for s in steering}
        run = _timed(graph, inputs, machine, depths, contents, limit)
        if run.choices == choices:
            return run, result
        choices = run.choices
    raise StepError(
        f"the program {graph.name} on {machine.name} does not settle: data change the "
        f"order of arrival, which changes the data, {TRIES} times in a row"
    )


def _timed(
    graph: Graph,
    inputs: Mapping[str, Any],
    machine: Machine,
    depths: Mapping[str, Depth] | None,
    contents: Mapping[str, Beats],
    limit: int,
) -> Run:
    if isinstance(graph, SystemGraph):
        raise graph.refusal()
    streams = {
        name: to_beats(graph.inputs[name], tokens)
        for name, tokens in given_tokens(graph, inputs).items()
    }
    tensors = {
        name: as_matrix(tensor, inputs[name])
        for name, tensor in graph.tensors.items()
        if tensor.element == address and name in inputs
    }
    run = functools.partial(
        engine.run,
        graph,
        streams,
        machine,
        depths=depths,
        tensors=tensors,
        contents=contents,
        limit=limit,
    )
    same = shares.equal(graph, machine)
    try:
        found = run(shares=same)
        return run(shares=shares.by_work(found, same)) if same else found
    except MemoryError:
        raise StepError(
            f"there is not enough memory to time {graph.name} on {machine.name}"
        ) from None


def to_beats(stream: Stream, tokens: list[Token]) -> Beats:
    """Tokens as the engine takes them, one beat each."""
    dtype = stream.dtype
    has_values = isinstance(dtype, Selector) or dtype == FLAG
    has_values = has_values or (isinstance(dtype, Tile) and dtype.element == address)
    width = dtype.n if isinstance(dtype, Selector) else 2
    if isinstance(dtype, Tile) and has_values and dtype.cols == 1:
        width = 1
    data = np.zeros((len(tokens), width), dtype=np.int64)
    for i, token in enumerate(tokens):
        if token.kind != VALUE:
            continue
        if has_values:
            data[i] = np.asarray(token.value).reshape(-1)[:width]
        else:
            data[i] = token.value.shape
    kind, stop, low = np.array([[t.kind, t.stop, t.low] for t in tokens], dtype=np.uint8).T
    return Beats(kind, stop, low, data)
