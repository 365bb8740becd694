"""Depths of FIFOs by start times, beside those that are derived, judged by the exact model."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import networkx as nx

from stepgen.compile.start_times import Edge, Kernel, peak, start_times
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Channel, Design
from stepgen.ir.errors import StepError
from stepgen.timing.deadlock import Deadlock
from stepgen.timing.model import Prediction

LEAST = 2
"""Slots of a FIFO that moves a beat in every cycle."""


@dataclass(frozen=True)
class Fifo:
    """A FIFO of a design.

    Attributes
    ----------
    name, source, target : str
        The channel, and the units that write and read it.
    beats : int
        That pass in the run.
    derived, scheduled : int
        Its depth as stepgen derives it, and by start times.
    freed : int or None
        The depth that lets the run end, where it does not with the depths by start times.
    """

    name: str
    source: str
    target: str
    beats: int
    derived: int
    scheduled: int
    freed: int | None


@dataclass(frozen=True)
class Scheduled:
    """A run with both depths.

    Attributes
    ----------
    fifos : tuple of Fifo
    bits : tuple of int
        Of all FIFOs as derived, and by start times.
    cycles : int
        At the derived depths.
    scheduled : int or Deadlock
        Cycles at the depths by start times, or how the run ends with them.
    confirmed : int or None
        Cycles at the larger of both the depth by start times and that which frees the run, where
        it deadlocks.
    """

    fifos: tuple[Fifo, ...]
    bits: tuple[int, int]
    cycles: int
    scheduled: int | Deadlock
    confirmed: int | None


def scheduled(experiment: Experiment) -> Scheduled:
    """Depths by the published linear program, for the rates of one run.

    Each unit is a kernel. Its time to the first beat and its interval are those of the run in
    which no FIFO is ever full, as the exact model gives them; units that read several streams
    start with the last of them.

    Parameters
    ----------
    experiment : Experiment
        A run, with its inputs.

    Raises
    ------
    StepError
        If units read each other in a cycle, as those of loops do.

    Notes
    -----
    StreamTensor, section 5.3.
    """
    design = experiment.design
    _check(design)
    run = experiment.prediction
    deep = {c.name: max(c.depth, len(run.pushes[c.name]), LEAST) for c in _fifos(design)}
    free = _with(experiment, deep).prediction
    found = _depths(design, free)
    alone = _with(experiment, found)
    ended: int | Deadlock
    freed: dict[str, int] = {}
    confirmed = None
    try:
        ended = alone.prediction.cycles
    except Deadlock as stuck:
        ended, freed = stuck, stuck.remedy
        confirmed = _with(experiment, found | freed).prediction.cycles
    fifos = tuple(
        Fifo(
            c.name,
            design.producers[c.name].name,
            design.consumers[c.name].name,
            len(run.pushes[c.name]),
            c.depth,
            found[c.name],
            freed.get(c.name),
        )
        for c in _fifos(design)
    )
    bits = tuple(
        sum(c.memory_bits_of(d[c.name]) for c in _fifos(design))
        for d in ({c.name: c.depth for c in design.channels}, found)
    )
    return Scheduled(fifos, (bits[0], bits[1]), run.cycles, ended, confirmed)


def _check(design: Design) -> None:
    """Check that the units have an order."""
    reads = nx.DiGraph()
    for c in _fifos(design):
        reads.add_edge(design.producers[c.name].name, design.consumers[c.name].name)
    reads.remove_edges_from(list(nx.selfloop_edges(reads)))  # a unit's own queue
    if not nx.is_directed_acyclic_graph(reads):
        a, b = nx.find_cycle(reads)[0]
        raise StepError(
            f"{design.name} has no schedule by start times: {a} and {b} are in a cycle of units "
            "that read each other, as in a loop; of a model take a block of one layer"
        )


def _fifos(design: Design) -> list[Channel]:
    """Those of streams: requests to the memory and its answers are paced by credit."""
    return [c for c in design.channels if c.rank is not None]


def _with(experiment: Experiment, depths: dict[str, int]) -> Experiment:
    return dataclasses.replace(experiment, built=experiment.design.with_depths(depths))


def _depths(design: Design, run: Prediction) -> dict[str, int]:
    """By channel, the most beats that wait if each unit starts at its time."""
    begun: dict[str, int] = {}
    for unit in design.units:
        taken = [run.pops[c] for c in unit.inputs.values() if design.channel[c].rank is not None]
        sent = [run.pushes[c] for c in unit.outputs.values() if design.channel[c].rank is not None]
        firsts = [int(times[0]) for times in taken if len(times)]
        firsts = firsts or [int(times[0]) for times in sent if len(times)]
        begun[unit.name] = max(firsts, default=0)
    edges: list[tuple[Edge, Channel, Kernel, int]] = []
    for c in _fifos(design):
        source, target = design.producers[c.name].name, design.consumers[c.name].name
        pushed, popped = run.pushes[c.name], run.pops[c.name]
        if source == target or not len(pushed):
            continue
        first = max(0, int(pushed[0]) - begun[source]) + c.latency
        kernel = Kernel(len(pushed), first, _interval(pushed.tolist()))
        edges.append(((source, target), c, kernel, _interval(popped.tolist())))
    soonest: dict[str, Kernel] = {unit.name: Kernel(1, 0) for unit in design.units}
    for (source, _), _, kernel, _ in edges:
        if kernel.first > soonest[source].first:
            soonest[source] = kernel
    starts = start_times(soonest, list(dict.fromkeys(edge for edge, *_ in edges)))
    found = {c.name: LEAST for c in _fifos(design)}
    for (source, target), c, kernel, interval in edges:
        delay = starts[target] - starts[source]
        found[c.name] = max(LEAST, peak(kernel, max(interval, 1), max(delay, kernel.first)))
    return found


def _interval(times: list[int]) -> int:
    """Cycles from a beat to the next, on average."""
    return max(1, round((times[-1] - times[0]) / (len(times) - 1))) if len(times) > 1 else 1
