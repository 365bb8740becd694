"""Depth beyond what progress needs: paths of different latency that rejoin, at full rate."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping

import networkx as nx

from stepgen.compile.sizing.network import Block, Edge, Network
from stepgen.hw.design.pace import Extents, Pace, span
from stepgen.hw.design.table import Design

ROOT = -1
"""Virtual part above all others."""


def balanced(
    design: Design, extents: Mapping[str, Extents], fed_back: Collection[str] = ()
) -> dict[str, int]:
    """Depths with which beats that wait for others of a longer path block nobody meanwhile.

    Every part gets a time: cycles from the start of a path to its first beat. Between its first
    beats in and out lie those of a group that it must have seen, between two parts the latency of
    a channel. A beat stays on a channel for the difference of the times, and with as many slots a
    beat passes in every cycle. Of all times those are taken that cost the fewest bits. Off-chip
    memory counts as if it answered at once.

    Parameters
    ----------
    design : Design
        With depths that exclude deadlocks.
    extents : mapping of str to Extents
        The dims of every channel of tiles, selectors or flags.
    fed_back : collection of str
        Channels that are read before they are written: the ends of loops.

    Returns
    -------
    dict of str to int
        The channels that must be deeper, with their depths in beats.
    """
    depths = {}
    for block in Network(design, extents, fed_back).blocks():
        for edge, beats in BlockTimes(block, design).stays():
            if edge.queue is None and (depth := 2 + beats) > design.channel[edge.name].depth:
                depths[edge.name] = depth
    return depths


class BlockTimes:
    """When the parts of a block see their first beats, if a beat passes in every cycle.

    Parameters
    ----------
    block : Block
    design : Design
    """

    def __init__(self, block: Block, design: Design) -> None:
        self.block = block
        self.beats = {e.name: span(e.extents, 0, len(e.extents)) for e in block.edges}
        self.cycles = max(self.beats[e.name] * self._turn(e) for e in block.edges)
        channels = {e.name: design.channel.get(e.name) for e in block.edges}
        self.width = {name: c.stored.width if c else 1 for name, c in channels.items()}
        self.latency = {name: c.latency if c else 1 for name, c in channels.items()}
        self.fill = {n: self._fill(n) for n in block.order}

    def _turn(self, edge: Edge) -> int:
        """Least cycles from a beat to the next."""
        part = self.block.parts[edge.head]
        return part.turn if edge.name == part.inputs[0] else 1

    def _share(self, edge: Edge) -> float:
        """Beats per cycle; one, if a dim has no bound."""
        return 1 if math.isinf(self.cycles) else self.beats[edge.name] / self.cycles

    def _fill(self, part: int) -> int:
        """Cycles from the first beat that a part takes to the first that it gives."""
        fills = [0.0]
        for edge in self.block.ins[part]:
            out = self.block.outs[part]
            if edge.queue is not None or not out:
                continue
            for level in range(len(edge.extents)):
                pace = Pace(level, opened=True, prompt=level == 0)
                made = self.block.parts[part].follow({edge.name: pace})[out[0].name]
                if made.aligned:
                    if not made.opened and span(edge.extents, level, len(edge.extents)) > 1:
                        fills.append((span(edge.extents, 0, level) - 1) / self._share(edge))
                    break
        return math.ceil(max(n for n in fills if not math.isinf(n)))

    def stays(self) -> Iterator[tuple[Edge, int]]:
        """Beats on each edge: a minimum cost flow, whose potentials are the times."""
        flows: nx.MultiDiGraph = nx.MultiDiGraph()
        demand = dict.fromkeys(self.block.order, 0)
        for edge in self.block.edges:
            cost = max(1, math.ceil(1024 * self.width[edge.name] * self._share(edge)))
            demand[edge.head] += cost
            demand[edge.tail] -= cost
            least = self.latency[edge.name] + self.fill[edge.tail]
            flows.add_edge(edge.tail, edge.head, key=edge.name, weight=-least)
        nx.set_node_attributes(flows, demand, "demand")
        _, flow = nx.network_simplex(flows)
        after: nx.DiGraph = nx.DiGraph((ROOT, n, {"weight": 0}) for n in self.block.order)
        for tail, head, name, weight in flows.edges(keys=True, data="weight"):
            known = after.get_edge_data(tail, head, {"weight": 0})["weight"]
            after.add_edge(tail, head, weight=min(known, weight))
            if flow[tail][head][name]:
                after.add_edge(head, tail, weight=-weight)
        time = nx.single_source_bellman_ford_path_length(after, ROOT)
        for edge in self.block.edges:
            cycles = time[edge.tail] - time[edge.head] - self.fill[edge.tail]
            yield edge, math.ceil((cycles - 1) * self._share(edge))
