"""Lanes of single operators, beside those of all others."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from stepgen.ir.dtypes import Buffer, Tile
from stepgen.ir.errors import StepError
from stepgen.ir.wire import LANES, check_lanes, wire_levels

if TYPE_CHECKING:
    from stepgen.ir.graph import Graph
    from stepgen.ir.stream import Node, Stream


Lanes = int | Mapping[str, int]
"""Lanes of a beat: of all operators, or by name.

A name is that of an operator or of its function (``matmul``), also with ``*`` and ``?``; an entry
wins over those before it. ``"*"`` stands for all others: ``{"*": 2, "matmul": 8}``.
"""
OTHERS = "*"


def lanes_from(text: str) -> Lanes:
    """Lanes as a text has them: ``4``, or with some by name as in ``4,matmul=8,w*=2``.

    Raises
    ------
    StepError
        If it is neither.
    """
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, count = (word.strip() for word in part.rpartition("="))
        if not (count.isascii() and count.isdecimal() and len(count) < 4):
            raise StepError(f"{text!r} is not a number of lanes, nor that and NAME=LANES")
        if (name or OTHERS) in found:
            many = "all others" if name in ("", OTHERS) else name
            raise StepError(f"{text!r} has two numbers of lanes for {many}")
        found[name or OTHERS] = int(count)
    return found[OTHERS] if [*found] == [OTHERS] else found


def usual_lanes(lanes: Lanes) -> int:
    """Lanes of the operators that are not named."""
    usual = lanes if isinstance(lanes, int) else lanes.get(OTHERS, LANES)
    check_lanes(usual)
    return usual


def lanes_by_node(graph: Graph, lanes: Lanes) -> dict[str, int]:
    """Lanes of the beats of each operator.

    Some follow from others, unless they are named, too. An input or a load, and what only moves its
    tiles, has the lanes of the operators that take them, where these agree; an output and a
    function of one operand that keeps its shape have those of the operator before; a memory has
    those of its readers.

    Parameters
    ----------
    graph : Graph
    lanes : int or mapping of str to int

    Returns
    -------
    dict of str to int
        By name of the node.

    Raises
    ------
    StepError
        If lanes are not powers of two up to 32, a name fits no operator, or a memory and those that
        read it are to have different lanes.
    """
    usual = usual_lanes(lanes)
    named = {} if isinstance(lanes, int) else lanes_of_named(graph, lanes)
    if not named:
        return dict.fromkeys((node.name for node in graph.nodes), usual)
    found = dict(named)
    readers = _readers(graph)
    for node in graph.nodes:
        found |= _of_memory(node, readers, found)
    for node in graph.nodes:
        if node.name not in found and _behind(node):
            found[node.name] = found.get(node.inputs[0].resolved().node.name, usual)
    for node in reversed(graph.nodes):
        if node.name not in found and _moves(node):
            takers = {
                found.get(reader.name, usual)
                for out in node.outputs
                for reader in readers[out]
                if reader.face.reads != "tensor"  # loads take it as a reference
            }
            if len(takers) == 1:
                found[node.name] = takers.pop()
    return {node.name: found.get(node.name, usual) for node in graph.nodes}


def lanes_of_named(graph: Graph, lanes: Mapping[str, int]) -> dict[str, int]:
    """Lanes of the nodes that are named, without those that follow from them.

    Parameters
    ----------
    graph : Graph
    lanes : mapping of str to int

    Returns
    -------
    dict of str to int
        By name of the node.

    Raises
    ------
    StepError
        If lanes are not powers of two up to 32, or a name fits no operator.
    """
    found: dict[str, int] = {}
    names = {node: (node.name, function_of(node)) for node in graph.nodes}
    for pattern, count in lanes.items():
        if pattern == OTHERS:
            continue
        check_lanes(count, f"the lanes of {pattern}")
        fits = [n.name for n, known in names.items() if any(fnmatchcase(k, pattern) for k in known)]
        if not fits:
            # Functions first: there are few, and their names say more than map_0 does.
            operators, functions = (
                sorted({*column} - {""}) for column in zip(*names.values(), strict=True)
            )
            known = [*functions, *operators]
            near = get_close_matches(pattern, known, 3) or known[:8]
            raise StepError(
                f"the program {graph.name} has no operator and no function {pattern!r} that could "
                f"have {count} lanes, but {', '.join(near)}"
            )
        found |= dict.fromkeys(fits, count)
    return found


def function_of(node: Node) -> str:
    """Name of a node's function, or nothing."""
    function = node.attrs.get("fn")
    return "" if function is None else str(function.name)


def _readers(graph: Graph) -> dict[Stream, list[Node]]:
    """The nodes that take each stream."""
    found: dict[Stream, list[Node]] = {out: [] for node in graph.nodes for out in node.outputs}
    for node in graph.nodes:
        for stream in node.inputs:
            found[stream.resolved()].append(node)
    return found


def _of_memory(
    node: Node, readers: Mapping[Stream, list[Node]], found: Mapping[str, int]
) -> dict[str, int]:
    """Lanes of a memory and of all that read it, also behind others that pass references on."""
    streams, users = [*node.outputs], {node.name: node}
    while streams:
        stream = streams.pop()
        if isinstance(stream.dtype, Buffer):
            new = [reader for reader in readers[stream] if reader.name not in users]
            users |= {reader.name: reader for reader in new}
            streams += [made for reader in new for made in reader.outputs]
    own = {found[name]: name for name in users if name in found} if len(users) > 1 else {}
    if len(own) > 1:
        said = " and ".join(f"{name} {count}" for count, name in own.items())
        raise node.failure(f"its memory and what reads it have the same lanes, not {said}")
    return {name: count for name in users for count in own}


def _behind(node: Node) -> bool:
    """Whether an operator has the lanes of the one before it: what works element by element."""
    if node.face.is_sink:
        return True
    if not node.face.computes or len(node.inputs) > 1:
        return False
    before, after = node.inputs[0].dtype, node.outputs[0].dtype
    return isinstance(before, Tile) and isinstance(after, Tile) and before.dims == after.dims


def _moves(node: Node) -> bool:
    """Whether an operator brings tiles from outside as they are."""
    seen = set[str]()
    while node.face.keeps_tiles and node.name not in seen:
        seen.add(node.name)
        node = node.inputs[0].resolved().node
    outside = not node.inputs or node.face.reads == "tensor"
    return outside and bool(wire_levels(node.outputs[0].dtype))
