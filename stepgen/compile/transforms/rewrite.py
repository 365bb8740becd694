"""A graph built again node by node, with changes on the way: what all transforms are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...ir.dims import Dim
from ...ir.dtypes import Buffer, DataType, Tile, TupleType
from ...ir.feedback import Feedback
from ...ir.graph import Graph
from ...ir.names import LONGEST
from ...ir.stream import Node, Stream

Inputs = Mapping[str, Any]


@dataclass(frozen=True)
class Transformed:
    """A program that was made of another one, and how to give it the other one's inputs.

    Attributes
    ----------
    graph : Graph
        The new program.
    inputs : callable
        From the inputs of the original program, by name, to those of the new one. Tensors may be
        missing, where only the structure of a run is asked for.
    """

    graph: Graph
    inputs: Callable[[Inputs], dict[str, Any]]

    @classmethod
    def of(cls, program: Graph | Transformed) -> Transformed:
        """The program itself, or a graph that nothing was done to."""
        return program if isinstance(program, Transformed) else cls(program, dict)

    def then(self, graph: Graph, inputs: Callable[[Inputs], dict[str, Any]] = dict) -> Transformed:
        """What a further transform made of this program, its inputs adapted one after the other."""
        before = self.inputs
        return Transformed(graph, lambda given: inputs(before(given)))


class Rewrite:
    """A graph under construction, and where the streams of the old one are found in it.

    A transform walks `nodes`, which come in the order of the old graph, and for each of them calls
    `copy`, or adds other nodes and says with `put` what stands for the old one's outputs.

    Parameters
    ----------
    old : Graph
        Left as it is.

    Attributes
    ----------
    new : Graph
        The graph under construction.
    streams : dict of Stream to Stream
        By stream of the old graph: the one that stands for it.
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
        """The nodes of the old graph, while feedbacks are made and connected as they were."""
        for number, node in enumerate(self.old.nodes):
            self._feed(number)
            yield node
        self._feed(len(self.old.nodes))

    def copy_all(self) -> None:
        """Copy the whole graph unchanged."""
        for node in self.nodes():
            self.copy(node)

    def offer(self, node: Node) -> None:
        """Copy a node as soon as there is something that stands for each of its inputs."""
        self._waiting.append(node)
        self.settle()

    def settle(self) -> None:
        """Copy the nodes that were offered and have become possible, in their order."""
        moved = True
        while moved:
            moved = False
            for node in list(self._waiting):
                if self.is_possible(node):
                    self._waiting.remove(node)
                    self.copy(node)
                    moved = True

    def is_possible(self, node: Node) -> bool:
        """Whether something stands for each input of an old node."""
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
        """Add a node like an old one, and let its outputs stand for the old ones.

        Parameters
        ----------
        node : Node
            Of the old graph.
        inputs : sequence of Stream, optional
            Streams of the new graph, by default those that stand for the old inputs.
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
            The user's line for whose sake it is made.
        name : str, optional
            Its name, by default one that neither graph has.
        """
        name = name or self.name(f"{op}_0")
        return self.new.add(op, inputs, dict(attrs), name=name, where=where)

    def put(self, old: Stream, new: Stream) -> None:
        """Let a stream of the new graph stand for one of the old graph."""
        self.streams[old] = new
        for mine, its in zip(_dims(old), _dims(new), strict=False):
            if mine.expr.is_Symbol:
                self._dims.setdefault(mine, its)

    def use(self, stream: Stream) -> Stream:
        """What stands for a handle of the old graph, with the FIFO that it asks for."""
        return deep(self.streams[stream], stream.depth)

    def inputs(self, node: Node) -> list[Stream]:
        """What stands for the inputs of an old node; feedbacks stay feedbacks."""
        return [self.input(node, index) for index in range(len(node.inputs))]

    def input(self, node: Node, index: int) -> Stream:
        """What stands for one input of an old node."""
        feedback = self.fed.get((node, index))
        if feedback is None or self.feedbacks[feedback].source is not None:
            return self.use(node.inputs[index])
        return deep(self.feedbacks[feedback], node.inputs[index].depth)

    def open(self, feedback: Feedback) -> None:
        """Make a feedback of the old graph in the new one."""
        shape = [self.dim(d) for d in feedback.declared.shape]
        dtype = self.dtype(feedback.declared.dtype)
        self.feedbacks[feedback] = self.new.feedback(dtype, shape, feedback.label)

    def close(self, feedback: Feedback, source: Stream) -> None:
        """Connect a feedback to what stands for its source."""
        self.feedbacks[feedback].connect(self.use(source))

    def drop_tensors(self, names: Iterable[str]) -> list[str]:
        """Take tensors that no node of the new graph uses out of it, and say which these are."""
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
        return Dim(dim.expr.xreplace(changes), dim.kind, dim.bound)

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
    """The stream for a use that asks for a FIFO of `depth`, if it asks for one."""
    return stream if depth is None else stream.fifo(depth)


def _dims(stream: Stream) -> tuple[Dim, ...]:
    return (*stream.shape, *stream.dtype.dims)
