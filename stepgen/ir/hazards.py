"""Accesses of one tensor whose order nothing in the program decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import gcd, prod
from typing import TYPE_CHECKING

from stepgen.ir.affine import affine, reading
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node
from stepgen.ir.tensor import Tensor

if TYPE_CHECKING:
    import networkx as nx


class Hazards:
    """What was accessed so far in a tensor that is written by one node and used by others.

    Of two accesses of a tile, one a write, the later one must wait for the earlier one: a load for
    the acknowledgement of a write, a store for what was loaded or for the acknowledgement of
    another store. One node's own accesses are in order.

    Parameters
    ----------
    tensor : Tensor
    nodes : sequence of Node
        All nodes that use it, in the order of the graph.
    edges : networkx.DiGraph
        Those of the graph, by names of nodes.
    """

    def __init__(self, tensor: Tensor, nodes: Sequence[Node], edges: nx.DiGraph) -> None:
        self.tensor = tensor
        self.nodes = list(nodes)
        self._unit = gcd(*(prod(node.attrs["tile"]) for node in nodes))
        size = prod(tensor.shape) // self._unit
        import networkx as nx

        self._after = {node.name: nx.descendants(edges, node.name) for node in nodes}
        self._count = dict.fromkeys(self._after, 0)
        self._last = {node.name: [0] * size for node in nodes}
        self._parts = {node.name: prod(node.attrs["tile"]) // self._unit for node in nodes}
        self._rivals = {node.name: list(self._rivals_of(node)) for node in nodes}

    def _rivals_of(self, node: Node) -> Iterator[tuple[Node, bool, list[int]]]:
        """Nodes one of whose accesses changes a node's, whether a path leads from each, and the
        number of its last access of each part."""
        for other in self.nodes:
            if other is not node and not (_loads(other) and _loads(node)):
                yield other, self._leads(other, node), self._last[other.name]

    def access(
        self, node: Node, number: int, waits: Callable[[Node, int], bool] | None = None
    ) -> None:
        """Note that a node has read or written a tile of its own, by number.

        Parameters
        ----------
        node : Node
        number : int
        waits : function of Node and int, optional
            Whether this access waits for so many accesses of another node; by default it does where
            a path leads from that node to this one.

        Raises
        ------
        StepError
            If it does not wait for one that another order would put behind it.
        """
        parts = self._parts[node.name]
        part = slice(number * parts, (number + 1) * parts)
        for other, leads, accesses in self._rivals[node.name]:
            if leads and waits is None:
                continue
            last = max(accesses[part])
            if last and (waits is None or not waits(other, last)):
                raise StepError(
                    f"{node.name} ({node.where}): tile {number} of tensor {self.tensor.name} is "
                    f"used in an order that the program does not decide: {other.name} "
                    f"{'loads' if _loads(other) else 'writes'} it too, and neither of the two "
                    f"accesses waits for the other, as addresses made of its results would"
                )
        self._count[node.name] += 1
        self._last[node.name][part] = [self._count[node.name]] * parts

    def refuse_all(self) -> None:
        """Refuse a load of all tiles beside a store in no order with it, whatever it writes.

        Raises
        ------
        StepError
        """
        for load, store in product(self.nodes, self.nodes):
            if _loads(store) or load.inputs or self._leads(load, store):
                continue
            rows, cols = self.tensor.grid(load.attrs["tile"])
            read = {number for number, _ in affine(*reading(load.attrs))}
            if len(read) == rows * cols:
                raise StepError(
                    f"{store.name} ({store.where}) writes tiles of tensor {self.tensor.name}, and "
                    f"{load.name} at {load.where} reads all of its {rows * cols} tiles: no path "
                    f"from an acknowledgement puts them in order"
                )

    def _leads(self, one: Node, other: Node) -> bool:
        """Whether a path leads from one node to another."""
        return other.name in self._after[one.name]


def _loads(node: Node) -> bool:
    return node.face.writes is None


def hazards(graph: Graph) -> dict[str, Hazards]:
    """The watched tensors: those that are written by one node and used by others.

    Raises
    ------
    StepError
        If all that one of them may write is read by another one, in no order with it.
    """
    shared = shared_tensors(graph)
    edges = edges_of(graph) if shared else None
    found = {name: Hazards(graph.tensors[name], nodes, edges) for name, nodes in shared.items()}
    for watched in found.values():
        watched.refuse_all()
    return found


def shared_tensors(graph: Graph) -> dict[str, list[Node]]:
    """By tensor, all nodes that use it, of those that are written by one and used by others."""
    users: dict[str, list[Node]] = {}
    for node in graph.nodes:
        if "tensor" in node.attrs:
            users.setdefault(node.attrs["tensor"], []).append(node)
    return {
        name: nodes
        for name, nodes in users.items()
        if len(nodes) > 1 and any(node.face.writes is not None for node in nodes)
    }


def edges_of(graph: Graph) -> nx.DiGraph:
    """The edges of a graph, by names of nodes."""
    import networkx as nx

    edges: nx.DiGraph = nx.DiGraph()
    edges.add_nodes_from(node.name for node in graph.nodes)
    edges.add_edges_from(
        (s.resolved().node.name, node.name) for node in graph.nodes for s in node.inputs
    )
    return edges
