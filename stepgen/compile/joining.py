"""Joins producers with consumers: forks, links between lanes, and units that drop streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stepgen.hw.design.table import Channel
from stepgen.hw.units.discard.params import Discard
from stepgen.hw.units.fork.params import Fork
from stepgen.hw.units.link.params import Link
from stepgen.ir.dtypes import Tile
from stepgen.ir.stream import Node, Stream
from stepgen.ir.wire import wire_levels

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering


@dataclass(frozen=True)
class Consumer:
    """One consumer of a stream, and what it requires of the channel."""

    placeholder: str
    node: Node
    structure_only: bool
    depth: int


def join(
    to: Lowering, made: Mapping[Stream, str], uses: Mapping[Stream, Sequence[Consumer]]
) -> dict[str, str]:
    """Give every consumer a channel of its own.

    Parameters
    ----------
    to : Lowering
        Gets the units and channels between producers and consumers.
    made : mapping of Stream to str
        Channel into which each stream is written.
    uses : mapping of Stream to sequence of Use

    Returns
    -------
    dict of str to str
        By placeholder of a use, the channel that it reads.
    """
    names: dict[str, str] = {}
    for stream, produced in made.items():
        to.current = stream.node.name
        takers = uses.get(stream, [])
        if not takers:
            to.unit(f"{produced}_discard", Discard(), x=produced)
        elif len(takers) == 1:
            names[takers[0].placeholder] = _taken(to, produced, stream, takers[0])
        else:
            channel, extents = to.channels[produced], to.extents(stream.node, stream)
            fork, branches = Fork(branches=len(takers)), dict[str, str]()
            for use, port in zip(takers, fork.outputs, strict=True):
                name = f"{produced}_to_{use.node.name}"
                branch = replace(channel, name=name, depth=2, delay=0)
                branches[port] = to.add(branch, stream, extents)
                names[use.placeholder] = _taken(to, branches[port], stream, use)
            to.unit(f"{produced}_fork", fork, x=produced, **branches)
    to.current = ""
    return names


def _taken(to: Lowering, channel: str, stream: Stream, use: Consumer) -> str:
    """The channel as its one consumer needs it: behind a link where that has other lanes."""
    take, give = to.lanes_by(stream.node.name), to.lanes_by(use.node.name)
    columns = _columns_in_lanes(stream)
    if take != give and columns and not use.structure_only:
        made, to.current = channel, use.node.name
        form = replace(to.format(use.node, stream), name=f"{made}_linked")
        channel = to.add(form, stream, to.extents(use.node, stream))
        to.unit(f"{made}_link", Link(take, give, columns), x=made, y=channel)
        to.current = stream.node.name
    to.channels[channel] = _used(to.channels[channel], use)
    return channel


def _columns_in_lanes(stream: Stream) -> int:
    """Columns of the rows that come in slices of as many elements as there are lanes, else 0.

    Where a run decides the columns, a beat has one element, whatever the lanes.
    """
    dtype = stream.dtype
    return dtype.cols.static or 0 if isinstance(dtype, Tile) and wire_levels(dtype) else 0


def _used(channel: Channel, use: Consumer) -> Channel:
    """The channel with what its consumer requires."""
    if use.structure_only:
        channel = replace(channel, lanes=0, bits=0, tail=0, short=False)
    return replace(channel, depth=max(channel.depth, use.depth))
