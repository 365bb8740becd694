"""The graph of a program."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from stepgen.ir import operator
from stepgen.ir.arguments import Address, checked, shown, take
from stepgen.ir.dims import Dim, DimLike, Kind, Symbols, as_dim, product_bound
from stepgen.ir.dtypes import STORED, DataType, ElementName, ElementType, Selector, TupleType
from stepgen.ir.dtypes import element as as_element
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr
from stepgen.ir.feedback import Feedback
from stepgen.ir.lengths import lengths_of
from stepgen.ir.names import identifier
from stepgen.ir.signature_checks import check_order, conform
from stepgen.ir.stream import Node, Out, Routing, Stream, StreamType, make_stream
from stepgen.ir.tensor import Tensor
from stepgen.ir.where import user_line

_OUT: dict[str, Any] = {
    "shape": tuple[Dim, ...],
    "dtype": DataType,
    "totals": Mapping[int, Expr],
    "volume": Expr | None,
}
"""What a type rule has to give of each output."""


class Graph:
    """A streaming tensor program: operators connected by streams; cycles are allowed.

    Parameters
    ----------
    name : str
        Name of the program: an ASCII identifier, as all names of a program.

    Raises
    ------
    StepError
        If the name is not an identifier.

    Attributes
    ----------
    nodes : list of Node
        In the order in which they were made: producers first, except along feedback.
    tensors : dict of str to Tensor
        Off-chip tensors by name.
    users : dict of str to list of Node
        Nodes that use each tensor.
    feedbacks : list of Feedback
        Edges that close a cycle.
    symbols : Symbols
        The dims of the graph.
    routings : dict of Stream to Routing
        Counts known for selector streams.
    spans : dict of object to (Dim, Expr)
        By `lengths_of` ranges of addresses: the length of one, and of all together.
    """

    @checked
    def __init__(self, name: str = "program") -> None:
        self.name = identifier(name, f"the name of the graph at {user_line()}")
        self.nodes: list[Node] = []
        self.tensors: dict[str, Tensor] = {}
        self.users: dict[str, list[Node]] = {}
        self.feedbacks: list[Feedback] = []
        self.symbols = Symbols()
        self.routings: dict[Stream, Routing] = {}
        self.spans: dict[Hashable, tuple[Dim, Expr]] = {}
        self._spanned: dict[tuple[Dim, ...], Expr] = {}
        self._names: dict[str, Node | Feedback] = {}
        self._counts: dict[str, int] = {}
        self._uses: dict[Stream, list[tuple[Node, int]]] = {}
        self._counted = (0, 0)

    @property
    def ports(self) -> dict[str, Stream]:
        """The inputs and outputs of the program, by name."""
        return {n.name: (*n.inputs, *n.outputs)[0] for n in self.nodes if n.face.port}

    @property
    def inputs(self) -> dict[str, Stream]:
        """The inputs of the program, by name."""
        return {n.name: n.outputs[0] for n in self.nodes if n.face.port == "in"}

    @property
    def outputs(self) -> dict[str, Stream]:
        """The outputs of the program, by name."""
        return {n.name: n.inputs[0] for n in self.nodes if n.face.port == "out"}

    @checked
    def input(self, name: str, dtype: DataType, shape: Iterable[DimLike]) -> Stream:
        """Add an input stream.

        Parameters
        ----------
        name : str
            Unique among the graph's nodes.
        dtype : DataType
            Type of one element. Of tuples each item has an input of its own, ``<name>_0`` and on.
        shape : iterable of int, str or Dim
            ``[D_N..D_0]``, outermost first; a string is the name of a dynamic dim.

        Returns
        -------
        Stream

        Raises
        ------
        StepError
            If the name is taken or not an identifier, or there is no dim.
        """
        name = identifier(name, f"source at {user_line()}: its name")
        if name in self.tensors:
            raise StepError(
                f"source at {user_line()}: the graph has {self.tensors[name]!r} of the name {name} "
                f"already, and names of inputs must differ"
            )
        if isinstance(dtype, TupleType):
            dims = [*shape]
            items = [self.input(f"{name}_{n}", item, dims) for n, item in enumerate(dtype.items)]
            return self.add("zip", items, {}, name=name).outputs[0]
        attrs = {"dtype": dtype, "shape": shape}
        return self.add("source", (), attrs, name=name).outputs[0]

    @checked
    def output(self, stream: Stream, name: str) -> None:
        """Make a stream an output of the program.

        Parameters
        ----------
        stream : Stream
            Of any type. Of tuples each item has an output of its own, ``<name>_0`` and on.
        name : str
            Unique among the graph's nodes.

        Raises
        ------
        StepError
            If the name is taken or not an identifier, or the stream belongs to another graph.
        """
        name = identifier(name, f"output at {user_line()}: its name")
        if not isinstance(stream.dtype, TupleType):
            self.add("output", (stream,), {}, name=name)
            return
        for n, item in enumerate(self.add("unzip", (stream,), {}, name=name).outputs):
            self.output(item, f"{name}_{n}")

    @checked
    def tensor(
        self,
        name: str,
        shape: tuple[int, int],
        element: ElementType | ElementName,
        base: Address | None = None,
    ) -> Tensor:
        """Declare a matrix in off-chip memory.

        Parameters
        ----------
        name : str
            Unique among the graph's tensors.
        shape : tuple of int
            Rows and columns.
        element : ElementType or its name
            Type of its elements.
        base : int, optional
            Byte address, a multiple of 8; by default the compiler chooses one.

        Returns
        -------
        Tensor
            Its tiles are consecutive in memory, each row-major.

        Raises
        ------
        StepError
            If the name is taken or not an identifier, an extent is below 1, or the tensor does not
            fit into the addresses, begins within a bus word or overlaps another.
        """
        line = user_line()
        name = identifier(name, f"tensor at {line}: its name")
        prefix = f"tensor {name} at {line}:"
        if name in self.tensors:
            raise StepError(f"{prefix} the graph has {self.tensors[name]!r} of this name already")
        if isinstance(other := self._names.get(name), Node) and other.face.port == "in":
            raise StepError(
                f"{prefix} the graph has an input of this name already, and names of by their names"
            )
        if min(shape) < 1:
            raise StepError(f"{prefix} its shape must be 2 positive extents, not {shape}")
        if base is not None and base < 0:
            raise StepError(f"{prefix} its address can't be {base}")
        tensor = Tensor(self, name, shape, as_element(element, STORED), base)
        tensor.check_place(prefix, self.tensors.values())
        self.tensors[name] = tensor
        return tensor

    @checked
    def feedback(self, dtype: DataType, shape: Iterable[DimLike], name: str) -> Feedback:
        """A stream that is used before it is made, to write a cycle.

        Runs end if the cycle enters a Reassemble as one of its inputs, or a Partition as its
        selectors: those come from outside the cycle. Numbers of turns that only the cycle's own
        data decide are refused, since the end of such a stream would wait for itself.

        Parameters
        ----------
        dtype : DataType
            Type of one element.
        shape : iterable of int, str or Dim
            Outermost first.
        name : str
            Unique among the graph's nodes and feedbacks.

        Returns
        -------
        Feedback
            A placeholder, which its `connect` replaces by the real stream.

        Raises
        ------
        StepError
            If the name is taken or not an identifier, or there is no dim.
        """
        line = user_line()
        name = self._claim("feedback", name, line)
        dims = tuple(as_dim(d) for d in shape)
        if not dims:
            raise StepError(f"feedback at {line}: it needs at least 1 dim")
        for dim in (*dims, *dtype.dims):
            self.symbols.claim(dim)
        node = Node(self, "feedback", name, (), {}, line)
        stream = Feedback(node, StreamType(dims, dtype), self._totals(dims))
        self.feedbacks.append(stream)
        self._names[name] = stream
        return stream

    @checked
    def add(
        self,
        op: str,
        inputs: Sequence[Stream],
        attrs: dict[str, Any],
        *,
        name: str | None = None,
        where: str | None = None,
    ) -> Node:
        """Check one use of an operator and add its node.

        Parameters
        ----------
        op : str
            Name of the operator.
        inputs : sequence of Stream
            Its inputs.
        attrs : dict
            Its parameters.
        name : str, optional
            Unique name; by default the operator's name and a number.
        where : str, optional
            The user's line, by default the current one.

        Returns
        -------
        Node

        Raises
        ------
        StepError
            If the use is not valid.
        """
        line = where or user_line()
        call = operator.Call(self, op, tuple(s.resolved() for s in inputs), dict(attrs), line)
        conform(call)
        for stream in call.inputs:
            if stream.graph is not self:
                call.fail(f"{stream.name} belongs to another graph, {stream.graph.name}")
        if name is not None:
            name = self._claim(op, name, line)
        outs = operator.operators()[op].infer(call)
        for out in take(outs, Sequence[Out], op, "what its type rule infer returns", line):
            for part, hint in _OUT.items():
                what = f"the {part} of an Out of its type rule infer"
                take(getattr(out, part), hint, op, what, line)
            if not out.shape:
                call.fail(
                    "its type rule infer returns an Out without dims: a stream has at least one"
                )
        check_order(call)
        node = Node(
            self, op, self._number(op) if name is None else name, call.inputs, call.attrs, line
        )
        node.outputs = tuple(make_stream(node, i, out, self.symbols) for i, out in enumerate(outs))
        self.routings |= {
            s: out.routing for s, out in zip(node.outputs, outs, strict=True) if out.routing
        }
        self.nodes.append(node)
        if "tensor" in node.attrs:
            self.users.setdefault(node.attrs["tensor"], []).append(node)
        self._names[node.name] = node
        return node

    def node(self, name: str) -> Node:
        """The node of this name.

        Parameters
        ----------
        name : str
            Such as ``partition_0``, or a name given in the program.

        Returns
        -------
        Node

        Raises
        ------
        StepError
            If there is none.
        """
        found = self._names.get(name) if isinstance(name, str) else None
        if not isinstance(found, Node):
            raise StepError(
                f"node at {user_line()}: the graph {self.name} has no node {shown(name)}"
            )
        return found

    @checked
    def consumers(self, stream: Stream) -> list[tuple[Node, int]]:
        """Every use of a stream.

        Parameters
        ----------
        stream : Stream
            Of this graph.

        Returns
        -------
        list of (Node, int)
            The node that uses it, and the number of the node's input.

        Raises
        ------
        StepError
            If it is not a stream.
        """
        state = len(self.nodes), sum(f.source is not None for f in self.feedbacks)
        if self._counted != state:
            self._uses = {}
            for node in self.nodes:
                for index, used in enumerate(node.inputs):
                    self._uses.setdefault(used, []).append((node, index))
            self._counted = state
        return list(self._uses.get(stream.resolved(), ()))

    def routing(self, selectors: Stream) -> Routing:
        """How often each consumer is selected; fresh dims if it is not known yet.

        Forks of the same selectors have the same counts.
        """
        selectors = selectors.origin
        known = self.routings.get(selectors)
        if known is None:
            assert isinstance(selectors.dtype, Selector)
            bound = product_bound(selectors.shape)
            known = Routing(
                tuple(self.symbols.fresh("E", "dynamic", bound) for _ in range(selectors.dtype.n)),
                {},
            )
            self.routings[selectors] = known
        return known

    def span(self, ranges: Stream, most: int | None = None, least: int = 0) -> tuple[Dim, Expr]:
        """The length of a range, and of all together; of the same lengths the first bounds hold.

        Streams that are made from ranges of the same lengths have the same dims.
        """
        lengths = lengths_of(ranges)
        if lengths not in self.spans:
            single = all(d == 1 for d in ranges.shape)
            kind: Kind = "dynamic" if single else "ragged"
            length = self.symbols.fresh("L", kind, most, positive=least > 0)
            total = length.expr if single else self.symbols.fresh(f"sum_{length}_", "dynamic").expr
            self.spans[lengths] = length, total
            self._spanned[*ranges.shape, length] = total
        return self.spans[lengths]

    def _totals(self, shape: tuple[Dim, ...]) -> dict[int, Expr]:
        """Groups per level of a shape, where a dim is that of ranges: as many as they span."""
        ends = range(1, len(shape) + 1)
        return {
            len(shape) - end: self._spanned[shape[:end]]
            for end in ends
            if shape[:end] in self._spanned
        }

    def check(self) -> None:
        """Check that the program is complete.

        Raises
        ------
        StepError
            If the graph has no output or store, a feedback is not connected, or a stream is unused.
        """
        from stepgen.ir.checks import check

        check(self)

    def __eq__(self, other: object) -> bool:
        from stepgen.ir.text import dumps

        return isinstance(other, Graph) and dumps(self, lines=False) == dumps(other, lines=False)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        from stepgen.ir.show import show_graph

        return show_graph(self)

    def _repr_html_(self) -> str:
        """A picture and a table, for notebooks."""
        from stepgen.ir.picture import graph_html

        return graph_html(self)

    def __repr__(self) -> str:
        return f"Graph({self.name}, {len(self.nodes)} nodes)"

    def _claim(self, op: str, name: object, line: str) -> str:
        wanted = identifier(name, f"{op} at {line}: its name")
        if wanted in self._names:
            raise StepError(
                f"{op} at {line}: the graph {self.name} has a node named {wanted} already, choose "
                f"another name"
            )
        return wanted

    def _number(self, op: str) -> str:
        number = self._counts.get(op, 0)
        while f"{op}_{number}" in self._names:
            number += 1
        self._counts[op] = number + 1
        return f"{op}_{number}"


def build(
    op: str,
    inputs: Sequence[Stream],
    attrs: dict[str, Any],
    name: str | None = None,
    *,
    tensor: Tensor | None = None,
) -> tuple[Stream, ...]:
    """Add a use of an operator to the graph of its inputs.

    Raises
    ------
    StepError
        If there is no input or the use is not valid.
    """
    if not inputs:
        raise StepError(f"{op} at {user_line()}: it needs at least 1 stream")
    graph = inputs[0].graph
    if tensor is not None and tensor.graph is not graph:
        raise StepError(
            f"{op} at {user_line()}: tensor {tensor.name} belongs to another graph than "
            f"{inputs[0].name}"
        )
    return graph.add(op, inputs, attrs, name=name).outputs
