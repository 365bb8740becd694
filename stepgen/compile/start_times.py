"""Depths of FIFOs from a schedule of kernels whose rates are known: StreamTensor's program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from stepgen.ir.errors import StepError
from stepgen.ir.where import user_line

Edge = tuple[str, str]
"""A FIFO, by the names of the kernels that write and read it."""


@dataclass(frozen=True)
class Kernel:
    """A kernel that makes its tokens at one rate.

    Parameters
    ----------
    tokens : int
        That it makes, at least 1.
    first : int
        Cycles from its start to the first token.
    interval : int
        Cycles from a token to the next, at least 1.

    Raises
    ------
    StepError
        If a number is below that.
    """

    tokens: int
    first: int
    interval: int = 1

    def __post_init__(self) -> None:
        if min(self.tokens, self.interval) < 1 or self.first < 0:
            raise StepError(
                f"a kernel at {user_line()} makes at least 1 token, each in at least 1 cycle, the "
                f"first one after at least 0, not {self.tokens}, {self.interval} and {self.first}"
            )

    @property
    def cycles(self) -> int:
        """Cycles from its start to the one behind its last token."""
        return self.first + (self.tokens - 1) * self.interval + 1


def peak(source: Kernel, interval: int, delay: int, *, published: bool = False) -> int:
    """The most tokens that wait between two kernels.

    Parameters
    ----------
    source : Kernel
        The one that writes.
    interval : int
        Cycles from a token to the next of the one that reads.
    delay : int
        Start of the one that reads, behind the start of `source`; at least `source.first`.
    published : bool
        The published formula, which may count one too many.

    Notes
    -----
    StreamTensor, section 5.3.
    """
    if source.interval > interval:
        return min(source.tokens, -(-(delay - source.first) // source.interval))
    if published:
        return min(source.tokens, source.tokens - (source.cycles - delay) // interval)
    return min(source.tokens, source.tokens - ((source.cycles - 1 - delay) // interval + 1))


def start_times(kernels: Mapping[str, Kernel], edges: Sequence[Edge]) -> dict[str, int]:
    """When each kernel starts, so that all FIFOs together wait as little as possible.

    The sum of the delays over all FIFOs is least, each delay being at least the time until the
    first token of the kernel that writes.

    Parameters
    ----------
    kernels : mapping of str to Kernel
    edges : sequence of (str, str)
        The FIFOs, without cycles.

    Returns
    -------
    dict of str to int
        Cycles; the first kernel starts at 0.

    Raises
    ------
    StepError
        If the FIFOs close a cycle, or name a kernel that is not there.

    Notes
    -----
    The published linear program has a constraint for every path. With start times one for every
    FIFO is enough, and its dual is a flow: network simplex solves it in integers, and shortest
    paths in what the flow leaves are the start times.
    """
    order = _order(kernels, edges)
    flow = nx.DiGraph()
    for name in order:
        flow.add_node(
            name, demand=sum(t == name for _, t in edges) - sum(s == name for s, _ in edges)
        )
    for source, target in edges:
        flow.add_edge(source, target, weight=-kernels[source].first)
    _, sent = nx.network_simplex(flow)
    left = nx.DiGraph()
    left.add_nodes_from(order)
    for source, target in edges:
        first = kernels[source].first
        left.add_edge(source, target, weight=-first)
        if sent[source][target]:  # a delay that is as short as it can be
            left.add_edge(target, source, weight=first)
    start = object()
    left.add_edges_from((start, name, {"weight": 0}) for name in order)
    far = nx.single_source_bellman_ford_path_length(left, start)
    latest = max((far[name] for name in order), default=0)
    return {name: latest - far[name] for name in order}


def effective(kernels: Mapping[str, Kernel], edges: Sequence[Edge]) -> dict[str, int]:
    """Cycles from token to token of each kernel in the program: no faster than what it reads."""
    found: dict[str, int] = {}
    for name in _order(kernels, edges):
        before = (found[source] for source, target in edges if target == name)
        found[name] = max([kernels[name].interval, *before])
    return found


def depths(kernels: Mapping[str, Kernel], edges: Sequence[Edge]) -> dict[Edge, int]:
    """The depth of each FIFO for kernels that start at their `start_times`, at least 1.

    Parameters
    ----------
    kernels : mapping of str to Kernel
    edges : sequence of (str, str)

    Raises
    ------
    StepError
        As `start_times`.
    """
    begin, rates = start_times(kernels, edges), effective(kernels, edges)
    found = {}
    for source, target in edges:
        kernel = kernels[source]
        slowed = Kernel(kernel.tokens, kernel.first, rates[source])
        found[source, target] = max(1, peak(slowed, rates[target], begin[target] - begin[source]))
    return found


def _order(kernels: Mapping[str, Kernel], edges: Sequence[Edge]) -> list[str]:
    """The kernels, those that write before those that read."""
    graph = nx.DiGraph()
    graph.add_nodes_from(kernels)
    for source, target in edges:
        for name in (source, target):
            if name not in kernels:
                raise StepError(
                    f"start times at {user_line()}: a FIFO goes from {source} to {target}, and the "
                    f"kernels are {', '.join(kernels)}"
                )
        graph.add_edge(source, target)
    try:
        return list(nx.topological_sort(graph))
    except nx.NetworkXUnfeasible:
        cycle = [source for source, _ in nx.find_cycle(graph)]
        raise StepError(
            f"start times at {user_line()}: the kernels {', '.join(cycle)} read each other in a "
            f"cycle, which has no first one"
        ) from None
