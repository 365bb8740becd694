"""Graphs and streams as text and HTML."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from html import escape
from typing import Any

from stepgen.ir.dims import Dim, show_shape
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node, Stream


def show_graph(graph: Graph, marked: Collection[str] = ()) -> str:
    """One line per output of every node: name, operator, inputs, parameters, type.

    Parameters
    ----------
    graph : Graph
        Complete or not.
    marked : collection of str
        Names of nodes whose lines begin with an exclamation mark.
    """
    rows = [row for node in graph.nodes for row in _rows(node)]
    marks = ["!" if node.name in marked else " " for node in graph.nodes for _ in _rows(node)]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
    lines = [f"graph {graph.name}"]
    lines += [f"  tensor {name}: {type_}" for name, type_ in _tensors(graph)]
    for mark, (name, type_, made) in zip(marks, rows, strict=True):
        lines.append(f"{mark} {name:{widths[0]}}  {type_:{widths[1]}}  {made}".rstrip())
    for name, type_, source in _feedbacks(graph):
        lines.append(f"  feedback {name} from {source}: {type_}")
    return "\n".join(lines)


def graph_table(graph: Graph) -> str:
    """The same for notebooks: a table in HTML with one row per output of every node.

    Parameters
    ----------
    graph : Graph
        Complete or not.
    """
    rows = [(f"tensor {name}", type_, "") for name, type_ in _tensors(graph)]
    rows += [row for node in graph.nodes for row in _rows(node)]
    rows += [(f"feedback {n}", type_, f"from {source}") for n, type_, source in _feedbacks(graph)]
    return html_table(f"graph {graph.name}", ("node", "type", "made by"), rows)


def stream_table(stream: Stream) -> str:
    """A stream for notebooks: a table in HTML with its type and origin.

    Parameters
    ----------
    stream : Stream
        Of a graph that is complete or not.
    """
    rows = [
        ("shape", show_shape(stream.shape)),
        ("rank", str(stream.rank)),
        ("element type", str(stream.dtype)),
        ("number of elements", str(stream.totals[0])),
        ("made by", f"{_made(stream.node)} at {stream.node.where}"),
    ]
    if stream.depth is not None:
        rows.append(("FIFO", f"at least {stream.depth} beats"))
    return html_table(f"stream {stream.name}", (), rows)


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in HTML, without a head where that is empty."""

    def row(cells: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

    lines = [row(head, "th")] if head else []
    lines += [row(cells, "td") for cells in rows]
    return "\n".join(["<table>", f"<caption>{escape(caption)}</caption>", *lines, "</table>"])


def _tensors(graph: Graph) -> Iterator[tuple[str, str]]:
    for tensor in graph.tensors.values():
        yield tensor.name, f"{tensor.element} {'x'.join(str(n) for n in tensor.shape)}"


def _feedbacks(graph: Graph) -> Iterator[tuple[str, str, str]]:
    for feedback in graph.feedbacks:
        source = "nothing yet" if feedback.source is None else feedback.source.name
        yield feedback.label, str(feedback.declared), source


def _made(node: Node) -> str:
    arguments = [_use(s) for s in node.inputs]
    arguments += [f"{k}={_value(v)}" for k, v in node.attrs.items() if v is not None]
    return f"{node.op}({', '.join([] if node.face.port == 'in' else arguments)})"


def _rows(node: Node) -> Iterator[tuple[str, str, str]]:
    made = _made(node)
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
