"""Accesses of tensors whose order matters: noted by the actors, checked after the run."""

from __future__ import annotations

from stepgen.ir.graph import Graph
from stepgen.ir.hazards import Hazards, hazards
from stepgen.ir.stream import Node
from stepgen.timing.activity import Cycles
from stepgen.timing.kernel import Memory, helper, offsets
from stepgen.timing.tiles.actor import grab

ACCESS = offsets("before", "cycle", "number", start=0)
"""An access of an actor: the one before it, its cycle and the number of its tile."""
UNWATCHED, NONE = -1, 0
"""In place of the address of the last access: no order matters; there was none yet."""


@helper
def noted(M: Memory, last: int, t: int, number: int) -> int:
    """Note an access behind the last one of an actor; returns its address."""
    if last == UNWATCHED:
        return last
    access = grab(M, len(ACCESS))
    M[access + ACCESS.before] = last
    M[access + ACCESS.cycle] = t
    M[access + ACCESS.number] = number
    return access


class Order:
    """The tensors of a program in which the order of accesses matters.

    Parameters
    ----------
    graph : Graph
    """

    def __init__(self, graph: Graph) -> None:
        self._watched: dict[str, Hazards] = hazards(graph)
        self._last: list[tuple[Node, int]] = []

    def first(self, node: Node) -> int:
        """What an actor of a node has in place of its last access."""
        return NONE if node.attrs["tensor"] in self._watched else UNWATCHED

    def watch(self, node: Node, place: int) -> None:
        """Have the accesses checked whose last one is at a place of the state array."""
        self._last.append((node, place))

    def check(self, M: Cycles) -> None:
        """Check all accesses of a run, in the order of time: a path waits for all before it.

        Raises
        ------
        StepError
            If another order would have given other data.
        """
        found = []
        for number, (_, place) in enumerate(self._last):
            access = int(M[place])
            while access > NONE:
                before, cycle, tile = M[access : access + len(ACCESS)].tolist()
                found.append((cycle, number, tile))
                access = before
        for _, number, tile in sorted(found):
            node, _ = self._last[number]
            self._watched[node.attrs["tensor"]].access(node, tile)
