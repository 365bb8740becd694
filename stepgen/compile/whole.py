"""Which tiles leave whole, since their first beats would report accesses that are still to come.

A tile reports, as one, all accesses of a tensor that its parts wait for, or that they are. Units
send a tile beat by beat, and some act on the first beats alone.
"""

from __future__ import annotations

from collections.abc import Collection

from stepgen.ir.dtypes import Tile
from stepgen.ir.function import Cut, Folded
from stepgen.ir.graph import Graph
from stepgen.ir.hazards import edges_of, shared_tensors
from stepgen.ir.stream import Node
from stepgen.ir.wire import wire_levels


def gathered(graph: Graph) -> set[str]:
    """Names of the nodes whose tiles are collected before their first beat is sent.

    They join rows that come from accesses of a tensor, or load from it; and what accesses it behind
    them does not wait for the whole tile by itself.
    """
    found: set[str] = set()
    shared = shared_tensors(graph)
    if not shared:
        return found
    import networkx as nx  # which takes long to import

    edges = edges_of(graph)
    for nodes in shared.values():
        names = {node.name for node in nodes}
        reports = names.union(*(nx.descendants(edges, name) for name in names))
        leads = names.union(*(nx.ancestors(edges, name) for name in names))
        found |= {
            node.name
            for node in graph.nodes
            if node.name in reports and _in_parts(node, names) and _too_early(node, names, leads)
        }
    return found


def written(graph: Graph) -> set[str]:
    """The tensors that the program writes."""
    writers = (node for node in graph.nodes if node.face.writes is not None)
    return {node.attrs["tensor"] for node in writers if "tensor" in node.attrs}  # others: buffers


def _in_parts(node: Node, accesses: Collection[str]) -> bool:
    """Whether the tile of a node may be several beats, of several accesses."""
    if not node.outputs or not wire_levels(node.outputs[0].dtype):
        return False
    function = node.attrs.get("fn")
    joins = isinstance(function, Folded) and function.grows == "rows"
    return joins or (node.name in accesses and node.face.reads is not None)


def _too_early(node: Node, accesses: Collection[str], leads: Collection[str]) -> bool:
    """Whether something acts on a part of a node's tile and leads to an access.

    As long as a tile keeps its rows, its last beat waits for the last one of the node.
    """
    whole = node.outputs[0].dtype
    assert isinstance(whole, Tile)
    streams, seen = [node.outputs[0]], set[str]()
    while streams:
        for user, _ in node.graph.consumers(streams.pop()):
            if user.name in seen or user.name not in leads or _waits(user, node, accesses):
                continue
            seen.add(user.name)
            rows = [y.dtype.rows for y in user.outputs if isinstance(y.dtype, Tile)]
            if isinstance(user.attrs.get("fn"), Cut) or user.face.reads or user.face.writes:
                return True
            if not rows or not all(one.same(whole.rows) for one in rows):
                return True
            streams += user.outputs
    return False


def _waits(user: Node, node: Node, accesses: Collection[str]) -> bool:
    """Whether an access waits for what it has to of a node's tile.

    A pass over a tensor that is written waits for all of it. What is written row by row comes later
    than what was read there row by row.
    """
    if user.face.reads == "tensor":
        return user.attrs["tensor"] in written(user.graph)
    tile = user.attrs.get("tile")
    return node.name in accesses and user.name in accesses and tile == node.attrs.get("tile")
