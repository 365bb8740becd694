"""How the rows of a stream are gathered into tiles: static, dynamic, or dynamic with a cap.

A *gather* packs rows into tiles: static ones of a fixed number of rows, the last one padded; one
dynamic tile of as many rows as there are (paper, section 5.2); or tiles of at most a number of
rows, without padding::

    static:   reshape          -> accum(retile_row) -> ... -> flat_map(retile_streamify, padding)
    dynamic:  promote          -> accum(retile_row) -> ... -> flat_map(retile_streamify)
    capped:   reshape pad=None -> accum(retile_row) -> ... -> flat_map(retile_streamify)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stepgen.compile.transforms.rewrite import Rewrite, Transformed
from stepgen.compile.transforms.rows import carried, follow, packs
from stepgen.ir.arguments import checked
from stepgen.ir.dtypes import Tile
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node, Stream


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


STATIC, DYNAMIC, CAPPED = "static", "dynamic", "capped"
"""Forms of a gather."""


@checked
def static_tiling(program: Graph | Transformed, *, tile: int) -> Transformed:
    """Gather rows into static tiles of a given size instead of dynamic or other static ones.

    Parameters
    ----------
    program : Graph or Transformed
        Gathers the rows of streams into dynamic tiles, with or without a cap, or into static ones.
    tile : int
        Rows of a tile; the last tile is padded with rows of zeros, which are dropped at the end.

    Returns
    -------
    Transformed
        The same program on static tiles.

    Raises
    ------
    StepError
        If there is no tile that is split into rows again.
    """
    if tile < 1:
        raise StepError(f"static_tiling needs a tile of at least 1 row, not {tile}")
    before = Transformed.of(program)
    gathers = _all_gathers(before.graph, "static_tiling")
    return _regathered(before, gathers, "reshape", {"dim": 0, "chunk": tile, "pad": 0})


@checked
def dynamic_tiling(program: Graph | Transformed) -> Transformed:
    """Gather rows into dynamic tiles instead of static ones.

    Parameters
    ----------
    program : Graph or Transformed
        Gathers the rows of streams into static tiles, or into dynamic ones with a cap.

    Returns
    -------
    Transformed
        The same program with one tile for all rows of a stream, if it has any.

    Raises
    ------
    StepError
        If there is no static tile whose padding is dropped in the end, and none with a cap.
    """
    before = Transformed.of(program)
    gathers = _gathers(before.graph, (STATIC, CAPPED))
    if not gathers:
        raise StepError(
            f"dynamic_tiling finds no padded tiles in {before.graph.name}: no stream goes through "
            f"reshape, accum(retile_row) and in the end flat_map(retile_streamify) with its padding"
        )
    return _regathered(before, gathers, "promote", {"level": 1})


@checked
def capped_tiling(program: Graph | Transformed, *, rows: int) -> Transformed:
    """Gather rows into dynamic tiles of at most so many rows: a schedule between the other two.

    Weights are read once for each of these tiles, and what is sized for a tile does not grow with
    the rows that a stream may have. With one row it is a matrix-vector schedule.

    Parameters
    ----------
    program : Graph or Transformed
        Gathers the rows of streams into static or dynamic tiles.
    rows : int
        Most rows of a tile.

    Returns
    -------
    Transformed
        The same program on tiles of `rows` rows, of which a stream's last has those that are left.

    Raises
    ------
    StepError
        If there is no tile that is split into rows again.
    """
    if rows < 1:
        raise StepError(f"capped_tiling needs tiles of at least 1 row, not {rows}")
    before = Transformed.of(program)
    gathers = _all_gathers(before.graph, "capped_tiling")
    return _regathered(before, gathers, "reshape", {"dim": 0, "chunk": rows, "pad": None})


def _regathered(
    before: Transformed, gathers: Sequence[_Gather], op: str, attrs: Mapping[str, Any]
) -> Transformed:
    """The program with gathers that begin with another operator; a second output is its padding."""
    rewrite = Rewrite(before.graph)
    firsts = {g.first: g for g in gathers}
    padding: dict[Node, tuple[Stream, ...]] = {}
    for node in rewrite.nodes():
        if node in firsts:
            tiles = rewrite.add(op, rewrite.inputs(node), attrs, where=node.where)
            rewrite.put(node.outputs[0], tiles.outputs[0])
            padding |= dict.fromkeys(firsts[node].ends, tiles.outputs[1:])
        elif node in padding:
            rewrite.copy(node, inputs=[rewrite.input(node, 0), *padding[node]])
        else:
            rewrite.copy(node)
    return before.then(rewrite.new)


def _all_gathers(graph: Graph, transform: str) -> list[_Gather]:
    """The gathers of any form, of which a transform needs one."""
    gathers = _gathers(graph, (STATIC, DYNAMIC, CAPPED))
    if not gathers:
        raise StepError(
            f"{transform} finds no rows to tile in {graph.name}: no stream goes through promote "
            f"or reshape, accum(retile_row) and in the end, once, flat_map(retile_streamify)"
        )
    return gathers


def _gathers(graph: Graph, forms: Collection[str]) -> list[_Gather]:
    """The gathers of some forms that can be changed without changing the program."""
    each = ((node, _packed(node, forms)) for node in graph.nodes)
    found = {node: packed for node, packed in each if packed is not None}
    while True:
        others = frozenset().union(*(carried(packed) for packed in found.values()))
        rows = {node: follow(packed, others) for node, packed in found.items()}
        padding = {node.outputs[1] for node in found if _form(node) == STATIC}
        kept = {
            node: found[node]
            for node, its in rows.items()
            if its.apart and its.ends and _padded(node, its.ends, padding)
        }
        if len(kept) == len(found):
            return [_Gather(node, rows[node].ends) for node in found]
        found = kept


def _form(node: Node) -> str:
    """The form of the gather that a node begins, if it does; else empty."""
    if node.op == "promote" and node.attrs["level"] == 1:
        return DYNAMIC
    if node.op == "reshape" and node.attrs["dim"] == 0:
        return CAPPED if node.attrs["pad"] is None else STATIC
    return ""


def _packed(node: Node, forms: Collection[str]) -> Stream | None:
    """The tiles that a node's rows are packed into, if it begins a gather of one of these forms."""
    x = node.inputs[0] if _form(node) in forms else None
    # Of several dynamic tiles each may be empty, where padding would give no tile at all.
    if x is None or x.rank != 0 or not isinstance(x.dtype, Tile) or x.dtype.rows != 1:
        return None
    uses = node.graph.consumers(node.outputs[0])
    return uses[0][0].outputs[0] if len(uses) == 1 and packs(uses[0][0]) else None


def _padded(node: Node, ends: Sequence[Node], padding: Collection[Stream]) -> bool:
    """Whether the ends drop the padding of gathers, and nothing else uses this one's flags."""
    if _form(node) != STATIC:
        return all(len(end.inputs) == 1 for end in ends)
    if any(len(end.inputs) < 2 or end.inputs[1] not in padding for end in ends):
        return False
    return all(user in ends for user, _ in node.graph.consumers(node.outputs[1]))
