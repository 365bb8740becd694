"""The branches behind a Partition, and whether they have the same structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stepgen.compile.transforms.rewrite import node_named
from stepgen.compile.transforms.rows import carried, packs, takes_apart
from stepgen.ir.affine import affine, reading, reading_text
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node, Stream
from stepgen.ir.tensor import Tensor

_SHAPE_OPS = ("flatten", "reshape", "promote", "fork")


@dataclass(frozen=True)
class Branch:
    """The operators on the chunks that a Partition sends to one consumer.

    Attributes
    ----------
    packed : Stream
        Tiles that the consumer's rows are packed into; input of the body.
    body : tuple of Node
        The operators on these tiles, in the order of the graph.
    exits : tuple of Stream
        Outputs of the body, which are split into rows.
    """

    packed: Stream
    body: tuple[Node, ...]
    exits: tuple[Stream, ...]

    @property
    def tensors(self) -> list[str]:
        """The tensors that the body reads, in order."""
        named = [node.attrs["tensor"] for node in self.body if "tensor" in node.attrs]
        return list(dict.fromkeys(named))


def branches(graph: Graph, partition: str | None) -> list[Branch]:
    """The branches behind a Partition.

    Parameters
    ----------
    graph : Graph
        The program.
    partition : str, optional
        Name of the Partition; by default the one whose consumers all pack rows into tiles.

    Raises
    ------
    StepError
        If there is no such Partition, or several, or its branches can't be distinguished.
    """
    if partition is None:
        found = [
            n
            for n in graph.nodes
            if n.op == "partition" and None not in [_packed(stream) for stream in n.outputs]
        ]
        if not found:
            raise StepError(
                f"time_multiplex finds no branches to share in {graph.name}: no partition sends "
                f"rows to consumers that all pack them into tiles with accum(retile_row)"
            )
        if len(found) > 1:
            names = ", ".join(n.name for n in found)
            raise StepError(
                f"time_multiplex finds branches behind {names} in {graph.name}; partition= names "
                f"the one whose branches are to share"
            )
        (node,) = found
    else:
        node = node_named(graph, partition, "time_multiplex", "partition")
        if node.op != "partition":
            raise StepError(f"time_multiplex needs a partition, but {partition} is a {node.op}")
    return [_branch(node, port) for port in range(len(node.outputs))]


def _packed(stream: Stream) -> Stream | None:
    """The tiles that the rows of a stream are packed into."""
    while True:
        uses = stream.graph.consumers(stream)
        if len(uses) != 1:
            return None
        node = uses[0][0]
        if packs(node):
            return node.outputs[0]
        # What a partition of references routes is read behind it.
        is_read = node.op == "streamify" and len(node.inputs) == 1
        if node.op not in _SHAPE_OPS and not is_read:
            return None
        stream = node.outputs[0]


def _branch(partition: Node, port: int) -> Branch:
    who = f"time_multiplex: branch {port} of {partition.name}"
    packed = _packed(partition.outputs[port])
    if packed is None:
        raise StepError(f"{who} does not pack its rows into tiles with accum(retile_row)")
    body: set[Node] = set()
    exits: dict[Stream, None] = {}
    front, rows = [packed], carried(packed)
    while front:
        stream = front.pop()
        for node, index in packed.graph.consumers(stream):
            if takes_apart(node) and index == 0 and stream in rows:
                exits[stream] = None
            elif node.op == "eager_merge":
                raise StepError(
                    f"{who} takes turns already with those that it meets in {node.name} at "
                    f"{node.where}"
                )
            elif node.face.is_sink or node.op in ("partition", "reassemble"):
                raise StepError(
                    f"{who} reaches {node.name} at {node.where} before "
                    f"flat_map(retile_streamify) has taken its tiles apart into rows"
                )
            elif node not in body:
                body.add(node)
                front += node.outputs
    ordered = tuple(node for node in partition.graph.nodes if node in body)
    inside = {packed, *(s for node in ordered for s in node.outputs)}
    for node in ordered:
        for stream in node.inputs:
            if stream not in inside:
                raise StepError(
                    f"{who} takes {stream.name} into {node.name} at {node.where}, which does not "
                    f"come from the branch's own rows and so can't follow them into a shared region"
                )
    return Branch(packed, ordered, tuple(exits))


def check_alike(first: Branch, other: Branch) -> None:
    """Check that two branches have the same structure, except for the weights that they read.

    Raises
    ------
    StepError
        At the first difference.
    """
    a, b = _places(first), _places(other)
    for mine, its in zip(first.body, other.body, strict=False):
        for what, left, right in (
            ("are different operators", mine.op, its.op),
            ("differ in parameters", _parameters(mine), _parameters(its)),
            ("have different inputs", [a[s] for s in mine.inputs], [b[s] for s in its.inputs]),
        ):
            if left != right:
                raise StepError(
                    f"time_multiplex can't share a region between branches of different "
                    f"structure, {mine.name} at {mine.where} and {its.name} at {its.where} {what}, "
                    f"{_say(left)} against {_say(right)}"
                )
    if len(first.body) != len(other.body):
        raise StepError(
            f"time_multiplex can't share a region between branches of different structure, the "
            f"one behind {first.packed.name} has {len(first.body)} operators and the one behind "
            f"{other.packed.name} has {len(other.body)}"
        )
    if [a[s] for s in first.exits] != [b[s] for s in other.exits]:
        raise StepError(
            f"time_multiplex can't share a region between branches of different structure, the "
            f"ones behind {first.packed.name} and {other.packed.name} are taken apart elsewhere"
        )


def _places(branch: Branch) -> dict[Stream, tuple[int, int]]:
    """Where each stream of a branch is made: number of the operator and of its output."""
    places = {branch.packed: (-1, 0)}
    for number, node in enumerate(branch.body):
        places |= {stream: (number, stream.port) for stream in node.outputs}
    return places


def _parameters(node: Node) -> dict[str, Any]:
    parameters = dict(node.attrs)
    if "tensor" in parameters:
        tensor = node.graph.tensors[parameters["tensor"]]
        parameters["tensor"] = f"{tensor.element} {tensor.shape[0]}x{tensor.shape[1]}"
    return parameters


def _say(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}={v}" for k, v in value.items())
    return str(value)


def tiles_read(node: Node) -> int:
    """How many tiles a load reads for each element of its reference stream.

    Raises
    ------
    StepError
        If it does not read all tiles of the tensor in memory order.
    """
    tensor: Tensor = node.graph.tensors[node.attrs["tensor"]]
    rows, cols = tensor.grid(node.attrs["tile"])
    how = reading(node.attrs)
    read = [number for number, _ in affine(*how)]
    if read != list(range(rows * cols)):
        raise StepError(
            f"time_multiplex: {node.name} at {node.where} must read the {rows * cols} tiles of "
            f"tensor {tensor.name} one after the other to share it, but its "
            f"{reading_text(*how)} reads others or in another order"
        )
    return len(read)
