"""Depth for rows that come at once and are taken slowly: from one matrix unit to the next."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from stepgen.compile.sizing.network import Edge, Network
from stepgen.hw.design.pace import Extents, Pace
from stepgen.hw.design.table import Design

ROW = 1
"""Level that closes a row."""


def gathered(
    design: Design, extents: Mapping[str, Extents], fed_back: Collection[str] = ()
) -> dict[str, int]:
    """Depths with which a row that is sent at once waits where it is taken beat by beat.

    A matrix unit of floats sends a row of results in consecutive cycles, and the next one takes
    several cycles for each of its beats. With a row between them both work at the same time.

    Parameters
    ----------
    design : Design
    extents : mapping of str to Extents
        The dims of every channel of tiles, selectors or flags.
    fed_back : collection of str
        Channels that are read before they are written: the ends of loops.

    Returns
    -------
    dict of str to int
        The channels that must be deeper, with their depths in beats.
    """
    network = Network(design, extents, fed_back)
    outs: dict[int, list[Edge]] = {}
    for edge in network.edges.values():
        outs.setdefault(edge.tail, []).append(edge)
    depths = {}
    uneven = [part.turn > 1 and not part.steady for part in network.parts]
    todo = [(n, Pace(ROW, opened=True)) for n in range(len(uneven)) if uneven[n]]
    while todo:
        tail, pace = todo.pop()
        for edge in outs.get(tail, []):
            head = network.parts[edge.head]
            if uneven[edge.head] and edge.name == head.inputs[0]:
                beats = pace.room(edge.extents)
                if not math.isinf(beats) and beats + 1 > design.channel[edge.name].depth:
                    depths[edge.name] = int(beats) + 1
            elif head.turn == 1 and edge.queue is None:
                made = head.follow({edge.name: pace})
                known = [made[name] for name in head.outputs if name in made]
                if known and known[0].aligned and known[0].level == ROW:
                    todo.append((edge.head, known[0]))
    return depths
