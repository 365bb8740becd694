"""Static tiles become dynamic ones and back (paper, section 5.2).

A *gather* packs the rows of a stream into tiles: static ones of a fixed number of rows, the last
one padded, or one dynamic tile of as many rows as there are::

    static:   reshape(chunk) -> accum(retile_row) -> ... -> flat_map(retile_streamify, padding)
    dynamic:  promote        -> accum(retile_row) -> ... -> flat_map(retile_streamify)
"""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.dtypes import Tile
from ...ir.errors import StepError
from ...ir.graph import Graph
from ...ir.operator import operators
from ...ir.stream import Node, Stream
from .rewrite import Rewrite, Transformed

_MIX_ROWS = ("retile_row", "place_row")
"""Functions that don't leave every row of a tile by itself."""


@dataclass(frozen=True)
class _Gather:
    """A place where rows are packed.

    Attributes
    ----------
    first : Node
        Promote or Reshape.
    packed : Stream
        Tiles of several rows.
    ends : tuple of Node
        Where these are taken apart again.
    """

    first: Node
    packed: Stream
    ends: tuple[Node, ...]


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
        If there is no dynamic tile whose rows are taken apart again.
    """
    if isinstance(tile, bool) or not isinstance(tile, int) or tile < 1:
        raise StepError(f"static_tiling needs a tile of at least 1 row, not {tile!r}")
    before = Transformed.of(program)
    gathers = [g for node in before.graph.nodes if (g := _gather(node, "promote"))]
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
    gathers = [g for node in before.graph.nodes if (g := _gather(node, "reshape"))]
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


def _gather(node: Node, op: str) -> _Gather | None:
    """The gather that begins with a node, if it can be changed without changing the program."""
    x = node.inputs[0] if node.op == op else None
    # Of several dynamic tiles each may be empty, where padding would give no tile at all.
    if x is None or x.rank != 0 or not isinstance(x.dtype, Tile) or x.dtype.rows != 1:
        return None
    if (op == "promote" and node.attrs["level"] != 1) or node.attrs.get("dim", 0) != 0:
        return None
    uses = node.graph.consumers(node.outputs[0])
    if len(uses) != 1 or not packs(uses[0][0]):
        return None
    packed = uses[0][0].outputs[0]
    ends = _ends(packed)
    if not ends:
        return None
    if op == "reshape":
        # Where several gathers share a region, each end drops the padding of its own.
        padding = node.outputs[1]
        mine = tuple(end for end in ends if padding in end.inputs)
        if any(len(end.inputs) < 2 for end in ends) or not mine:
            return None
        if len(node.graph.consumers(padding)) != len(mine):
            return None
        ends = mine
    elif any(len(end.inputs) > 1 for end in ends):
        return None
    return _Gather(node, packed, ends)


def packs(node: Node) -> bool:
    """Whether a node puts the rows of a chunk into one tile."""
    return node.op == "accum" and node.attrs["fn"].name == "retile_row" and node.attrs["rank"] == 1


def _ends(packed: Stream) -> tuple[Node, ...]:
    """Where packed tiles are taken apart again; none if rows are used in any other way."""
    ends: list[Node] = []
    seen: set[Stream] = set()
    front = [packed]
    while front:
        stream = front.pop()
        if stream in seen:
            continue
        seen.add(stream)
        carries = _rows_like(stream, packed)
        for node, index in packed.graph.consumers(stream):
            if takes_apart(node) and index == 0:
                ends += [node] if carries else []
            elif operators()[node.op].is_sink or (carries and _mixes_rows(node, index)):
                return ()
            else:
                front += node.outputs
    return tuple(ends)


def takes_apart(node: Node) -> bool:
    """Whether a node cuts tiles into their rows."""
    if node.op != "flat_map" or node.attrs["fn"].name != "retile_streamify":
        return False
    return bool(node.attrs["fn"].axis == "row" and node.attrs["rank"] == 0)


def _rows_like(stream: Stream, packed: Stream) -> bool:
    assert isinstance(packed.dtype, Tile)
    return isinstance(stream.dtype, Tile) and stream.dtype.rows.same(packed.dtype.rows)


def _mixes_rows(node: Node, index: int) -> bool:
    function = node.attrs.get("fn")
    if function is None:
        return False
    return function.name in _MIX_ROWS or (function.name == "matmul" and index > 0)
