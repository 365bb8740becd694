"""Programs as text: JSON that comes back as an equal graph.

The text holds what the user wrote: tensors, nodes with parameters and inputs, feedbacks. Types
follow from it and are checked anew when it is loaded.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import sympy

from stepgen.ir import dims
from stepgen.ir.arguments import checked, shown
from stepgen.ir.dims import Dim
from stepgen.ir.dtypes import Buffer, DataType, Selector, Tile, TupleType, element
from stepgen.ir.errors import StepError
from stepgen.ir.feedback import Feedback
from stepgen.ir.function import Function, function
from stepgen.ir.graph import Graph
from stepgen.ir.names import identifier
from stepgen.ir.operator import operators
from stepgen.ir.stream import Stream
from stepgen.ir.where import placed

VERSION = 1


def dumps(graph: Graph, *, lines: bool = True) -> str:
    """The text of a graph.

    Parameters
    ----------
    graph : Graph
        Complete or not.
    lines : bool
        Whether to keep the user's line of every node.
    """
    uses = {
        (node.name, index): feedback.label
        for feedback in graph.feedbacks
        for node, index in feedback.uses
    }
    nodes = []
    for node in graph.nodes:
        inputs = [
            _use(uses.get((node.name, index)) or _origin(s), s.depth)
            for index, s in enumerate(node.inputs)
        ]
        attrs = {k: _encode(v) for k, v in node.attrs.items()}
        entry = {"op": node.op, "name": node.name, "inputs": inputs, "attrs": attrs}
        nodes.append({**entry, "where": node.where} if lines else entry)
    return json.dumps(
        {
            "stepgen": VERSION,
            "name": graph.name,
            "tensors": [
                {"name": t.name, "shape": list(t.shape), "element": t.element.name, "base": t.base}
                for t in graph.tensors.values()
            ],
            "feedbacks": [_encode_feedback(f) for f in graph.feedbacks],
            "nodes": nodes,
        },
        indent=1,
    )


def loads(text: str, place: str = "the text") -> Graph:
    """The graph of a text.

    Parameters
    ----------
    text : str
        As `dumps` made it.
    place : str
        Where the text is from, for messages.

    Raises
    ------
    StepError
        If the text is none of `dumps`, or the program in it is wrong.
    """
    try:
        data = json.loads(text)
        if data["stepgen"] != VERSION:
            raise StepError(f"the text is of version {data['stepgen']}, this reads {VERSION}")
        return placed(place, lambda: _Loader(data, place)).graph
    except (json.JSONDecodeError, KeyError, TypeError, IndexError, SyntaxError) as error:
        raise StepError(f"the text is no stepgen program: {error}") from None


@checked
def save(graph: Graph, path: str | Path) -> None:
    """Write the text of a graph to a file.

    Raises
    ------
    StepError
        If the file can't be written.
    """
    try:
        Path(path).write_text(dumps(graph) + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:
        raise StepError(f"{_place(path)} can't be written: {error}") from None


@checked
def load(path: str | Path) -> Graph:
    """Read a graph from a file that `save` wrote.

    Raises
    ------
    StepError
        If the file can't be read or holds no program.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise StepError(f"{_place(path)} can't be read as a program: {error}") from None
    return loads(text, str(path))


def _place(path: str | Path) -> str:
    return str(path) if str(path).isprintable() else shown(str(path))


