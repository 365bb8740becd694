"""Values of the dims of a program in one run, for its symbolic metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from stepgen.ir.dtypes import Tile
from stepgen.ir.expr import Expr
from stepgen.ir.metrics import selector_counts
from stepgen.ir.stream import Stream
from stepgen.ir.wire import BARE, VALUE
from stepgen.program.program import Program
from stepgen.semantics import executor
from stepgen.semantics.inputs import given_tokens
from stepgen.semantics.tokens import Token, values

Dims = dict[str, int]


def dims(
    program: Program,
    wanted: Iterable[Expr],
    *,
    run: bool = True,
    elements: Mapping[str, int] | None = None,
) -> Dims:
    """Values of dims, as far as the inputs determine them.

    Selectors, ranges and the structure of the inputs determine most; for the others the
    reference runs and its streams are measured. The length of a range is that of the longest,
    by which a buffer is sized.

    Parameters
    ----------
    program : Program
        With its inputs.
    wanted : iterable of Expr
        The dims.
    run : bool
        Whether the reference may run.
    elements : mapping of str to int, optional
        Elements that each node with one output emitted in a run.

    Returns
    -------
    dict of str to int
    """
    graph, names = program.graph, [s.name for s in wanted]
    known: Dims = {}
    for name, tokens in given_tokens(graph, program.inputs).items():
        stream = graph.inputs[name]
        _measure(stream, tokens, known)
        if stream in graph.routings:
            mask = np.array(list(values(tokens)), np.bool_)
            shape = (*[1] * stream.rank, -1, len(graph.routings[stream].counts))
            counts = selector_counts(graph, name, mask.reshape(shape))
            known |= {dim: int(np.asarray(n)) for dim, n in counts.items()}
        if stream in graph.spans:
            length, total = graph.spans[stream]
            lengths = [int(span[0, -1]) for span in values(tokens)]
            known |= {str(total): sum(lengths), str(length): max(lengths, default=0)}
    for node in graph.nodes:
        if elements and node.name in elements and len(node.outputs) == 1:
            _learn(node.outputs[0].totals[0], elements[node.name], known)
    if run and any(name not in known for name in names):
        result = executor.run(graph, program.inputs)
        for node in graph.nodes:
            for stream in node.outputs:
                _measure(stream, result.streams[stream.name], known)
    return {name: known[name] for name in names if name in known}


def _measure(stream: Stream, tokens: Sequence[Token], known: Dims) -> None:
    """Derive dims from one stream: from its numbers of groups and the sizes of its tiles."""
    for level in reversed(range(stream.rank + 1)):
        _learn(stream.totals[level], _groups(tokens, level), known)
    if isinstance(stream.dtype, Tile):
        _learn(stream.volume, sum(tile.size for tile in values(tokens)), known)


def _groups(tokens: Sequence[Token], level: int) -> int:
    return sum(
        token.kind == VALUE or (token.kind == BARE and token.low <= level)
        for token in tokens
        if token.stop >= level
    )


def _learn(extent: Expr, count: int, known: Dims) -> None:
    """Solve ``extent == count`` where the extent is a multiple of one dim that is not known yet."""
    open_dims = [s for s in extent.free_symbols if s.name not in known]
    if len(open_dims) != 1:
        return
    given = {s: known[s.name] for s in extent.free_symbols if s.name in known}
    linear = extent.subs(given).linear_in(open_dims[0])
    if linear is not None and linear[0].integer and linear[1] == 0:
        known[open_dims[0].name] = count // int(linear[0])
