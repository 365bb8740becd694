"""Loops whose elements pass one by one: their FIFOs hold what one of them needs.

The elements of a loop may be known to wait for each other, since each begins with what the one
before it made. How many there are then does not matter to the depths of FIFOs: they are derived
from the same program with ranges of one element.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepgen.compile.transforms.rewrite import Rewrite
from stepgen.ir.function import Function
from stepgen.ir.graph import Graph
from stepgen.ir.lengths import lengths_of
from stepgen.ir.stream import Node, Stream

Output = tuple[str, int]
"""Name of a node, and number of an output."""


def at_a_time(graph: Graph) -> dict[Output, Stream]:
    """The streams of the program with one element of each such loop; empty if it has none.

    Parameters
    ----------
    graph : Graph
        Is not changed.
    """
    lengths = {
        lengths_of(node.inputs[0])
        for node, function in _functions(graph)
        if function.passes_one_by_one()
    }
    if not lengths:
        return {}
    alone = {
        node: function.of_one()
        for node, function in _functions(graph)
        if lengths_of(node.inputs[0]) in lengths
    }
    rewrite = Rewrite(graph)
    for node in rewrite.nodes():
        rewrite.copy(node, attrs={"fn": alone[node]} if node in alone else None)
    return {(old.node.name, old.port): new for old, new in rewrite.streams.items()}


def _functions(graph: Graph) -> Iterator[tuple[Node, Function]]:
    return ((node, node.attrs["fn"]) for node in graph.nodes if "fn" in node.attrs)
