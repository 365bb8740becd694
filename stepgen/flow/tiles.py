"""Times a program on a described machine, from what a user has: a graph and its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..ir.dtypes import Selector, Tile, address
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
        The contents of every input stream, as for `stepgen.semantics.executor.run`; the contents of
        tensors are not looked at and may be missing.
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
    return engine.run(graph, given, machine, depths=depths)


def to_beats(stream: Stream, tokens: list[Token]) -> Beats:
    """Tokens as the engine takes them, one beat each."""
    dtype = stream.dtype
    width = dtype.n if isinstance(dtype, Selector) else 2
    if isinstance(dtype, Tile) and dtype.element == address and dtype.cols == 1:
        width = 1
    data = np.zeros((len(tokens), width), dtype=np.int64)
    for i, token in enumerate(tokens):
        if token.kind != VALUE:
            continue
        if isinstance(dtype, Selector) or (isinstance(dtype, Tile) and dtype.element == address):
            data[i] = np.asarray(token.value).reshape(-1)[:width]
        else:
            data[i] = token.value.shape
    kind, stop, low = np.array([[t.kind, t.stop, t.low] for t in tokens], dtype=np.uint8).T
    return Beats(kind, stop, low, data)
