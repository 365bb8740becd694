"""Where references to buffers go, and how many come back of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stepgen.compile.circuit import Circuit, circuit_of
from stepgen.ir.dtypes import Buffer
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node, Stream


@dataclass(frozen=True)
class References:
    """The ways of the references that a Bufferize makes.

    Attributes
    ----------
    readers : tuple of Node
        The Streamify that they come to, in the order of the graph.
    shares : mapping of Stream to int
        For each stream of references, how many come back of one that is on it: what a Bufferize
        starts with, and what copies and selections divide.
    returning : mapping of Node to int
        Operators that may send a reference on to outputs with fewer shares than it has there: how
        many come back of one that they take.
    in_order : bool
        Whether they come to one reader, once and in the order in which they were made.
    """

    readers: tuple[Node, ...]
    shares: Mapping[Stream, int]
    returning: Mapping[Node, int]
    in_order: bool


def references(graph: Graph, made: Stream) -> References:
    """Follow the references that a Bufferize makes.

    Parameters
    ----------
    graph : Graph
    made : Stream
        The output of the Bufferize.

    Raises
    ------
    StepError
        If they leave the chip, run in a circle, meet those of another Bufferize, or an operator
        that no circuit passes references through.
    """
    found = _Ways(graph, made)
    found.follow(made, ())
    passed = {node: found.passed[node] for node in graph.nodes if node in found.passed}
    for node in passed:
        for stream in node.inputs:
            if isinstance(stream.dtype, Buffer) and stream not in found.shares:
                raise node.failure(
                    f"it merges the buffers {made.name} and {stream.name}, and circuits read "
                    f"buffers of one bufferize in one place: merge what streamify reads of each"
                )
    readers = tuple(node for node in graph.nodes if node in found.readers)
    if not readers:
        raise made.node.failure(f"nothing reads its buffers {made.name}")
    ordered = len(readers) == 1 and all(c.restructures for c in passed.values())
    return References(
        readers,
        found.shares,
        {
            node: circuit.shares(node, found.of(node)) or 0
            for node, circuit in passed.items()
            if circuit.returns(node, found.of(node))
        },
        ordered and found.shares[made] == 1,
    )


class _Ways:
    """The streams downstream of a Bufferize."""

    def __init__(self, graph: Graph, made: Stream) -> None:
        self.graph, self.made = graph, made
        self.shares: dict[Stream, int] = {}
        self.readers: set[Node] = set()
        self.passed: dict[Node, Circuit] = {}

    def of(self, node: Node) -> list[int]:
        """The shares of the outputs of an operator that was passed."""
        return [self.shares.get(stream, 0) for stream in node.outputs]

    def follow(self, stream: Stream, above: tuple[Stream, ...]) -> int:
        """The shares of a stream, from those of what it goes to."""
        if stream in above:
            raise stream.node.failure(
                f"references to the buffers {self.made.name} come back to it, and circuits take "
                f"none that run in a circle"
            )
        if stream not in self.shares:
            uses = self.graph.consumers(stream)
            shares = [self._used(stream, node, n, (*above, stream)) for node, n in uses]
            self.shares[stream] = sum(shares)
        return self.shares[stream]

    def _used(self, stream: Stream, node: Node, index: int, above: tuple[Stream, ...]) -> int:
        if node.face.reads == "buffer" and index == 0:
            self.readers.add(node)
            return 1
        if node.face.steers(node, index):  # only the structure counts
            return 0
        outputs = [self.follow(s, above) for s in node.outputs if isinstance(s.dtype, Buffer)]
        circuit = circuit_of(node) if outputs else None
        shares = None if circuit is None else circuit.shares(node, outputs)
        if circuit is None or shares is None:
            raise self.made.node.failure(
                f"its buffers {self.made.name} go to {node.name} as {stream.name}, and no circuit "
                f"passes references through {node.op}{_unless(node)}"
            )
        self.passed[node] = circuit
        return shares


def _unless(node: Node) -> str:
    """When references may pass an operator that repeats them."""
    if not node.face.repeats(node):
        return ""
    return " by a stream, unless all that it goes to is streamify without ref and count"
