"""Times a program on a described machine, from what a user has: a graph and its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..ir.dtypes import FLAG, Selector, Tile, TupleType, address
from ..ir.errors import StepError
from ..ir.graph import Graph
from ..ir.stream import Stream
from ..ir.wire import VALUE, Beats
from ..semantics.inputs import to_tokens
from ..semantics.tokens import Token
from ..timing.tiles import engine
from ..timing.tiles.machines import Machine
from ..timing.tiles.report import Run


def simulate(
    graph: Graph,
    inputs: Mapping[str, Any],
    machine: Machine,
    *,
    depths: Mapping[str, int] | None = None,
) -> Run:
    """Time a program; tiles need not carry data.

    Parameters
    ----------
    graph : Graph
        The program.
    inputs : mapping
        The contents of every input stream, as for `stepgen.semantics.executor.run`, and of tensors
        of addresses; the contents of other tensors are not looked at and may be missing.
    machine : Machine
        What it runs on.
    depths : mapping of str to int, optional
        FIFO depths of streams by name.

    Returns
    -------
    Run

    Raises
    ------
    StepError
        If inputs are missing or do not fit, or the program can never end.
    """
    streams = [n.outputs[0] for n in graph.nodes if n.op == "source" and n.name in inputs]
    given = {
        s.node.name: to_beats(s, to_tokens(inputs[s.node.name], s.type, s.node.name))
        for s in streams
    }
    tensors = {
        name: inputs[name]
        for name, tensor in graph.tensors.items()
        if tensor.element == address and name in inputs
    }
    try:
        return engine.run(graph, given, machine, depths=depths, tensors=tensors)
    except MemoryError:
        raise StepError(
            f"there is not enough memory to time {graph.name} on {machine.name}"
        ) from None


def to_beats(stream: Stream, tokens: list[Token]) -> Beats:
    """Tokens as the engine takes them, one beat each.

    Raises
    ------
    StepError
        If the stream carries tuples, which the engine does not take from outside.
    """
    dtype = stream.dtype
    if isinstance(dtype, TupleType):
        raise StepError(f"the input {stream.node.name} carries {dtype}; give its items apart")
    told = isinstance(dtype, Selector) or dtype == FLAG
    told = told or (isinstance(dtype, Tile) and dtype.element == address)
    width = dtype.n if isinstance(dtype, Selector) else 2
    if isinstance(dtype, Tile) and told and dtype.cols == 1:
        width = 1
    data = np.zeros((len(tokens), width), dtype=np.int64)
    for i, token in enumerate(tokens):
        if token.kind != VALUE:
            continue
        if told:
            data[i] = np.asarray(token.value).reshape(-1)[:width]
        else:
            data[i] = token.value.shape
    kind, stop, low = np.array([[t.kind, t.stop, t.low] for t in tokens], dtype=np.uint8).T
    return Beats(kind, stop, low, data)
