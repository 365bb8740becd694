"""Cycles of a graph: the nodes on cycles, and cycles that would never end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepgen.ir.graph import Graph
    from stepgen.ir.stream import Node, Stream


def on_cycles(graph: Graph) -> set[str]:
    """Names of the nodes on cycles: they read, through others, their own outputs."""
    reads = [(s.resolved().node.name, node.name) for node in graph.nodes for s in node.inputs]
    place = {node.name: n for n, node in enumerate(graph.nodes)}
    if all(place.get(made, len(place)) < place[reader] for made, reader in reads):
        return set()
    import networkx as nx  # which takes long to import

    edges: nx.DiGraph = nx.DiGraph()
    edges.add_edges_from(reads)
    return {
        name
        for part in nx.strongly_connected_components(edges)
        for name in part
        if len(part) > 1 or edges.has_edge(name, name)
    }


def endless(stream: Stream, uses: Iterable[tuple[Node, int]]) -> list[Stream]:
    """The streams whose ends would wait for each other if `uses` read `stream`.

    Parameters
    ----------
    stream : Stream
        The stream that is fed back.
    uses : iterable of (Node, int)
        Inputs of nodes upstream that are to read it.

    Returns
    -------
    list of Stream
        From one of `uses` to `stream`: the end of each waits for that of the one before, and of the
        first for that of the last; empty if there is no such cycle.
    """
    import networkx as nx

    waits: nx.DiGraph = nx.DiGraph()
    for node in stream.graph.nodes:
        for index in node.face.ends_with(node):
            made = node.inputs[index].resolved()
            waits.add_edge(made.node.name, node.name, stream=made)
    for node, index in uses:
        if index not in node.face.ends_with(node):
            continue
        if node is stream.node:
            return [stream]
        if node.name not in waits or stream.node.name not in waits:
            continue
        if nx.has_path(waits, node.name, stream.node.name):
            path = nx.shortest_path(waits, node.name, stream.node.name)
            return [*(waits.edges[edge]["stream"] for edge in nx.utils.pairwise(path)), stream]
    return []
