"""Rows that are stored once, while references to them are routed."""

from __future__ import annotations

from stepgen.compile.transforms.rewrite import Rewrite, Transformed, node_named
from stepgen.ir.arguments import checked
from stepgen.ir.dtypes import Tile
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node


@checked
def row_references(program: Graph | Transformed, *, partition: str | None = None) -> Transformed:
    """Store what a Partition routes, and route references to it.

    What waits for each of its consumers is a reference then: a row that several of them get is in
    memory once.

    Parameters
    ----------
    program : Graph or Transformed
        Sends tiles to several consumers.
    partition : str, optional
        Name of the Partition; by default all that route tiles.

    Returns
    -------
    Transformed
        The same program, with a Bufferize before and a Streamify behind each consumer's output.

    Raises
    ------
    StepError
        If there is no such Partition.
    """
    before = Transformed.of(program)
    chosen = _partitions(before.graph, partition)
    rewrite = Rewrite(before.graph)
    for node in rewrite.nodes():
        if node in chosen:
            _stored(rewrite, node)
        else:
            rewrite.copy(node)
    return before.then(rewrite.new)


def _partitions(graph: Graph, name: str | None) -> list[Node]:
    """The partitions to change."""
    if name is None:
        found = [node for node in graph.nodes if _routes_tiles(node)]
        if not found:
            raise StepError(
                f"row_references finds nothing to store in {graph.name}: no partition routes tiles"
            )
        return found
    node = node_named(graph, name, "row_references", "partition")
    if not _routes_tiles(node):
        raise StepError(
            f"row_references needs a partition of tiles, but {name} is a {node.op} of "
            f"{', '.join(str(x) for x in node.inputs[:1]) or 'nothing'}"
        )
    return [node]


def _routes_tiles(node: Node) -> bool:
    return node.op == "partition" and isinstance(node.inputs[0].dtype, Tile)


def _stored(rewrite: Rewrite, node: Node) -> None:
    """Add a partition of references; chunks without dims are stored as ones of one tile."""
    x, sel = rewrite.inputs(node)
    rank, where = node.attrs["rank"], node.where
    if not rank:
        x = rewrite.add("promote", [x], {"level": 0}, where=where).outputs[0]
    refs = rewrite.add("bufferize", [x], {"rank": max(1, rank)}, where=where).outputs[0]
    attrs = {"rank": 0, "num_consumers": node.attrs["num_consumers"]}
    routed = rewrite.add("partition", [refs, sel], attrs, where=where, name=node.name)
    for old, part in zip(node.outputs, routed.outputs, strict=True):
        read = rewrite.add("streamify", [part], {}, where=where).outputs[0]
        if not rank:
            read = rewrite.add("flatten", [read], {"lo": 0, "hi": 1}, where=where).outputs[0]
        rewrite.put(old, read)
