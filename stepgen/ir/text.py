"""Saves programs as JSON, and loads them as equal graphs.

The text has what the user wrote: tensors, nodes with parameters and inputs, feedbacks. Types follow
from it and are checked again when it is loaded.
"""

from __future__ import annotations

from pathlib import Path
from types import NoneType
from typing import Any

from stepgen.ir import dims
from stepgen.ir.arguments import checked, shown
from stepgen.ir.dims import Dim
from stepgen.ir.dtypes import Buffer, DataType, Selector, Tile, TupleType, element
from stepgen.ir.errors import StepError
from stepgen.ir.extents import extent
from stepgen.ir.feedback import Feedback
from stepgen.ir.function import Function, function
from stepgen.ir.graph import Graph
from stepgen.ir.names import identifier
from stepgen.ir.operator import operators
from stepgen.ir.records import parsed, written
from stepgen.ir.registry import ONES_OWN
from stepgen.ir.stream import Stream
from stepgen.ir.system import SystemGraph
from stepgen.ir.versions import stamped, unstamped
from stepgen.ir.where import placed

FORMAT = 1
"""Of the text."""


def dumps(graph: Graph, *, lines: bool = True) -> str:
    """The text of a graph, or of a system with the graphs of its parts.

    Parameters
    ----------
    graph : Graph
        Complete or not.
    lines : bool
        Whether to keep the user's line of every node.
    """
    return written(stamped(FORMAT, _fields(graph, lines)), indent=1)


def _fields(graph: Graph, lines: bool) -> dict[str, Any]:
    if isinstance(graph, SystemGraph):
        return {
            "name": graph.name,
            "parts": {part: _fields(one, lines) for part, one in graph.parts.items()},
            "links": graph.links,
            "lanes": graph.lanes,
        }
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
    return {
        "name": graph.name,
        "tensors": [
            {"name": t.name, "shape": list(t.shape), "element": t.element.name, "base": t.base}
            for t in graph.tensors.values()
        ],
        "feedbacks": [_encode_feedback(f) for f in graph.feedbacks],
        "nodes": nodes,
    }


def loads(text: str, place: str = "the text") -> Graph:
    """The graph of a text.

    Parameters
    ----------
    text : str
        Written by `dumps`.
    place : str
        Origin of the text, for messages.

    Raises
    ------
    StepError
        If the text has not the format of `dumps` or a newer one, or the program is not valid.
    """
    data = parsed(text, f"{place} is not a stepgen program", infinite=True)
    if isinstance(data, dict) and type(data.get("stepgen")) is int:
        data = {"format": data.pop("stepgen"), **data}  # as it was called at first
    _field(data, "format", object, f"{place} is not a stepgen program: it")
    with unstamped(data, FORMAT, place) as fields:
        if "nodes" not in fields and fields.keys() & {"design", "units"}:
            raise StepError(f"{place} is a design, not a graph: give the folder that it is in")
        return _system(fields, place) if "parts" in fields else _graph(fields, place)


def _graph(fields: dict[str, Any], place: str) -> Graph:
    loader = _Loader(place)
    try:
        placed(place, lambda: loader.load(fields))
    except StepError:
        raise
    except (
        *(ArithmeticError, AttributeError, LookupError),
        *(RecursionError, TypeError, ValueError),
    ):
        raise StepError(f"{loader.what} does not fit together") from None
    return loader.graph


def _system(fields: dict[str, Any], place: str) -> SystemGraph:
    parts, links, lanes = (_field(fields, key, dict, place) for key in ("parts", "links", "lanes"))
    name = _field(fields, "name", object, place)
    for key, kind, table in (("links", str, links), ("lanes", int, lanes)):
        for one in table:
            _field(table, one, kind, f"{key} of {place}")
    graphs = {
        part: _graph(_field(parts, part, dict, place), f"part {shown(part)} of {place}")
        for part in parts
    }
    return placed(place, lambda: SystemGraph(graphs, links, name=name, lanes=lanes))


def _field(entry: Any, key: str, kind: type | tuple[type, ...], what: str) -> Any:
    """One field of a JSON object, with its type checked."""
    if not isinstance(entry, dict) or key not in entry:
        raise StepError(f"{what} lacks {key!r}")
    value = entry[key]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise StepError(f"{what} has a {key!r} that is {shown(value)}")
    return value


