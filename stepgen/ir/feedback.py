"""Feedback: streams that are used before they are made, for cycles."""

from __future__ import annotations

from stepgen.ir.arguments import checked
from stepgen.ir.dims import Dim, show_shape
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr
from stepgen.ir.stream import Node, Out, Stream, StreamType, make_stream
from stepgen.ir.where import user_line


class Feedback(Stream):
    """A stream whose producer follows later.

    It is a placeholder of the real stream until `connect`, and never a node of the graph.

    Attributes
    ----------
    declared : StreamType
        The type for its consumers.
    uses : list of (Node, int)
        The inputs that were written before the connection.
    made, connected : int
        Number of nodes of the graph when it was made and when it was connected.
    """

    def __init__(self, node: Node, type: StreamType, totals: dict[int, Expr]) -> None:
        model = make_stream(node, 0, Out(type.shape, type.dtype, totals), node.graph.symbols)
        super().__init__(node, 0, type, model.totals, model.volume)
        node.outputs = (self,)
        self.label = node.name
        self.where = node.where
        self.declared = type
        self.uses: list[tuple[Node, int]] = []
        self.made = len(node.graph.nodes)
        self.connected = 0

    @property
    def source(self) -> Stream | None:
        """The real stream, once connected."""
        return self.node.stands_for

    @checked
    def connect(self, stream: Stream) -> None:
        """Replace this placeholder by the real stream in all its uses.

        Static dims must agree with the declared ones; dynamic dims are checked at run time.

        Parameters
        ----------
        stream : Stream
            The real stream, of the same graph and data type.

        Raises
        ------
        StepError
            If it is connected already, the types disagree, or the end of the real stream would
            wait for itself, so that no run could end.
        """
        from stepgen.ir import cycles  # with networkx, which takes long to import

        graph, line = self.graph, user_line()
        prefix = f"feedback {self.label} at {line}:"
        if self.source is not None:
            raise StepError(f"{prefix} it is connected to {self.source.name} already")
        if stream.resolved() == self:
            raise StepError(f"{prefix} it needs the stream of another operator, not {stream!r}")
        if stream.graph is not graph:
            raise StepError(f"{prefix} {stream.name} belongs to another graph")
        real = stream.resolved()
        if real.dtype != self.declared.dtype:
            raise StepError(
                f"{prefix} it was declared as {self.declared}, but {real.name} is {real}"
            )
        differing = _differing(self.declared.shape, real.shape)
        if differing is not None:
            raise StepError(
                f"{prefix} it was declared with shape {show_shape(self.declared.shape)}, but "
                f"{real.name} has shape {show_shape(real.shape)}, which differs in {differing}"
            )
        uses = graph.consumers(self)
        waiting = [s.name for s in cycles.endless(real, uses)]
        if waiting:
            chain = ", which waits for that of ".join([*waiting[-2::-1], real.name])
            raise StepError(
                f"{prefix} no run would end, since the end of {real.name} waits for that of "
                f"{chain}; let the loop enter a Reassemble as one of its inputs, or a Partition as "
                f"its selectors"
            )
        self.uses = uses
        for node, index in self.uses:
            depth = node.inputs[index].depth or real.depth
            handle = Stream(real.node, real.port, real.type, real.totals, real.volume, depth)
            node.inputs = (*node.inputs[:index], handle, *node.inputs[index + 1 :])
        known = graph.routings.pop(self, None)
        if known is not None:
            graph.routings.setdefault(real.origin, known)
        self.connected = len(graph.nodes)
        self.node.stands_for = real


def _differing(declared: tuple[Dim, ...], real: tuple[Dim, ...]) -> str | None:
    if len(declared) != len(real):
        return f"rank, {len(declared) - 1} against {len(real) - 1}"
    for index, (mine, its) in enumerate(zip(declared, real, strict=True)):
        if mine.static is not None and its.static is not None and mine.static != its.static:
            return f"dim D{len(declared) - 1 - index}, {mine} against {its}"
    return None
