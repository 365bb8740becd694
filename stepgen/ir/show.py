"""Graphs as people read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stepgen.ir.dims import Dim, show_shape
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node, Stream


def show_graph(graph: Graph) -> str:
    """One line per output of every node: name, operator, inputs, parameters, type.

    Parameters
    ----------
    graph : Graph
        Complete or not.
    """
    rows = [row for node in graph.nodes for row in _rows(node)]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
    lines = [f"graph {graph.name}"]
    for tensor in graph.tensors.values():
        extents = "x".join(str(n) for n in tensor.shape)
        lines.append(f"  tensor {tensor.name}: {tensor.element} {extents}")
    for name, type_, made in rows:
        lines.append(f"  {name:{widths[0]}}  {type_:{widths[1]}}  {made}".rstrip())
    for feedback in graph.feedbacks:
        source = feedback.source.name if feedback.source else "nothing yet"
        lines.append(f"  feedback {feedback.label} from {source}: {feedback.declared}")
    return "\n".join(lines)


def _rows(node: Node) -> Iterator[tuple[str, str, str]]:
    arguments = [_use(s) for s in node.inputs]
    arguments += [f"{k}={_value(v)}" for k, v in node.attrs.items() if v is not None]
    if node.op == "source":
        arguments = []
    made = f"{node.op}({', '.join(arguments)})"
    if not node.outputs:
        yield node.name, "", made
    for stream in node.outputs:
        yield _short(stream), str(stream), made if stream.port == 0 else ""


def _short(stream: Stream) -> str:
    return stream.name if len(stream.node.outputs) > 1 else stream.node.name


def _use(stream: Stream) -> str:
    return _short(stream) + ("" if stream.depth is None else f".fifo({stream.depth})")


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        if all(isinstance(v, Dim) for v in value):
            return show_shape(value)
        return f"({', '.join(str(v) for v in value)})"
    return str(value)
