"""Repeated references to buffers become repeated readings: no circuit copies references."""

from __future__ import annotations

from stepgen.compile.transforms.rewrite import deep
from stepgen.ir.dtypes import Buffer
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node, Stream, StreamType


def reread(graph: Graph) -> tuple[Graph, dict[str, str]]:
    """The same program with references that reach each Streamify once, for the lowering.

    An Expand of references whose consumers are Streamify without a reference or count of their own
    becomes a Flatten, which drops the dims of 1; the Streamify get its reference, or its count.

    Parameters
    ----------
    graph : Graph
        Is not changed, and is returned if it repeats no references in this way.

    Returns
    -------
    Graph
    dict of str to str
        By Flatten the Expand that it stands for.
    """
    found = [node for node in graph.nodes if _only_read(graph, node)]
    if not found:
        return graph, {}
    new = Graph(graph.name)
    new.tensors = graph.tensors
    taken = {node.name for node in graph.nodes}
    names: dict[str, str] = {}
    for node in found:
        name = f"{node.name}_flatten"
        while name in taken:
            name += "_"
        taken.add(name)
        names[name] = node.name
    named = {expand: flatten for flatten, expand in names.items()}
    copies = {node: _copy(node, new, named.get(node.name, "")) for node in graph.nodes}
    new.nodes += copies.values()

    def moved(stream: Stream) -> Stream:
        made = stream.resolved()
        return deep(copies[made.node].outputs[made.port], stream.depth)

    for node, copy in copies.items():
        copy.inputs = tuple(moved(s) for s in (node.inputs[:1] if node in found else node.inputs))
        repeats = node.inputs[0].resolved().node if node.inputs else node
        if repeats in found and node not in found:
            copy.inputs += tuple(moved(s) for s in repeats.inputs[1:])
            copy.attrs = {**node.attrs, "count": repeats.attrs["count"]}
    return new, names


def _only_read(graph: Graph, node: Node) -> bool:
    """Whether a node is an Expand of references that a Flatten and other readings can replace."""
    if not node.face.repeats(node) or not isinstance(node.inputs[0].dtype, Buffer):
        return False
    readers = [reader for reader, _ in graph.consumers(node.outputs[0])]
    plain = all(
        r.face.reads == "buffer" and len(r.inputs) == 1 and r.attrs["count"] is None
        for r in readers
    )
    return bool(readers) and plain and len(node.inputs[0].shape) > _dims_of_one(node)


def _dims_of_one(node: Node) -> int:
    """The dims of 1 that an Expand repeats."""
    return int(node.attrs["rank"]) if len(node.inputs) > 1 else 1


def _copy(node: Node, graph: Graph, flat: str) -> Node:
    """The node in another graph, still without inputs; a Flatten of the name `flat`, if any."""
    if not flat:
        copy = Node(graph, node.op, node.name, (), node.attrs, node.where)
        made = [(s, s.shape, s.totals) for s in node.outputs]
    else:
        x, ones = node.inputs[0], _dims_of_one(node)
        copy = Node(graph, "flatten", flat, (), {"lo": 0, "hi": ones}, node.where)
        made = [(node.outputs[0], x.shape[: len(x.shape) - ones], x.totals[ones:])]
    copy.outputs = tuple(
        Stream(copy, s.port, StreamType(shape, s.dtype), totals, s.volume)
        for s, shape, totals in made
    )
    return copy
