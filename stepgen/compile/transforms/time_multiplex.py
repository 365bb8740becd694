"""Several branches share one region of hardware (paper, section 5.2).

Experts of the same structure are time-multiplexed: an EagerMerge takes their packed tiles in order
of arrival, its selector determines whose weights are loaded, and behind the body a Partition by the
same selector returns each branch its own results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stepgen.compile.transforms.branches import Branch, branches, check_alike, tiles_read
from stepgen.compile.transforms.rewrite import Rewrite, Transformed, deep
from stepgen.ir.arguments import checked
from stepgen.ir.errors import StepError
from stepgen.ir.fn import fn
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node, Stream


@checked
def time_multiplex(
    program: Graph | Transformed, *, regions: int, partition: str | None = None
) -> Transformed:
    """Let the branches behind a Partition share regions.

    Parameters
    ----------
    program : Graph or Transformed
        Has a Partition whose branches pack their rows into tiles, apply the same operators to them
        with different weights, and split the tiles into rows again.
    regions : int
        Number of regions, each for the same number of consecutive branches. With as many regions as
        branches nothing is shared.
    partition : str, optional
        Name of the Partition, if there are several such.

    Returns
    -------
    Transformed
        The same program. The weights of the branches of a region are stacked in one tensor.

    Raises
    ------
    StepError
        If there is no such Partition, the branches can't be divided evenly, or they differ.
    """
    before = Transformed.of(program)
    found = branches(before.graph, partition)
    if regions < 1:
        raise StepError(f"time_multiplex needs at least 1 region, not {regions}")
    if len(found) % regions:
        raise StepError(
            f"time_multiplex can't divide {len(found)} branches evenly among {regions} regions"
        )
    for other in found[1:]:
        check_alike(found[0], other)
    size = len(found) // regions
    shares = [
        _Share(number, found[start : start + size])
        for number, start in enumerate(range(0, len(found), size))
    ]
    return _rewritten(before, shares)


class _Share:
    """The branches of one region.

    Parameters
    ----------
    number : int
        Of the region.
    members : sequence of Branch
        Branches of one structure.

    Attributes
    ----------
    stacks : dict of str to list of str
        Tensors that become one, by its name.
    """

    def __init__(self, number: int, members: Sequence[Branch]) -> None:
        self.number = number
        self.members = members
        self.stacks: dict[str, list[str]] = {}

    def is_ready(self, rewrite: Rewrite) -> bool:
        """Whether all branches have their rows packed."""
        return all(member.packed in rewrite.streams for member in self.members)

    def build(self, rewrite: Rewrite) -> None:
        """Add the region, and return each branch its results."""
        first = self.members[0]
        where = first.packed.node.where
        packed = [rewrite.streams[member.packed] for member in self.members]
        name = rewrite.name(f"region{self.number}_merge")
        tiles, selector = rewrite.add(
            "eager_merge", packed, {"rank": 0}, where=where, name=name
        ).outputs
        rewrite.put(first.packed, tiles)
        for node in first.body:
            if node.op == "linear_offchip_load" and self._of_branch(node):
                self._load(rewrite, node, selector)
            elif node.op == "fork":
                # A load that the selector addresses no longer reads its copy.
                for out in node.outputs:
                    rewrite.put(out, rewrite.input(node, 0))
            else:
                rewrite.copy(node)
        for index, out in enumerate(first.exits):
            # Results that are not read yet must not block those of other branches.
            queued = deep(selector, max(2, len(self.members)))
            split = rewrite.add(
                "partition",
                [rewrite.use(out), queued],
                {"rank": out.rank, "num_consumers": len(self.members)},
                where=where,
                name=rewrite.name(f"region{self.number}_split"),
            )
            for member, part in zip(self.members, split.outputs, strict=True):
                rewrite.put(member.exits[index], deep(part, _most(part)))

    def _of_branch(self, node: Node) -> bool:
        """Whether the branches read different tensors here."""
        return len(set(self._tensors(node))) > 1

    def _tensors(self, node: Node) -> list[str]:
        index = self.members[0].body.index(node)
        return [member.body[index].attrs["tensor"] for member in self.members]

    def _load(self, rewrite: Rewrite, node: Node, selector: Stream) -> None:
        """Load the weights of the branch that the selector names."""
        names, count = self._tensors(node), tiles_read(node)
        tensor = rewrite.old.tensors[names[0]]
        stacked = f"{names[0]}_to_{names[-1]}"
        while stacked in rewrite.old.tensors:
            stacked += "_"
        if stacked not in rewrite.new.tensors:
            shape = (tensor.shape[0] * len(names), tensor.shape[1])
            rewrite.new.tensor(stacked, shape, tensor.element)
        self.stacks[stacked] = names
        ref = rewrite.input(node, 0)
        for _ in range(ref.rank):
            (selector,) = _add(rewrite, node, "promote", [selector], level=0)
        if ref.rank:
            attrs = {"rank": ref.rank, "count": None}
            (selector,) = _add(rewrite, node, "expand", [selector, ref], **attrs)
        function = fn.tile_addresses(count)
        (addresses,) = _add(rewrite, node, "flat_map", [selector], fn=function, rank=1)
        load = rewrite.add(
            "random_offchip_load",
            [addresses],
            {"tensor": stacked, "tile": node.attrs["tile"]},
            where=node.where,
            name=node.name,
        )
        rewrite.put(node.outputs[0], _shaped(rewrite, node, load.outputs[0]))


def _rewritten(before: Transformed, shares: Sequence[_Share]) -> Transformed:
    """The program with a region for each share."""
    rewrite = Rewrite(before.graph)
    bodies = {node for share in shares for member in share.members for node in member.body}
    waiting = list(shares)
    for node in rewrite.nodes():
        if node not in bodies:
            rewrite.offer(node)
        for share in [share for share in waiting if share.is_ready(rewrite)]:
            waiting.remove(share)
            share.build(rewrite)
            rewrite.settle()
    stacks = {name: parts for share in shares for name, parts in share.stacks.items()}
    dropped = rewrite.drop_tensors({part: None for parts in stacks.values() for part in parts})

    def inputs(given: Mapping[str, Any]) -> dict[str, Any]:
        kept = {name: content for name, content in given.items() if name not in dropped}
        for name, parts in stacks.items():
            if all(part in given for part in parts):
                kept[name] = np.concatenate([np.asarray(given[part]) for part in parts])
        return kept

    return before.then(rewrite.new, inputs)


def _shaped(rewrite: Rewrite, node: Node, tiles: Stream) -> Stream:
    """Tiles ``[.., count]`` in a load's shape ``[.., O_{a-1}..O_0]``."""
    extents = node.attrs["shape"]
    for level, extent in enumerate(reversed(extents[1:])):
        if tiles.dim(level) == extent:
            (tiles,) = _add(rewrite, node, "promote", [tiles], level=level + 1)
        else:
            attrs = {"dim": level, "chunk": extent, "pad": 0}
            tiles, *_ = _add(rewrite, node, "reshape", [tiles], **attrs)
    return tiles


def _add(
    rewrite: Rewrite, node: Node, op: str, inputs: Sequence[Stream], **attrs: Any
) -> tuple[Stream, ...]:
    return rewrite.add(op, inputs, attrs, where=node.where).outputs


def _most(stream: Stream) -> int | None:
    """Most elements of a stream, if a FIFO for all of them makes a difference."""
    bound = stream.shape[0].bound
    return bound if stream.rank == 0 and bound is not None and bound > 1 else None
