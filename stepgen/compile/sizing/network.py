"""A design as a graph of actors, its biconnected blocks, and the paces of its channels."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import networkx as nx

from stepgen.hw.design.pace import RUN, UNALIGNED, Extents, Pace, Paces, Part, Queue
from stepgen.hw.design.restop import parts_of
from stepgen.hw.design.table import Design, Unit

ROOT = -1
"""Virtual root above all sources, for dominators."""


@dataclass(frozen=True, eq=False)
class Edge:
    """A channel, or a queue inside a unit, from one part to another; one object for each."""

    name: str
    tail: int
    head: int
    extents: Extents
    queue: Queue | None


@dataclass(frozen=True)
class Numbering:
    """Epochs that several parts have in common.

    Attributes
    ----------
    levels : dict of int to int
        By part, the level of the groups it sends that are the epochs.
    paces : dict of str to Pace
        The paces of all edges downstream.
    """

    levels: dict[int, int]
    paces: dict[str, Pace]


class Network:
    """The parts of a design and the edges between them.

    The off-chip memory is left out: a load requests only what it has reserved space for, a store
    only what it holds, so the bus never waits for a unit.

    Parameters
    ----------
    design : Design
    extents : mapping of str to Extents
        The dims of every channel of tiles, selectors or flags.
    fed_back : collection of str
        Channels that are read before they are written; those that close loops are left out.

    Attributes
    ----------
    parts : list of Part
    units : list of Unit
        The unit of each part.
    picks : list of frozenset of str
        The inputs of each part from which it picks.
    edges : dict of str to Edge
        By name of the channel or queue, in the order of the parts that write them.
    """

    def __init__(
        self, design: Design, extents: Mapping[str, Extents], fed_back: Collection[str] = ()
    ) -> None:
        self.extents = extents
        self.parts: list[Part] = []
        self.units: list[Unit] = []
        for unit in design.units:
            made = parts_of(unit, extents)
            self.parts += made
            self.units += [unit] * len(made)
        self.picks = [frozenset(part.picks) for part in self.parts]
        heads = {name: n for n, part in enumerate(self.parts) for name in part.inputs}
        self.edges: dict[str, Edge] = {}
        for tail, part in enumerate(self.parts):
            for name in part.outputs:
                if name in heads:
                    queue = part.queues.get(name)
                    dims = queue.extents if queue else extents[name]
                    self.edges[name] = Edge(name, tail, heads[name], dims, queue)
        self._open(fed_back)

    def _open(self, fed_back: Collection[str]) -> None:
        """Remove the edges that close loops."""
        graph: nx.DiGraph = nx.DiGraph((e.tail, e.head) for e in self.edges.values())
        loop = {n: i for i, ns in enumerate(nx.strongly_connected_components(graph)) for n in ns}
        for name in fed_back:
            edge = self.edges[name]
            if loop[edge.tail] == loop[edge.head]:
                del self.edges[name]

    def blocks(self) -> Iterator[Block]:
        """The biconnected blocks: only within one may parts wait for each other."""
        graph: nx.Graph = nx.Graph()
        for edge in self.edges.values():
            graph.add_edge(edge.tail, edge.name)
            graph.add_edge(edge.name, edge.head)
        for members in nx.biconnected_components(graph):
            if len(members) > 2:
                yield Block(self, [e for e in self.edges.values() if e.name in members])


class Block:
    """A biconnected block of a network.

    Attributes
    ----------
    edges : list of Edge
    order : list of int
        Its parts in topological order.
    ins, outs : dict of int to list of Edge
        By part, its inputs and outputs within the block.
    above, below : dict of int to set of int
        By part, the parts upstream and downstream, itself included.
    selectors : dict of int to Edge or None
        By part, the first input from which it does not pick.
    """

    def __init__(self, network: Network, edges: list[Edge]) -> None:
        self.network, self.parts = network, network.parts
        self.edges = edges
        graph: nx.DiGraph = nx.DiGraph((e.tail, e.head) for e in edges)
        self.order: list[int] = list(nx.lexicographical_topological_sort(graph))
        self.ins: dict[int, list[Edge]] = {n: [] for n in self.order}
        self.outs: dict[int, list[Edge]] = {n: [] for n in self.order}
        for edge in edges:
            self.outs[edge.tail].append(edge)
            self.ins[edge.head].append(edge)
        self.above: dict[int, set[int]] = {}
        for n in self.order:
            self.above[n] = {n}.union(*(self.above[e.tail] for e in self.ins[n]))
        self.below: dict[int, set[int]] = {}
        for n in reversed(self.order):
            self.below[n] = {n}.union(*(self.below[e.head] for e in self.outs[n]))
        self._graph = graph
        starts = {n for n in self.order if not self.ins[n]}
        self._sources = {n: frozenset(self.above[n] & starts) for n in self.order}
        self.selectors = {
            n: next((e for e in self.ins[n] if e.name not in network.picks[n]), None)
            for n in self.order
        }
        self._dominators: dict[frozenset[int], dict[int, int]] = {}
        self._paces: dict[tuple[int, int], dict[str, Pace]] = {}
        self._numbered: dict[tuple[int, int], dict[str, Pace]] = {}

    def sources(self, edge: Edge) -> frozenset[int]:
        """The parts at which beats of an edge enter the block."""
        return self._sources[edge.tail]

    def routes(self, selectors: Edge) -> set[int]:
        """Parts that route by copies of selectors, which are sent in the same cycle."""
        copies = self.outs[selectors.tail]
        return {copy.head for copy in copies if self.parts[copy.head].routes_by == copy.name}

    def clock(self, a: Edge, b: Edge) -> int | None:
        """The nearest part that dominates both edges, seen from the sources that they share."""
        shared = self.sources(a) & self.sources(b)
        if not shared:
            return None
        if shared not in self._dominators:
            reached = set().union(*(self.below[n] for n in shared))
            graph = self._graph.subgraph(reached).copy()
            graph.add_edges_from((ROOT, n) for n in shared)
            self._dominators[shared] = nx.immediate_dominators(graph, ROOT)
        above = self._dominators[shared]
        mine, node = set(), a.tail
        while node != ROOT:
            mine.add(node)
            node = above[node]
        node = b.tail
        while node != ROOT and node not in mine:
            node = above[node]
        return None if node == ROOT else node

    def levels(self, clock: int) -> int:
        """The highest level of the groups that a part sends."""
        part, network = self.parts[clock], self.network
        counted = part.clock or self.outs[clock][0].name
        counted = part.numbers.get(counted, counted)
        edge = network.edges.get(counted)
        return len(edge.extents if edge else network.extents[counted]) - 1

    def paces(self, clock: int, level: int) -> dict[str, Pace]:
        """Paces of all edges downstream of a part, by the groups of `level` that it sends."""
        key = clock, level
        if key not in self._paces:
            starts = {clock: self.parts[clock].starts(level)}
            self._paces[key] = self._follow(starts, run=level == RUN)
        return self._paces[key]

    @cached_property
    def numberings(self) -> list[Numbering]:
        """Epochs that parts have in common, of sources or of parts that renumber what they send.

        Parts that take groups of two streams together number both alike: group n of one is
        consumed with group n of the other. If all parts downstream do so, neither is further than
        what waits for the other allows, as if one clock sent both.
        """
        found: list[Numbering] = []
        for source in (n for n in self.order if not self.ins[n]):
            for level in range(self.levels(source) + 1):
                if any(one.levels.get(source) == level for one in found):
                    continue
                levels, paces = self._corresponding(source, level)
                if all(self._agree(n, paces) for n in self.order):
                    found.append(Numbering(levels, paces))
        return found

    def _corresponding(self, source: int, level: int) -> tuple[dict[int, int], dict[str, Pace]]:
        """By part, the level of its groups that are consumed with those of a level of a source."""
        levels: dict[int, int] | None = {source: level}
        while levels:
            known, paces = levels, self._jointly(levels)
            levels = next(filter(None, (self._with(n, known, paces) for n in self.order)), None)
        return known, paces

    def _with(
        self, part: int, levels: dict[int, int], paces: Mapping[str, Pace]
    ) -> dict[int, int] | None:
        """The levels, and that of one more part, from which inputs of a part come in step."""
        known = {e.name for e in self.ins[part] if e.name in paces and paces[e.name].aligned}
        if not known:
            return None
        for edge in self.ins[part]:
            if edge.name in known:
                continue
            for n in self.order:
                if n not in self.above[edge.tail] or n in levels:
                    continue
                if any(e.name in paces and paces[e.name].aligned for e in self.ins[n]):
                    continue
                for level in range(self.levels(n) + 1):
                    pace = self._from(n, level).get(edge.name, UNALIGNED)
                    if pace.aligned and self._agree(part, {**paces, edge.name: pace}, least=2):
                        return levels | {n: level}
        return None

    def _from(self, part: int, level: int) -> dict[str, Pace]:
        key = part, level
        if key not in self._numbered:
            self._numbered[key] = self._jointly({part: level})
        return self._numbered[key]

    def _agree(self, part: int, paces: Mapping[str, Pace], *, least: int = 0) -> bool:
        """Whether the inputs of a part, `least` of them at least, have epochs in common.

        Those from which it picks come as its selectors say, and groups below the level at which it
        takes inputs together may come in any order.
        """
        meets = self.parts[part].meets
        names = [e.name for e in self.ins[part] if e.name not in self.parts[part].picks]
        known = [(paces[n], meets.get(n, 0)) for n in names if n in paces and paces[n].aligned]
        if least and any(pace.level < level for pace, level in known):
            return False
        found = [
            (pace.level - level, pace.groups, pace.sparse)
            for pace, level in known
            if pace.level >= level
        ]
        return len(found) >= least and len(set(found)) <= 1

    def _jointly(self, levels: Mapping[int, int]) -> dict[str, Pace]:
        """Paces of all edges downstream of sources that send independently of each other."""
        return self._follow(
            {
                source: {
                    name: pace.apart() for name, pace in self.parts[source].starts(level).items()
                }
                for source, level in levels.items()
            }
        )

    def _follow(self, starts: Mapping[int, Paces], *, run: bool = False) -> dict[str, Pace]:
        """Paces downstream of parts whose outputs have known ones, or of a `run` as one epoch."""
        paces: dict[str, Pace] = {}
        below = set().union(*(self.below[n] for n in starts))
        for n in self.order:
            if n not in below:
                continue
            part = self.parts[n]
            known = {e.name: paces[e.name] for e in self.ins[n] if e.name in paces}
            if n in starts:
                made = starts[n]
            else:
                made = part.follow({k: p.reopened() for k, p in known.items()})
            for edge in self.outs[n]:
                pace = made[edge.name]
                if run:
                    pace = Pace(RUN, replayed=pace.replayed, closed=pace.closed)
                paces[edge.name] = pace.normal(edge.extents)
        return paces