class _Loader:
    """Builds a graph again in the order in which it was built first, so dims get their names."""

    def __init__(self, data: dict[str, Any], place: str) -> None:
        self.place = place
        self.graph = Graph(data["name"])
        self.feedbacks: dict[str, Feedback] = {}
        for t in data["tensors"]:
            self.graph.tensor(t["name"], tuple(t["shape"]), t["element"], t["base"])
        for entry in [*data["nodes"], None]:
            self._feedbacks(data["feedbacks"])
            if entry is not None:
                self._node(entry)

    def _node(self, entry: dict[str, Any]) -> None:
        if entry["op"] not in operators():
            raise StepError(f"there is no operator {entry['op']!r}")
        where = entry.get("where", self.place)
        if not isinstance(where, str) or not where.isprintable():
            raise StepError(f"{entry['op']}: its line must be a text, not {shown(where)}")
        attrs = {k: self._decode(v) for k, v in entry["attrs"].items()}
        if "tensor" in attrs and attrs["tensor"] not in self.graph.tensors:
            raise StepError(f"{entry['op']} {entry['name']} needs the tensor {attrs['tensor']!r}")
        inputs = [self._input(use) for use in entry["inputs"]]
        name = identifier(entry["name"], f"{entry['op']} at {where}: its name")
        self.graph.add(entry["op"], inputs, attrs, name=name, where=where)

    def _input(self, use: dict[str, Any]) -> Stream:
        origin = use["from"]
        if isinstance(origin, str):
            stream: Stream = self.feedbacks[origin]
        else:
            stream = self.graph.node(origin[0]).outputs[origin[1]]
        return stream.fifo(use["fifo"]) if "fifo" in use else stream

    def _feedbacks(self, entries: list[dict[str, Any]]) -> None:
        for entry in entries:
            made, connected = entry["made"], entry["connected"]
            if made == len(self.graph.nodes):
                self.feedbacks[entry["name"]] = self.graph.feedback(
                    self._decode(entry["dtype"]), self._decode(entry["shape"]), entry["name"]
                )
            if entry["from"] is not None and connected == len(self.graph.nodes):
                self.feedbacks[entry["name"]].connect(self._input({"from": entry["from"]}))

    def _decode(self, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(self._decode(v) for v in value)
        if not isinstance(value, dict):
            return value
        if "fn" in value:
            return function(value["fn"], **{k: v for k, v in value.items() if k != "fn"})
        if "dim" in value:
            return self._dim(value)
        if "tile" in value:
            rows, cols, name = value["tile"]
            return Tile(self._dim(rows), self._dim(cols), element(name))
        if "selector" in value:
            return Selector(value["selector"], value["hot"])
        if "buffer" in value:
            return Buffer(self._decode(value["buffer"]), self._decode(value["dims"]))
        return TupleType(self._decode(value["tuple"]))

    def _dim(self, value: int | dict[str, Any]) -> Dim:
        if isinstance(value, int):
            return dims.static(value)
        if "positive" in value:
            make = dims.ragged if value["kind"] == "ragged" else dims.dynamic
            return make(value["dim"], bound=value["bound"], positive=value["positive"])
        expr = _parse(ast.parse(value["dim"], mode="eval").body, self.graph.symbols)
        return Dim(expr, value["kind"], value["bound"])


def _origin(stream: Stream) -> str | list[Any]:
    return stream.node.name if stream.node.op == "feedback" else [stream.node.name, stream.port]


def _use(origin: str | list[Any], depth: int | None) -> dict[str, Any]:
    return {"from": origin} if depth is None else {"from": origin, "fifo": depth}


def _encode_feedback(feedback: Feedback) -> dict[str, Any]:
    return {
        "name": feedback.label,
        "dtype": _encode(feedback.declared.dtype),
        "shape": [_encode(d) for d in feedback.declared.shape],
        "made": feedback.made,
        "from": None if feedback.source is None else _origin(feedback.source),
        "connected": feedback.connected,
    }


def _encode(value: Any) -> Any:
    if isinstance(value, Dim):
        return _encode_dim(value)
    if isinstance(value, Function):
        return {"fn": value.name, **value.parameters()}
    if isinstance(value, Tile):
        return {"tile": [_encode_dim(value.rows), _encode_dim(value.cols), value.element.name]}
    if isinstance(value, Selector):
        return {"selector": value.n, "hot": value.hot}
    if isinstance(value, Buffer):
        return {"buffer": _encode(value.tile), "dims": [_encode_dim(d) for d in value.shape]}
    if isinstance(value, TupleType):
        return {"tuple": [_encode(item) for item in value.items]}
    if isinstance(value, (tuple, list)):
        return [_encode(v) for v in value]
    if isinstance(value, DataType):
        raise TypeError(f"{value!r} has no text form")
    return value


def _encode_dim(dim: Dim) -> int | dict[str, Any]:
    if dim.static is not None:
        return dim.static
    entry = {"dim": str(dim.expr), "kind": dim.kind, "bound": dim.bound}
    if dim.expr.is_Symbol:
        entry["positive"] = not dim.may_be_empty
    return entry


_CALLS = {"ceiling": sympy.ceiling, "Min": sympy.Min, "Max": sympy.Max}
_OPERATORS = {
    ast.Add: sympy.Expr.__add__,
    ast.Sub: sympy.Expr.__sub__,
    ast.Mult: sympy.Expr.__mul__,
    ast.Div: sympy.Expr.__truediv__,
    ast.Pow: sympy.Expr.__pow__,
}


def _parse(node: ast.expr, symbols: dims.Symbols) -> sympy.Expr:
    """An extent from its text; nothing but arithmetic over the graph's own symbols."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return sympy.Integer(node.value)
    if isinstance(node, ast.Name):
        return symbols.find(node.id).expr
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _parse(node.left, symbols), _parse(node.right, symbols)
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_parse(node.operand, symbols)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
        return _CALLS[node.func.id](*(_parse(a, symbols) for a in node.args))
    raise StepError(f"{ast.unparse(node)!r} is no extent of a dim")
