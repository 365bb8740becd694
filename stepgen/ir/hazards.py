"""Accesses of one tensor whose order nothing in the program decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import gcd, prod

import networkx as nx
import numpy as np
import numpy.typing as npt

from stepgen.ir.affine import affine
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node
from stepgen.ir.tensor import Tensor


class Hazards:
    """What was accessed so far in a tensor that is written by one node and used by others.

    A load follows a write only where a path leads from the store's acknowledgements to it. Without
    one, a tile that is written is written by one store, and loaded before at most once, by a load
    with a path to that store: whatever the hardware does first, it reads the same. With one, what
    it has loaded for an acknowledgement is not written again, unless a path leads back to the
    store; to see all such writes, loads must come as early as they can, as in the reference.

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
        self._unit = gcd(*(prod(node.attrs["tile"]) for node in nodes))
        size = prod(tensor.shape) // self._unit
        self._nodes = list(nodes)
        self._number = {node.name: n + 1 for n, node in enumerate(nodes)}
        self._after = {node.name: nx.descendants(edges, node.name) for node in nodes}
        self._writer = np.zeros(size, np.int32)
        self._loader = np.zeros(size, np.int32)
        self._told = np.zeros(size, np.int32)
        self._again = np.zeros(size, np.bool_)

    def read(self, node: Node, number: int) -> None:
        """Note that a load has read a tile of its own, by number.

        Raises
        ------
        StepError
            If another order would have given other data.
        """
        part = self._part(node, number)
        self._apart(
            node, part, self._writer, "written it", lambda writer: self._leads(writer, node)
        )
        ordered = all(
            self._leads(other, node) for other in self._nodes if other.face.writes is not None
        )
        if ordered:
            self._told[part] = self._number[node.name]
        else:
            self._again[part] |= self._loader[part] > 0
            self._loader[part] = self._number[node.name]

    def write(self, node: Node, number: int) -> None:
        """Note that a store has written a tile of its own, by number.

        Raises
        ------
        StepError
            If another order would have given other data.
        """
        part = self._part(node, number)
        self._apart(
            node,
            part,
            self._writer,
            "written it",
            lambda writer: writer is node or self._leads(writer, node),
        )
        self._apart(
            node,
            part,
            self._loader,
            "loaded it",
            lambda load: self._leads(load, node) or self._leads(node, load),
        )
        self._apart(
            node,
            part,
            self._told,
            "loaded it for an acknowledgement before",
            lambda load: self._leads(load, node),
        )
        loaded = self._loader[part] > 0
        if (self._again[part] | (loaded & (self._writer[part] > 0))).any():
            load = self._nodes[int(self._loader[part].max()) - 1]
            self._refuse(node, part, f"{load.name} loads it and others write it")
        self._writer[part] = self._number[node.name]

    def refuse_all(self) -> None:
        """Refuse a load of all tiles beside a store in no order with it, whatever it writes.

        Raises
        ------
        StepError
        """
        for load, store in product(self._nodes, self._nodes):
            if store.face.writes is None or load.inputs or self._leads(load, store):
                continue
            rows, cols = self.tensor.grid(load.attrs["tile"])
            read = {number for number, _ in affine(load.attrs["shape"], load.attrs["stride"])}
            if len(read) == rows * cols:
                raise StepError(
                    f"{store.name} ({store.where}) writes tiles of tensor {self.tensor.name}, and "
                    f"{load.name} at {load.where} reads all of its {rows * cols} tiles: no path "
                    f"from an acknowledgement puts them in order"
                )

    def _part(self, node: Node, number: int) -> slice:
        """A tile of a node, in the largest parts of which all tiles consist."""
        parts = prod(node.attrs["tile"]) // self._unit
        return slice(number * parts, (number + 1) * parts)

    def _leads(self, one: Node, other: Node) -> bool:
        """Whether a path leads from one node to another."""
        return other.name in self._after[one.name]

    def _apart(
        self,
        node: Node,
        part: slice,
        users: npt.NDArray[np.int32],
        verb: str,
        ordered: Callable[[Node], bool],
    ) -> None:
        """Refuse an access of what a node has used that comes in no order with it."""
        for number in np.unique(users[part]):
            other = self._nodes[int(number) - 1]
            if number and not ordered(other):
                self._refuse(node, part, f"{other.name} has {verb}")

    def _refuse(self, node: Node, part: slice, why: str) -> None:
        raise StepError(
            f"{node.name} ({node.where}): the tile at element {part.start * self._unit} of tensor "
            f"{self.tensor.name} is used in an order that the program does not decide: {why}, and "
            f"no path from an acknowledgement puts them in order"
        )


def hazards(graph: Graph) -> dict[str, Hazards]:
    """The watched tensors: those that are written by one node and used by others.

    Raises
    ------
    StepError
        If all that one of them may write is read by another one, in no order with it.
    """
    users: dict[str, list[Node]] = {}
    for node in graph.nodes:
        if "tensor" in node.attrs:
            users.setdefault(node.attrs["tensor"], []).append(node)
    shared = {
        name: nodes
        for name, nodes in users.items()
        if len(nodes) > 1 and any(node.face.writes is not None for node in nodes)
    }
    if not shared:
        return {}
    edges: nx.DiGraph = nx.DiGraph()
    edges.add_nodes_from(node.name for node in graph.nodes)
    edges.add_edges_from(
        (s.resolved().node.name, node.name) for node in graph.nodes for s in node.inputs
    )
    found = {name: Hazards(graph.tensors[name], nodes, edges) for name, nodes in shared.items()}
    for watched in found.values():
        watched.refuse_all()
    return found
