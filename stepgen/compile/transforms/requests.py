"""Finds the part of a program that processes requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepgen.compile.transforms.rewrite import node_named
from stepgen.ir.dtypes import Tile
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node, Stream


@dataclass(frozen=True)
class Part:
    """The part of a program that is copied for each region.

    Attributes
    ----------
    count : int
        Number of requests.
    requests : tuple of Stream
        Streams whose outermost dim counts requests.
    cloned : tuple of Node
        Operators that process them, in the order of the graph.
    results : tuple of Stream
        Outputs of the part, to be put back in the order of requests.
    done : Stream
        Has a chunk for each request that is finished.
    """

    count: int
    requests: tuple[Stream, ...]
    cloned: tuple[Node, ...]
    results: tuple[Stream, ...]
    done: Stream


def part_of(
    graph: Graph,
    requests: Sequence[str | Stream] | None,
    until: Sequence[str | Stream],
    done: str | Stream | None,
) -> Part:
    """All operators behind requests, up to the program's results.

    Parameters
    ----------
    graph : Graph
        The program.
    requests : sequence of str or Stream, optional
        Streams whose outermost dim counts requests, or nodes by name; by default all inputs and
        all loads without a reference.
    until : sequence of str or Stream
        Streams behind which requests are in order again.
    done : str or Stream, optional
        Has a chunk for each finished request; by default the last result stored or sent.

    Raises
    ------
    StepError
        If streams have different numbers of requests, or the part can't be separated.
    """
    if requests is None:
        named = [n.outputs[0] for n in graph.nodes if n.outputs and not n.inputs]
    else:
        named = [_stream(graph, name) for name in requests]
    if not named:
        raise StepError(f"parallelize needs streams of requests, {graph.name} has no inputs")
    count = _count(named)
    stops = {_stream(graph, name) for name in until}
    cloned: set[Node] = set()
    results: dict[Stream, None] = {}
    sinks: list[tuple[Node, Stream]] = []
    front, seen = list(named), set(named)
    while front:
        stream = front.pop()
        if stream in stops:
            results[stream] = None
            continue
        for node, _ in graph.consumers(stream):
            if node.face.is_sink and not node.outputs:
                results[stream] = None
                sinks.append((node, stream))
            elif node not in cloned:
                cloned.add(node)
                new = [s for s in node.outputs if s not in seen]
                seen.update(new)
                front += new
                if node.face.is_sink:
                    sinks.append((node, node.outputs[0]))
    ordered = tuple(node for node in graph.nodes if node in cloned)
    _check_closed(graph, ordered, {*named, *(s for node in ordered for s in node.outputs)})
    for stream in results:
        if stream.shape[0].static != count:
            raise StepError(
                f"parallelize can't put {stream.name} back in the order of the {count} requests, "
                f"since its type is {stream}"
            )
    sinks += [(stream.node, stream) for stream in results if stream in stops]
    ends = [stream for node in graph.nodes for sink, stream in sinks if sink is node]
    if done is None and not ends:
        raise StepError(
            f"parallelize needs something that shows that a request is finished, but nothing "
            f"behind {named[0].name} leaves the program"
        )
    if done is not None:
        end = _stream(graph, done)
    else:
        end = next((stream for stream in reversed(ends) if _is_counted(stream)), ends[-1])
    if end not in seen or end.shape[0].static != count or not _is_counted(end):
        raise StepError(
            f"parallelize needs a stream that shows for each of the {count} requests that it is "
            f"finished, with one element or with tiles for each, but {end.name} is {end}"
        )
    return Part(count, tuple(named), ordered, tuple(results), end)


def _is_counted(stream: Stream) -> bool:
    """Whether the elements of a request can be made one that shows that it is finished."""
    return stream.rank == 0 or isinstance(stream.dtype, Tile)


def _stream(graph: Graph, name: str | Stream) -> Stream:
    """A stream by the name of its node, with or without the number of the output."""
    if isinstance(name, Stream):
        if name.graph is not graph:
            raise StepError(f"parallelize: {name.name} belongs to another graph")
        return name.resolved()
    stem, _, port = name.rpartition(".")
    node = node_named(graph, stem if stem and port.isdigit() else name, "parallelize")
    number = int(port) if stem and port.isdigit() else 0
    if number >= len(node.outputs):
        raise StepError(f"parallelize: {node.op} {node.name} has no output {number}")
    return node.outputs[number]


def _count(requests: Sequence[Stream]) -> int:
    first = requests[0]
    count = first.shape[0].static
    if not count:
        raise StepError(
            f"parallelize needs a known number of requests of at least 1, but {first.name} is "
            f"{first}"
        )
    for stream in requests:
        if stream.shape[0].static != count:
            raise StepError(
                f"parallelize needs streams with as many requests, but {first.name} is {first} "
                f"and {stream.name} is {stream}; requests= names those that regions share"
            )
    return count


def _check_closed(graph: Graph, cloned: Sequence[Node], inside: set[Stream]) -> None:
    """Check that all inputs of the part belong to requests, and that it has no cycles."""
    for feedback in graph.feedbacks:
        if feedback.source in inside or any(node in cloned for node, _ in feedback.uses):
            raise StepError(
                f"parallelize can't copy the cycle that feedback {feedback.label} at "
                f"{feedback.where} closes"
            )
    for node in cloned:
        for stream in node.inputs:
            if stream not in inside:
                raise StepError(
                    f"parallelize: {node.name} at {node.where} works on requests and on "
                    f"{stream.name}, which does not come from requests; name where it comes from "
                    f"among the requests"
                )
