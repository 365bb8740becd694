"""Where one request ends and the next begins, in each stream of the part that is copied.

Operators that make one element of several requests (rows packed into a tile, a sum over all of
them) wait for the later of them: if the next request is assigned only when one is finished, the
program can't end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from stepgen.compile.transforms.requests import Part
from stepgen.ir.errors import StepError
from stepgen.ir.stream import Node, Stream


@dataclass(frozen=True)
class Border:
    """What belongs to one request in a stream.

    Attributes
    ----------
    rank : int
        Rank of the chunks that it is made of.
    count : int or None
        Number of them; None if that differs or is not known.
    """

    rank: int
    count: int | None = 1


@dataclass(frozen=True)
class Joint:
    """An operator that works on several requests at a time.

    Attributes
    ----------
    node : Node
        The operator.
    does : str
        What it does, for a message.
    mixes : bool
        Whether its results depend on which requests it gets.
    """

    node: Node
    does: str
    mixes: bool = False


def check_apart(part: Part, *, one_by_one: bool) -> None:
    """Check that the part can process each request without the others.

    Parameters
    ----------
    part : Part
        What is to be copied.
    one_by_one : bool
        Whether a copy gets its next request only when it has finished one.

    Raises
    ------
    StepError
        If an operator certainly works on several requests at a time: if it computes a value over
        them, or if it waits for a later one and requests are assigned one by one.
    """
    joints = _joints(part)
    for joint in (joint for joint in joints if joint.mixes):
        raise StepError(
            f"parallelize needs requests that do not depend on each other, but {joint.node.name} "
            f"at {joint.node.where} {joint.does}"
        )
    if one_by_one and joints:
        node, does = joints[-1].node, joints[-1].does
        raise StepError(
            f"parallelize with how dynamic assigns a request when one is finished, but {node.name} "
            f"at {node.where} {does} and waits for the later ones: use how coarse or interleaved"
        )


def _joints(part: Part) -> list[Joint]:
    """Operators of the part that certainly work on several requests at a time."""
    borders = {stream: Border(stream.rank) for stream in part.requests}
    found = []
    for node in part.cloned:
        if any(stream not in borders for stream in node.inputs):
            continue
        joint = _joint(node, borders)
        if joint is not None:
            found.append(joint)
        behind = _behind(node, borders)
        if behind is not None:
            # The selectors of a merge have fewer dims than its data.
            borders |= {s: behind if s.rank >= behind.rank else Border(0) for s in node.outputs}
    return found


def _joint(node: Node, borders: Mapping[Stream, Border]) -> Joint | None:
    """What an operator does with several requests at a time, if it does."""
    x = node.inputs[0]
    border = borders[x]
    match node.op:
        case "promote" if node.attrs["level"] > x.rank:
            return Joint(node, "makes one group of all requests")
        case "reshape" if _pieces(node, border) == 0:
            return Joint(node, f"makes groups of {node.attrs['chunk']} from several requests")
        case "accum" | "scan" if node.attrs["rank"] > border.rank:
            function = node.attrs["fn"]
            if node.op == "accum" and function.gathers:
                return Joint(node, "packs tiles of several requests into one")
            return Joint(node, f"computes {function} over several requests", mixes=True)
        case "bufferize" if node.attrs["rank"] > border.rank:
            return Joint(node, "packs tiles of several requests into one buffer")
        case "partition" if node.attrs["rank"] > border.rank:
            return Joint(node, "routes several requests at a time")
        case "reassemble" | "eager_merge":
            data = node.inputs[:-1] if node.op == "reassemble" else node.inputs
            if any(node.attrs["rank"] > borders[stream].rank for stream in data):
                return Joint(node, "merges chunks of several requests")
    return None


def _behind(node: Node, borders: Mapping[Stream, Border]) -> Border | None:
    """What belongs to a request behind an operator; None where requests can't be distinguished."""
    x = node.inputs[-1] if node.op in ("expand", "streamify", "reassemble") else node.inputs[0]
    border, attrs = borders[x], node.attrs
    match node.op:
        case "promote":
            return replace(border, rank=border.rank + (attrs["level"] <= border.rank))
        case "flatten" if attrs["lo"] < border.rank <= attrs["hi"]:
            dims = x.shape[x.rank - border.rank + 1 : x.rank - attrs["lo"] + 1]
            numbers = [border.count, *(dim.static for dim in dims)]
            known = [n for n in numbers if n is not None]
            count = prod(known) if len(known) == len(numbers) else None
            return Border(int(attrs["lo"]), count)
        case "flatten" if attrs["hi"] < border.rank:
            return replace(border, rank=border.rank - (attrs["hi"] - attrs["lo"]))
        case "flatten":
            return border
        case "reshape" if attrs["dim"] > border.rank:
            return border
        case "reshape":
            pieces = _pieces(node, border)
            return Border(border.rank + 1, pieces) if pieces != 0 else None
        case "partition" if attrs["rank"] <= border.rank:
            return Border(attrs["rank"], border.count if attrs["rank"] == border.rank else None)
        case "reassemble":
            return Border(border.rank + 1 + attrs["rank"], border.count)
        case "partition" | "eager_merge":
            return None
        case "flat_map" if attrs["rank"] == 0 and border.rank == 0:
            return Border(0, None)
    # Other operators keep the dims in which requests are counted.
    rank = node.outputs[0].rank - (x.rank - border.rank)
    return Border(rank, border.count) if rank >= 0 else None


def _pieces(node: Node, border: Border) -> int | None:
    """Chunks per request behind a reshape of it; 0 if chunks have parts of several."""
    chunk = node.attrs["chunk"]
    if node.attrs["dim"] != border.rank or chunk == 1:
        return border.count
    return border.count // chunk if border.count and border.count % chunk == 0 else 0
