"""Rebuilds a graph node by node, with changes: the base of all transforms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from stepgen.ir.dims import Dim
from stepgen.ir.dtypes import Buffer, DataType, Tile, TupleType
from stepgen.ir.errors import StepError
from stepgen.ir.feedback import Feedback
from stepgen.ir.graph import Graph
from stepgen.ir.names import LONGEST
from stepgen.ir.stream import Node, Stream
from stepgen.ir.where import placed

Inputs = Mapping[str, Any]


@dataclass(frozen=True)
class Transformed:
    """A transformed program, and how its inputs follow from the original's.

    Attributes
    ----------
    graph : Graph
        The new program.
    inputs : callable
        From the inputs of the original program, by name, to those of the new one. Tensors may be
        missing if only the structure of a run is needed.
    """

    graph: Graph
    inputs: Callable[[Inputs], dict[str, Any]]

    @classmethod
    def of(cls, program: Graph | Transformed) -> Transformed:
        """The program itself, or a graph as a program without changes."""
        return program if isinstance(program, Transformed) else cls(program, dict)

    def then(self, graph: Graph, inputs: Callable[[Inputs], dict[str, Any]] = dict) -> Transformed:
        """The result of a further transform of this program; the mappings of inputs are chained."""
        before = self.inputs
        return Transformed(graph, lambda given: inputs(before(given)))


def node_named(graph: Graph, name: str, transform: str, op: str = "") -> Node:
    """The node of a name that a transform is given; with `op` such nodes are proposed.

    Raises
    ------
    StepError
        If there is none.
    """
    names = [node.name for node in graph.nodes]
    if name in names:
        return graph.node(name)
    near = [n.name for n in graph.nodes if n.op == op] or get_close_matches(name, names)
    others = f"; there is {', '.join(near)}" if near else ""
    raise StepError(f"{transform}: {graph.name} has no {op or 'operator'} {name}{others}")


class Rewrite:
    """A graph under construction, and its counterparts of the old graph's streams.

    A transform walks `nodes`, in the order of the old graph, and for each of them calls `copy`, or
    adds other nodes and maps the old one's outputs with `put`.

    Parameters
    ----------
    old : Graph
        Is not changed.

    Attributes
    ----------
    new : Graph
        The graph under construction.
    streams : dict of Stream to Stream
        By stream of the old graph: its counterpart in the new one.
    feedbacks : dict of Feedback to Feedback
        The same of feedbacks.
    fed : dict of (Node, int) to Feedback
        Inputs of old nodes that were written as a feedback.
    """

    def __init__(self, old: Graph) -> None:
        self.old = old
        self.new = Graph(old.name)
        for tensor in old.tensors.values():
            self.new.tensor(tensor.name, tensor.shape, tensor.element, tensor.base)
        self.streams: dict[Stream, Stream] = {}
        self._waiting: list[Node] = []
        self._unclosed: list[Feedback] = []
        self._taken = {n.name for n in old.nodes} | {f.label for f in old.feedbacks}
        self._dims: dict[Dim, Dim] = {}
        self.feedbacks: dict[Feedback, Feedback] = {}
        self.fed = {
            (node, index): feedback for feedback in old.feedbacks for node, index in feedback.uses
        }

    def nodes(self) -> Iterator[Node]:
        """The nodes of the old graph; makes and connects feedbacks at the same places."""
        for number, node in enumerate(self.old.nodes):
            self._feed(number)
            yield node
        self._feed(len(self.old.nodes))

    def offer(self, node: Node) -> None:
        """Copy a node as soon as all its inputs have counterparts."""
        self._waiting.append(node)
        self.settle()

    def settle(self) -> None:
        """Copy the offered nodes whose inputs have counterparts by now, in their order."""
        moved = True
        while moved:
            moved = False
            for node in list(self._waiting):
                if self.is_possible(node):
                    self._waiting.remove(node)
                    self.copy(node)
                    moved = True

    def is_possible(self, node: Node) -> bool:
        """Whether all inputs of an old node have counterparts."""
        return all(
            (node, index) in self.fed or stream in self.streams
            for index, stream in enumerate(node.inputs)
        )

    def copy(
        self,
        node: Node,
        *,
        inputs: Sequence[Stream] | None = None,
        attrs: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> Node:
        """Add a copy of an old node, and map the old one's outputs to its own.

        Parameters
        ----------
        node : Node
            Of the old graph.
        inputs : sequence of Stream, optional
            Streams of the new graph, by default the counterparts of the old inputs.
        attrs : mapping, optional
            Parameters that change.
        name : str, optional
            Another name.
        """
        made = self.add(
            node.op,
            self.inputs(node) if inputs is None else inputs,
            {k: self._attribute(v) for k, v in node.attrs.items()} | dict(attrs or {}),
            where=node.where,
            name=name or node.name,
        )
        for old, new in zip(node.outputs, made.outputs, strict=False):
            self.put(old, new)
        return made

    def add(
        self,
        op: str,
        inputs: Sequence[Stream],
        attrs: Mapping[str, Any],
        *,
        where: str,
        name: str | None = None,
    ) -> Node:
        """Add a node to the new graph.

        Parameters
        ----------
        op : str
            Name of the operator.
        inputs : sequence of Stream
            Streams of the new graph.
        attrs : mapping
            Its parameters.
        where : str
            The user's line that it is made for.
        name : str, optional
            Its name, by default one that neither graph has.
        """
        name = name or self.name(f"{op}_0")
        return self.new.add(op, inputs, dict(attrs), name=name, where=where)

    def put(self, old: Stream, new: Stream) -> None:
        """Map a stream of the old graph to its counterpart in the new one."""
        self.streams[old] = new
        for mine, its in zip(_dims(old), _dims(new), strict=False):
            if mine.expr.is_symbol:
                self._dims.setdefault(mine, its)

    def use(self, stream: Stream) -> Stream:
        """Counterpart of a stream of the old graph, with the FIFO depth that it sets."""
        return deep(self.streams[stream], stream.depth)

    def inputs(self, node: Node) -> list[Stream]:
        """Counterparts of the inputs of an old node; feedbacks stay feedbacks."""
        return [self.input(node, index) for index in range(len(node.inputs))]

    def input(self, node: Node, index: int) -> Stream:
        """Counterpart of one input of an old node."""
        feedback = self.fed.get((node, index))
        if feedback is None or self.feedbacks[feedback].source is not None:
            return self.use(node.inputs[index])
        return deep(self.feedbacks[feedback], node.inputs[index].depth)

    def open(self, feedback: Feedback) -> None:
        """Make a feedback of the old graph in the new one."""
        shape = [self.dim(d) for d in feedback.declared.shape]
        dtype = self.dtype(feedback.declared.dtype)
        self.feedbacks[feedback] = placed(
            feedback.where, lambda: self.new.feedback(dtype, shape, feedback.label)
        )

    def close(self, feedback: Feedback, source: Stream) -> None:
        """Connect a feedback to the counterpart of its source."""
        self.feedbacks[feedback].connect(self.use(source))

    def drop_tensors(self, names: Iterable[str]) -> list[str]:
        """Remove those of the tensors that no node of the new graph uses; returns their names."""
        used = {node.attrs.get("tensor") for node in self.new.nodes}
        dropped = [name for name in names if name not in used]
        for name in dropped:
            del self.new.tensors[name]
        return dropped

    def name(self, wanted: str) -> str:
        """A name for a node that neither graph has: `wanted`, or the same with a number."""
        stem, _, number = wanted.rpartition("_")
        if not number.isdigit():
            stem, number = wanted, ""
        name, count = wanted, int(number or 0)
        while name in self._taken or len(name) > LONGEST:
            count += 1
            name = f"{stem[: LONGEST - len(str(count)) - 1]}_{count}"
        self._taken.add(name)
        return name

    def dtype(self, dtype: DataType) -> DataType:
        """A data type of the old graph, with the dims of the new one."""
        if isinstance(dtype, Tile):
            return Tile(self.dim(dtype.rows), self.dim(dtype.cols), dtype.element)
        if isinstance(dtype, Buffer):
            tile = self.dtype(dtype.tile)
            assert isinstance(tile, Tile)
            return Buffer(tile, tuple(self.dim(d) for d in dtype.shape))
        if isinstance(dtype, TupleType):
            return TupleType(tuple(self.dtype(item) for item in dtype.items))
        return dtype

    def dim(self, dim: Dim) -> Dim:
        """A dim of the old graph as it is called in the new one."""
        if dim in self._dims:
            return self._dims[dim]
        known = {d.expr: new.expr for d, new in self._dims.items()}
        changes = {s: known[s] for s in dim.expr.free_symbols if known.get(s, s) != s}
        if not changes:
            return dim
        return Dim(dim.expr.subs(changes), dim.kind, dim.bound)

    def _attribute(self, value: Any) -> Any:
        if isinstance(value, Dim):
            return self.dim(value)
        if isinstance(value, DataType):
            return self.dtype(value)
        if isinstance(value, tuple):
            return tuple(self._attribute(v) for v in value)
        return value

    def _feed(self, number: int) -> None:
        """Make and connect the feedbacks that were made and connected before the node `number`."""
        for old in self.old.feedbacks:
            if old.made == number:
                self.open(old)
            if old.source is not None and old.connected == number:
                self._unclosed.append(old)
        for old in list(self._unclosed):
            if old.source is not None and old.source in self.streams:
                self._unclosed.remove(old)
                self.close(old, old.source)


def deep(stream: Stream, depth: int | None) -> Stream:
    """The stream with a FIFO of `depth`, if one is set."""
    return stream if depth is None else stream.fifo(depth)


def _dims(stream: Stream) -> tuple[Dim, ...]:
    return (*stream.shape, *stream.dtype.dims)
