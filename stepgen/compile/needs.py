"""What takes the most on-chip memory of a design, and what would make it less."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stepgen.compile.budget import Budget
from stepgen.compile.cost import on_chip_bits
from stepgen.compile.transforms.rows import packs
from stepgen.hw.design.table import Channel, Design
from stepgen.ir.dtypes import Selector, Tile
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node, Stream

NAMED = 3
"""Needs that are reported."""


@dataclass(frozen=True)
class Need:
    """A memory.

    Attributes
    ----------
    where, holds : str
        The operator, and the channel that it stores.
    place : int
        Which of the operator's inputs that is, where its unit has an input for each.
    takes : int
        In what is counted by the budget.
    alike : str
        Equal for memories of the same kind and size.
    less : str
        What the format of the channel says of how to take less; empty if nothing.
    """

    where: str
    holds: str
    place: int
    takes: int
    alike: str
    less: str


def needs(design: Design, budget: Budget) -> Iterator[Need]:
    """All memories of a design that operators need: those in units, and FIFOs."""
    for unit in design.units:
        takes = budget.unit(unit, design)
        if takes and unit.origin:
            port = unit.params.weights or unit.params.inputs[0]
            held, place = unit.inputs[port], unit.params.inputs.index(port)
            alike = f"{unit.kind} {unit.params}"
            yield Need(unit.origin, held, place, takes, alike, _format(design.channel[held]))
    for channel in design.channels:
        reader = design.consumers[channel.name]
        place = [*reader.inputs.values()].index(channel.name)
        origin = reader.origin or design.producers[channel.name].origin
        takes = budget.fifo(channel)
        if takes and origin:
            alike = f"FIFO {channel.depth} {channel.stored.width}"
            yield Need(origin, channel.name, place, takes, alike, _format(channel))


def _format(channel: Channel) -> str:
    """What makes the beats of a channel fewer or smaller."""
    if channel.rank is None:
        return "shorter bursts"
    return "fewer lanes, since rows end within a beat" if channel.tail else ""


class TooLarge(StepError):
    """A design does not fit into a budget of on-chip memory.

    Parameters
    ----------
    design : Design
        The smallest.
    graph : Graph
        The program.
    budget : Budget

    Attributes
    ----------
    bits : int
        What it takes.
    """

    def __init__(self, design: Design, graph: Graph, budget: Budget) -> None:
        super().__init__(_sentence(design, graph, budget))
        self.bits = on_chip_bits(design)


def _sentence(design: Design, graph: Graph, budget: Budget) -> str:
    """Its largest needs, and what helps."""
    groups: dict[str, list[Need]] = {}
    for need in needs(design, budget):
        groups.setdefault(need.alike, []).append(need)
    largest = sorted(groups.values(), key=lambda group: -sum(n.takes for n in group))[:NAMED]
    said = [_said(group, graph, budget.unit_of) for group in largest]
    return ": ".join(filter(None, (budget.refused(design), "; ".join(said))))


def _said(group: list[Need], graph: Graph, unit_of: str) -> str:
    first = group[0]
    more = f", as {len(group) - 1} more do" if len(group) > 1 else ""
    return (
        f"{first.where} takes {first.takes:,} {unit_of} for {first.holds}{more}, less with "
        f"{_remedy(group, graph)}"
    )


def _remedy(group: list[Need], graph: Graph) -> str:
    """What makes a memory smaller."""
    if group[0].less:
        return group[0].less
    node = next((node for node in graph.nodes if node.name == group[0].where), None)
    streams = _streams(group[0], node)
    dims = [s.dtype.rows for s in streams if isinstance(s.dtype, Tile)]
    if any(dim.static is None for dim in dims) and any(map(packs, graph.nodes)):
        return "a cap on rows: reshape(chunk=..., pad=None)"
    if node is not None and node.face.writes:
        dims += [dim for s in streams for dim in s.shape]
    for dim in dims:
        if dim.static is None:
            return f"a smaller bound of {dim}"
    routed = any(isinstance(s.dtype, Selector) for other in graph.nodes for s in other.inputs)
    return "fewer regions" if routed and len(group) > 1 else "smaller tiles"


def _streams(need: Need, node: Node | None) -> list[Stream]:
    """What an operator of the program reads there; where that is not known, all that it reads."""
    inputs = [] if node is None else list(node.inputs)
    return inputs[need.place : need.place + 1] or inputs
