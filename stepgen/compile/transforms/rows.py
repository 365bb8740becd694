"""Follows the rows of packed tiles: which streams carry them, and where tiles are split again.

Rows are followed from operator to operator, independently of their number. In a region that several
streams share, a path records the input of each merge by which it entered, and leaves by the same
output of the Partition behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from stepgen.ir.dtypes import FLAG, Selector, Tile
from stepgen.ir.expr import constant
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node, Stream

Path = tuple[tuple[Node, int], ...]
Place = tuple[Stream, Path]


@dataclass(frozen=True)
class Rows:
    """Where the rows of a stream of tiles go.

    Attributes
    ----------
    carried : frozenset of Stream
        Streams of tiles that have these rows.
    ends : tuple of Node
        Operators that split tiles into their rows.
    apart : bool
        Whether all operators before treat rows independently, each comes once, and no output of the
        program has a structure that depends on how rows are packed.
    """

    carried: frozenset[Stream]
    ends: tuple[Node, ...]
    apart: bool


def packs(node: Node) -> bool:
    """Whether a node packs the rows of a chunk into one tile."""
    if node.op != "accum" or node.attrs["rank"] != 1:
        return False
    return bool(node.attrs["fn"].gathers and node.attrs["fn"].grows == "rows")


def takes_apart(node: Node) -> bool:
    """Whether a node splits tiles into their rows."""
    if node.op != "flat_map" or node.attrs["rank"] != 0:
        return False
    return bool(node.attrs["fn"].cuts_into() == "rows")


def carried(packed: Stream) -> frozenset[Stream]:
    """The streams whose tiles have the rows of `packed`."""
    return frozenset(stream for stream, _ in _carrying(packed))


def follow(packed: Stream, others: Collection[Stream] = frozenset()) -> Rows:
    """Follow the rows of a stream of tiles to where tiles are split again.

    Parameters
    ----------
    packed : Stream
        The tiles.
    others : collection of Stream
        Streams with rows that are packed in the same way elsewhere, and may be joined with these.
    """
    carrying = _carrying(packed)
    mine = frozenset(stream for stream, _ in carrying)
    rows = {*mine, *others}
    counted = _downstream(packed.graph, rows)
    ends: dict[Node, None] = {}
    apart = True

    def onward(node: Node, index: int, place: Place) -> bool:
        nonlocal apart
        if place in carrying and index == 0 and takes_apart(node):
            ends[node] = None
            apart = apart and not place[1] and _comes_once(place[0], packed, mine)
            return False
        if node.face.is_sink:
            apart = False
        elif place in carrying and not node.face.steers(node, index):
            apart = apart and _leaves_apart(node, index, rows, counted)
        return apart

    _walk(packed, onward)
    return Rows(mine, tuple(ends), apart)


def _comes_once(stream: Stream, packed: Stream, carrying: Collection[Stream]) -> bool:
    """Whether a stream has one tile for each packed one.

    Of tiles that come several times all copies of one precede those of the next. Copies of all
    rows would come in another order if their number in a tile changed.
    """
    copies, seen = constant(1), {stream}
    while stream != packed:
        node = stream.origin.node
        before = next((x for x in node.inputs if x in carrying and x not in seen), None)
        if before is None:
            break  # in a loop
        if node.op in ("accum", "expand", "bufferize", "streamify"):
            copies = copies * stream.totals[0] / before.totals[0]
        stream = before
        seen.add(stream)
    return copies == constant(1)


def _carrying(packed: Stream) -> set[Place]:
    def onward(node: Node, index: int, place: Place) -> bool:
        if _describes(place[0]) or node.face.steers(node, index):
            return False
        function = node.attrs.get("fn")
        return function is None or (node.op != "flat_map" and function.keeps_rows(index))

    return {place for place in _walk(packed, onward) if not _describes(place[0])}


def _describes(stream: Stream) -> bool:
    """Whether a stream describes tiles: selectors, or flags of padding."""
    return isinstance(stream.dtype, Selector) or stream.dtype == FLAG


def _walk(packed: Stream, onward: Callable[[Node, int, Place], bool]) -> set[Place]:
    """All places that are reached from tiles through nodes for which `onward` is true."""
    front: list[Place] = [(packed, ())]
    seen = set(front)
    while front:
        place = front.pop()
        stream, path = place
        for node, index in packed.graph.consumers(stream):
            if onward(node, index, place):
                new = [p for p in _behind(node, index, path) if p not in seen]
                seen.update(new)
                front += new
    return seen


def _behind(node: Node, index: int, path: Path) -> Iterator[Place]:
    """The outputs that an input's content reaches."""
    if node.op == "eager_merge" or (node.op == "reassemble" and index + 1 < len(node.inputs)):
        # In a loop a merge is recorded only once.
        path = path if any(merge is node for merge, _ in path) else (*path, (node, index))
    elif node.op == "partition" and path:
        merge, port = path[-1]
        if merge.op == "eager_merge" and node.inputs[1].origin == merge.outputs[1]:
            yield node.outputs[port], path[:-1]
            return
    for stream in node.outputs:
        yield stream, path


def _downstream(graph: Graph, streams: Collection[Stream]) -> set[Stream]:
    """These streams and all that are made of them, such as the weights that each tile asks for."""
    found = set(streams)
    front = [*streams]
    while front:
        for node, _ in graph.consumers(front.pop()):
            new = set(node.outputs) - found
            found |= new
            front += new
    return found


def _leaves_apart(
    node: Node, index: int, rows: Collection[Stream], counted: Collection[Stream]
) -> bool:
    """Whether a node treats the rows at an input independently and alike.

    What comes beside each tile must come as often as there are tiles.
    """
    function = node.attrs.get("fn")
    if function is None:
        return True
    if node.op == "flat_map" or not function.keeps_rows(index):
        return False
    return all(
        stream in counted and (stream in rows or not function.keeps_rows(other) or _single(stream))
        for other, stream in enumerate(node.inputs)
    )


def _single(stream: Stream) -> bool:
    """Whether tiles have one row, which is broadcast to all rows of another tile."""
    return isinstance(stream.dtype, Tile) and stream.dtype.rows == 1
