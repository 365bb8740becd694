"""Pictures of programs: operators as boxes, streams with their types as arrows."""

from __future__ import annotations

from collections.abc import Iterator

from stepgen.draw.alike import collapsed
from stepgen.draw.layout import lay_out
from stepgen.draw.picture import Arrow, Box, Group, Picture
from stepgen.draw.svg import svg
from stepgen.ir.dims import show_shape
from stepgen.ir.function import Function
from stepgen.ir.graph import Graph
from stepgen.ir.show import graph_table, stream_table
from stepgen.ir.stream import Node, Stream
from stepgen.ir.system import SystemGraph, programs
from stepgen.ir.tensor import Tensor

LONGEST = 28
"""Letters of a line in a box or at an arrow; longer ones are cut."""


def picture(graph: Graph, *, every: bool = False, marked: Stream | None = None) -> Picture:
    """The picture of a program or a system.

    Parameters
    ----------
    graph : Graph
        Complete or not.
    every : bool
        Draw all branches, also those that are alike.
    marked : Stream, optional
        One that stands out, with the node that makes it.
    """
    boxes: list[Box] = []
    arrows: list[Arrow] = []
    groups: list[Group] = []
    system = graph if isinstance(graph, SystemGraph) else None
    for prefix, program in programs(graph).items():
        own = [_box(node, prefix, marked) for node in program.nodes]
        boxes += own
        arrows += _arrows(program, prefix, marked)
        if system:
            part = prefix.removesuffix("_")
            label = f"{part}, {system.lanes[part]} lanes"
            groups.append(Group(label, tuple(box.name for box in own)))
    if system:
        for source, target in system.links.items():
            stream = system.end(source)[1]
            arrows.append(Arrow(source, target, f"{source}->{target}", type_lines(stream)))
    drawn = Picture(graph.name, boxes, arrows, groups)
    return drawn if every else collapsed(drawn)


def graph_svg(graph: Graph) -> str:
    """The picture of a program as SVG, with alike branches drawn once.

    Parameters
    ----------
    graph : Graph
        Complete or not.
    """
    return svg(lay_out(picture(graph)))


def graph_html(graph: Graph) -> str:
    """A program for notebooks: its picture, and folded a table with the type of every stream.

    Parameters
    ----------
    graph : Graph
        Complete or not.
    """
    tables = "\n".join(graph_table(program) for program in programs(graph).values())
    folded = f"<details><summary>types of all streams</summary>\n{tables}\n</details>"
    return f"<div>\n{graph_svg(graph)}\n{folded}\n</div>"


def stream_html(stream: Stream) -> str:
    """A stream for notebooks: its type and origin, and its program's picture, where it stands out.

    Parameters
    ----------
    stream : Stream
        Of a graph that is complete or not.
    """
    drawn = svg(lay_out(picture(stream.node.graph, marked=stream.resolved())))
    return f"<div>\n{stream_table(stream)}\n{drawn}\n</div>"


def type_lines(stream: Stream) -> tuple[str, str]:
    """The type of a stream in two short lines: of an element, and the shape."""
    return _short(str(stream.dtype)), _short(show_shape(stream.shape))


def type_class(stream: Stream) -> str:
    """The type of a stream with its dynamic dims nameless: the same in branches that are alike."""
    found = f"{stream.dtype} {show_shape(stream.shape)}"
    dims = (*stream.shape, *stream.dtype.dims)
    names = {symbol.name for dim in dims for symbol in dim.expr.free_symbols}
    for name in sorted(names, key=len, reverse=True):
        found = found.replace(name, "_")
    return found


def _box(node: Node, prefix: str, marked: Stream | None) -> Box:
    details = _details(node)
    look = "port" if node.face.port else "memory" if _tensor(node) else ""
    if marked is not None and node is marked.node:
        look = f"{look} marked".strip()
    return Box(
        f"{prefix}{node.name}",
        (node.name, *((_short(details),) if details else ())),
        look=look,
        alike=f"{node.op} {_function(node)}",
        tip=f"{node.op} at {node.where}",
    )


def _details(node: Node) -> str:
    """What a node does, beside its name, which begins with the operator's if the user gave none."""
    tensor = _tensor(node)
    if tensor is not None:
        rows, cols = tensor.shape
        verb = "store" if node.face.writes else "load"
        return f"{verb} {tensor.name} {tensor.element} {rows}x{cols}"
    if node.face.port:
        return {"in": "input", "out": "output"}[node.face.port]
    return _function(node) or ("" if node.name.startswith(node.op) else node.op)


def _function(node: Node) -> str:
    functions = [value for value in node.attrs.values() if isinstance(value, Function)]
    return ", ".join(function.name for function in functions)


def _tensor(node: Node) -> Tensor | None:
    return node.graph.tensors.get(str(node.attrs.get("tensor")))


def _arrows(graph: Graph, prefix: str, marked: Stream | None) -> Iterator[Arrow]:
    order = {node: place for place, node in enumerate(graph.nodes)}
    for node in graph.nodes:
        for place, handle in enumerate(node.inputs):
            stream = handle.resolved()
            if stream.node not in order:  # a feedback that is not connected yet
                continue
            stands_out = marked is not None and _same(stream, marked)
            yield Arrow(
                f"{prefix}{stream.node.name}",
                f"{prefix}{node.name}",
                f"{prefix}{node.name}.{place}",
                type_lines(stream),
                alike=f"{type_class(stream)}{stands_out:d}",
                tip=f"{stream.name}: {stream}",
                back=order[stream.node] >= order[node],
                look="marked" if stands_out else "",
            )


def _same(one: Stream, other: Stream) -> bool:
    """Whether two handles are of one stream; that of ``fifo`` is another object."""
    return one.node is other.node and one.port == other.port


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
