"""Static tiling to dynamic tiling and back (paper, section 5.2).

A *gather* packs the rows of a stream into tiles: static ones of a fixed number of rows, the last
one padded, or one dynamic tile of as many rows as there are::

    static:   reshape(chunk) -> accum(retile_row) -> ... -> flat_map(retile_streamify, padding)
    dynamic:  promote        -> accum(retile_row) -> ... -> flat_map(retile_streamify)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ...ir.arguments import checked
from ...ir.dtypes import Tile
from ...ir.errors import StepError
from ...ir.graph import Graph
from ...ir.stream import Node, Stream
from .rewrite import Rewrite, Transformed
from .rows import carried, follow, packs


@dataclass(frozen=True)
class _Gather:
    """Operators that pack rows.

    Attributes
    ----------
    first : Node
        Promote or Reshape.
    ends : tuple of Node
        Where tiles are split into rows again.
    """

    first: Node
    ends: tuple[Node, ...]


@checked
def static_tiling(program: Graph | Transformed, *, tile: int) -> Transformed:
    """Gather rows into static tiles instead of dynamic ones.

    Parameters
    ----------
    program : Graph or Transformed
        Gathers the rows of streams into dynamic tiles.
    tile : int
        Rows of a tile; the last tile is padded with rows of zeros, which are dropped at the end.

    Returns
    -------
    Transformed
        The same program on static tiles.

    Raises
    ------
    StepError
        If there is no dynamic tile that is split into rows again.
    """
    if tile < 1:
        raise StepError(f"static_tiling needs a tile of at least 1 row, not {tile}")
    before = Transformed.of(program)
    gathers = _gathers(before.graph, "promote")
    if not gathers:
        raise StepError(
            f"static_tiling finds no rows to tile in {before.graph.name}: no stream goes through "
            f"promote, accum(retile_row) and in the end flat_map(retile_streamify)"
        )
    rewrite = Rewrite(before.graph)
    firsts = {g.first: g for g in gathers}
    padding: dict[Node, Stream] = {}
    for node in rewrite.nodes():
        if node in firsts:
            attrs = {"dim": 0, "chunk": tile, "pad": 0}
            chunks = rewrite.add("reshape", rewrite.inputs(node), attrs, where=node.where)
            rewrite.put(node.outputs[0], chunks.outputs[0])
            padding |= dict.fromkeys(firsts[node].ends, chunks.outputs[1])
        elif node in padding:
            rewrite.copy(node, inputs=[*rewrite.inputs(node), padding[node]])
        else:
            rewrite.copy(node)
    return before.then(rewrite.new)


@checked
def dynamic_tiling(program: Graph | Transformed) -> Transformed:
    """Gather rows into dynamic tiles instead of static ones.

    Parameters
    ----------
    program : Graph or Transformed
        Gathers the rows of streams into static tiles.

    Returns
    -------
    Transformed
        The same program with one tile for all rows of a stream, if it has any.

    Raises
    ------
    StepError
        If there is no static tile whose padding is dropped in the end.
    """
    before = Transformed.of(program)
    gathers = _gathers(before.graph, "reshape")
    if not gathers:
        raise StepError(
            f"dynamic_tiling finds no padded tiles in {before.graph.name}: no stream goes through "
            f"reshape, accum(retile_row) and in the end flat_map(retile_streamify) with its padding"
        )
    rewrite = Rewrite(before.graph)
    firsts = {g.first for g in gathers}
    ends = {end for g in gathers for end in g.ends}
    for node in rewrite.nodes():
        if node in firsts:
            promoted = rewrite.add("promote", rewrite.inputs(node), {"level": 1}, where=node.where)
            rewrite.put(node.outputs[0], promoted.outputs[0])
        elif node in ends:
            rewrite.copy(node, inputs=[rewrite.input(node, 0)])
        else:
            rewrite.copy(node)
    return before.then(rewrite.new)


def _gathers(graph: Graph, op: str) -> list[_Gather]:
    """The gathers that begin with `op` and can be changed without changing the program."""
    found = {node: packed for node in graph.nodes if (packed := _packed(node, op))}
    while True:
        others = frozenset().union(*(carried(packed) for packed in found.values()))
        rows = {node: follow(packed, others) for node, packed in found.items()}
        padding = {node.outputs[1] for node in found} if op == "reshape" else set()
        kept = {
            node: found[node]
            for node, its in rows.items()
            if its.apart and its.ends and _padded(node, its.ends, padding)
        }
        if len(kept) == len(found):
            return [_Gather(node, rows[node].ends) for node in found]
        found = kept


def _packed(node: Node, op: str) -> Stream | None:
    """The tiles that a node's rows are packed into, if it begins a gather."""
    x = node.inputs[0] if node.op == op else None
    # Of several dynamic tiles each may be empty, where padding would give no tile at all.
    if x is None or x.rank != 0 or not isinstance(x.dtype, Tile) or x.dtype.rows != 1:
        return None
    if (op == "promote" and node.attrs["level"] != 1) or node.attrs.get("dim", 0) != 0:
        return None
    uses = node.graph.consumers(node.outputs[0])
    return uses[0][0].outputs[0] if len(uses) == 1 and packs(uses[0][0]) else None


def _padded(node: Node, ends: Sequence[Node], padding: Collection[Stream]) -> bool:
    """Whether the ends drop the padding of gathers, and nothing else uses this one's flags."""
    if not padding:
        return all(len(end.inputs) == 1 for end in ends)
    if any(len(end.inputs) < 2 or end.inputs[1] not in padding for end in ends):
        return False
    return all(user in ends for user, _ in node.graph.consumers(node.outputs[1]))
