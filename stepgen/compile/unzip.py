"""Streams of tuples become a stream for each item: no tuple is on the wire."""

from __future__ import annotations

from stepgen.compile.circuit import circuit_of
from stepgen.compile.transforms.rewrite import deep
from stepgen.ir.dims import static
from stepgen.ir.dtypes import TupleType
from stepgen.ir.function import Function
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node, Stream, StreamType


def unzipped(graph: Graph) -> tuple[Graph, dict[str, str]]:
    """The same program without tuples, for the lowering: its types are not inferred again.

    A function of tuples gets their items as operands. Any other operator works on each item with a
    node of its own, of which the first has the name of the node that it stands for. A zip or unzip
    has no output any more: its consumers read its inputs. An eager merge decides by the first items
    when a tuple has arrived; the others are reassembled by the selectors that it makes.

    Parameters
    ----------
    graph : Graph
        Is not changed, and is returned if it has no tuples.

    Returns
    -------
    Graph
    dict of str to str
        By node of the new graph that is called otherwise: the node that it stands for.

    Raises
    ------
    StepError
        If an operator has no circuit for tuples, or they are reassembled by time of arrival.
    """
    if not any(isinstance(s.dtype, TupleType) for node in graph.nodes for s in node.outputs):
        return graph, {}
    new = Graph(graph.name)
    new.tensors = graph.tensors
    taken = {node.name for node in graph.nodes}
    copies: dict[Node, list[Node]] = {}
    names: dict[str, str] = {}

    def free(node: Node, n: int) -> str:
        name = node.name
        while name in taken:
            name = f"{name}_{n}"
        names[name] = node.name
        taken.add(name)
        return name

    for node in graph.nodes:
        _check(node)
        copies[node] = [_copy(node, new, node.name, 0)]
        new.nodes += copies[node]
        for n in range(1, 1 if _bundles(node) else max(map(_width, node.outputs), default=1)):
            if _selects(node):
                parts = _follow(copies[node][0], node, n, free(node, n), free(node, n))
            else:
                parts = [_copy(node, new, free(node, n), n)]
            new.nodes += parts
            copies[node].append(parts[-1])

    def items(stream: Stream) -> list[Stream]:
        made = stream.resolved()
        if _bundles(made.node):
            whole = [deep(one, part.depth) for part in made.node.inputs for one in items(part)]
            before = sum(map(_width, made.node.outputs[: made.port]))
            return whole[before : before + _width(made)]
        return [copies[made.node][n].outputs[made.port] for n in range(_width(made))]

    for node, some in copies.items():
        read = [[deep(one, s.depth) for one in items(s)] for s in node.inputs]
        if isinstance(node.attrs.get("fn"), Function) or _bundles(node):
            some[0].inputs = tuple(one for each in read for one in each)
        elif _selects(node):
            some[0].inputs = tuple(each[0] for each in read)
            for n, last in enumerate(some[1:], 1):
                gather = last.inputs[0].node
                gather.inputs = (*(each[n] for each in read), some[0].outputs[1])
        else:
            for n, copy in enumerate(some):
                copy.inputs = tuple(each[n % len(each)] for each in read)
    return new, names


def _bundles(node: Node) -> bool:
    circuit = circuit_of(node)
    return circuit is not None and circuit.bundles


def _selects(node: Node) -> bool:
    circuit = circuit_of(node)
    return circuit is not None and circuit.selects


def _width(stream: Stream) -> int:
    return len(stream.dtype.leaves)


def _copy(node: Node, graph: Graph, name: str, n: int) -> Node:
    """The node for the items of number `n`, still without inputs."""
    copy = Node(graph, node.op, name, (), node.attrs, node.where)
    if not _bundles(node):
        copy.outputs = tuple(
            Stream(
                copy, s.port, StreamType(s.shape, s.dtype.leaves[n % _width(s)]), s.totals, s.volume
            )
            for s in node.outputs
        )
    return copy


def _follow(merge: Node, node: Node, n: int, *names: str) -> list[Node]:
    """Two nodes that put items `n` into the order of a merge's first ones; the first gets inputs.

    A selector of the merge names one chunk, so the dim that reassembling adds has extent 1.
    """
    (data, selector), rank = node.outputs, node.attrs["rank"]
    gathered, levelled = names
    by, chunk = {"rank": rank, "order": "index"}, {"lo": rank, "hi": rank + 1}
    gather = Node(merge.graph, "reassemble", gathered, (), by, node.where)
    level = Node(merge.graph, "flatten", levelled, (), chunk, node.where)
    one, totals = (data.shape[0], static(1), *data.shape[1:]), (*data.totals, *selector.totals)
    for made, shape, counts in ((gather, one, totals), (level, data.shape, data.totals)):
        kind = StreamType(shape, data.dtype.leaves[n])
        made.outputs = (Stream(made, 0, kind, counts, data.volume),)
    level.inputs = gather.outputs
    return [gather, level]


def _check(node: Node) -> None:
    """Refuse tuples where their items can't go separate ways."""
    pairs = [s for s in (*node.inputs, *node.outputs) if isinstance(s.dtype, TupleType)]
    if not pairs or _bundles(node) or isinstance(node.attrs.get("fn"), Function):
        return
    is_a, circuit = f"{pairs[0].name} is {pairs[0]}", circuit_of(node)
    if circuit is None or not (circuit.moves or circuit.selects):
        raise node.failure(f"{is_a}, but this operator has no circuit for tuples")
    if node.attrs.get("order") == "arrival":
        raise node.failure(
            f"{is_a}, but a circuit reassembles the items of tuples one by one, and each could "
            f'arrive in another order: use order="index"'
        )