@checked
def save(graph: Graph, path: str | Path) -> None:
    """Write the text of a graph to a file.

    Parameters
    ----------
    graph : Graph
        Complete or not.
    path : str or Path
        The file; an existing one is replaced.

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

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Graph
        Equal to the one that was saved.

    Raises
    ------
    StepError
        If the file can't be read or is not a program.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise StepError(f"{_place(path)} can't be read as a program: {error}") from None
    return loads(text, str(path))


def _place(path: str | Path) -> str:
    text = str(path)
    return text if text.isprintable() and 0 < len(text) < 200 else shown(text)


class _Loader:
    """Rebuilds a graph in the original order, so that dims get the same names."""

    def __init__(self, place: str) -> None:
        self.place = self.what = place
        self.graph = Graph()
        self.feedbacks: dict[str, Feedback] = {}

    def load(self, data: dict[str, Any]) -> None:
        """Build the graph; `what` is the current part, for messages."""
        self.graph = Graph(_field(data, "name", object, self.place))
        for number, entry in enumerate(_field(data, "tensors", list, self.place)):
            self.what = f"tensor {number} of {self.place}"
            self._tensor(entry, self.what)
        feedbacks = _field(data, "feedbacks", list, self.place)
        for number, entry in enumerate([*_field(data, "nodes", list, self.place), None]):
            for index, feedback in enumerate(feedbacks):
                self.what = f"feedback {index} of {self.place}"
                self._feedback(feedback, self.what)
            if entry is not None:
                self.what = f"node {number} of {self.place}"
                self._node(entry, self.what)

    def _tensor(self, entry: Any, what: str) -> None:
        name, shape = _field(entry, "name", object, what), _field(entry, "shape", list, what)
        kind = _field(entry, "element", str, what)
        base = _field(entry, "base", (int, NoneType), what)
        self.graph.tensor(name, tuple(shape), kind, base)

    def _node(self, entry: Any, what: str) -> None:
        op, attrs = _field(entry, "op", str, what), _field(entry, "attrs", dict, what)
        if op not in operators():
            raise StepError(f"{what}: there is no operator {shown(op)}; {ONES_OWN}")
        where = entry.get("where", self.place)
        if not isinstance(where, str) or not where.isprintable():
            raise StepError(f"{what}: its line must be a string, not {shown(where)}")
        name = identifier(_field(entry, "name", object, what), f"{op} at {where}: its name")
        made = {key: self._decoded(value, key, what) for key, value in attrs.items()}
        tensor = made.get("tensor")
        if "tensor" in made and (not isinstance(tensor, str) or tensor not in self.graph.tensors):
            raise StepError(f"{op} {name} needs the tensor {shown(tensor)}")
        inputs = [self._input(use, what) for use in _field(entry, "inputs", list, what)]
        self.graph.add(op, inputs, made, name=name, where=where)

    def _input(self, use: Any, what: str) -> Stream:
        stream = self._origin(_field(use, "from", (str, list), what), what)
        return stream.fifo(use["fifo"]) if "fifo" in use else stream

    def _origin(self, origin: str | list[Any], what: str) -> Stream:
        if isinstance(origin, str):
            if origin not in self.feedbacks:
                raise StepError(f"{what}: there is no feedback {shown(origin)} yet")
            return self.feedbacks[origin]
        if len(origin) != 2 or not isinstance(origin[0], str) or type(origin[1]) is not int:
            raise StepError(f"{what} reads from {shown(origin)}, not from a node and a port")
        outputs = self.graph.node(origin[0]).outputs
        if not 0 <= origin[1] < len(outputs):
            raise StepError(f"{what}: {origin[0]} has {len(outputs)} outputs, no {origin[1]}")
        return outputs[origin[1]]

    def _feedback(self, entry: Any, what: str) -> None:
        """Make a feedback, or connect it, if the user did so at this point."""
        made, connected = (_field(entry, key, int, what) for key in ("made", "connected"))
        name = identifier(_field(entry, "name", object, what), f"feedback at {what}: its name")
        source = _field(entry, "from", (str, list, NoneType), what)
        if made == len(self.graph.nodes):
            dtype, shape = (
                self._decoded(_field(entry, key, kind, what), key, what)
                for key, kind in (("dtype", object), ("shape", list))
            )
            self.feedbacks[name] = self.graph.feedback(dtype, shape, name)
        if source is not None and connected == len(self.graph.nodes):
            if name not in self.feedbacks:
                raise StepError(f"{what} is connected before it is made")
            self.feedbacks[name].connect(self._origin(source, what))

    def _decoded(self, value: Any, key: str, what: str) -> Any:
        try:
            return self._decode(value)
        except StepError:
            raise
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
            raise StepError(
                f"{what} has a {shown(key)} that can't be read: {shown(value)}"
            ) from None

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

    def _dim(self, value: Any) -> Dim:
        if isinstance(value, int):
            return dims.static(value)
        text, kind, bound = value["dim"], value["kind"], value["bound"]
        if kind not in ("dynamic", "ragged"):
            raise StepError(f"a dim must be dynamic or ragged, not {shown(kind)}")
        if bound is not None and (type(bound) is not int or bound < 0):
            raise StepError(
                f"the bound of a dim must be an integer of at least 0, not {shown(bound)}"
            )
        if "positive" in value:
            make = dims.ragged if kind == "ragged" else dims.dynamic
            return make(text, bound=bound, positive=bool(value["positive"]))
        if not isinstance(text, str):
            raise StepError(f"an extent must be a string, not {shown(text)}")
        expr = extent(text, self.graph.symbols)
        if expr.number is not None:
            raise StepError(f"a dim that is {kind} must depend on something, not be {expr}")
        return Dim(expr, kind, bound)


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
    if dim.expr.is_symbol:
        entry["positive"] = not dim.may_be_empty
    return entry
