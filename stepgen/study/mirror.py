"""Generated hardware as a machine for timing on tiles: two levels of one program, compared.

The hardware streams tiles: `lanes` elements per cycle through every unit, FIFOs of a few beats, a
matrix unit of ``lanes**2`` multipliers that loads a tile of weights while it computes with another,
and one bus with independent reads and writes. Effects inside a tile are not modelled: bursts and
their arbitration, tiles interrupted by a full FIFO, pipelines.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Channel, Design
from stepgen.ir.dtypes import Tile
from stepgen.ir.graph import Graph
from stepgen.program.tiles import simulate
from stepgen.timing.tiles.machines import Compute, Machine
from stepgen.timing.tiles.report import Run
from stepgen.timing.tiles.simple import SimpleMemory

ON_THE_WAY = 4
"""Cycles of a request from a load to the bus: bursts, grant, arbiter, port."""

WEIGHTS = 2
"""Tiles of weights in a matrix unit: the one in use, and the next."""

NEVER_WAITED_FOR = 1 << 20
"""A rate that is never the bottleneck."""


def mirror(experiment: Experiment) -> Machine:
    """The machine whose streams, matrix units and memory are those of a design.

    Parameters
    ----------
    experiment : Experiment
        Its lanes, bus and memory timing are used.
    """
    lanes, timing = experiment.design.lanes, experiment.memory
    memory = SimpleMemory(
        channels=1,
        request_bytes=experiment.bus.bytes,
        interval=timing.read_interval,
        latency=timing.read_latency + ON_THE_WAY,
        requests_per_cycle=1,
        stores_apart=True,
    )
    return Machine(
        f"mirror of {experiment.graph.name}",
        memory,
        Compute(NEVER_WAITED_FOR, of_functions={"matmul": 2 * lanes * lanes}),
        onchip_bandwidth=NEVER_WAITED_FOR,
        fifo_depth=1,
        tiles_in_flight=1,
        stream_elements=lanes,
    )


def depths(graph: Graph, design: Design) -> dict[str, int]:
    """Tiles that FIFOs hold: two in front of a matrix unit, and what depths in beats come to.

    Parameters
    ----------
    graph : Graph
    design : Design
        What it was lowered to.

    Returns
    -------
    dict of str to int
        By the name of a FIFO, for `stepgen.program.tiles.simulate`.
    """
    entering = _entering(design)
    readers = Counter(s.resolved() for node in graph.nodes for s in node.inputs)
    found = {}
    for node in graph.nodes:
        # A node that is part of another's unit has no channels of its own.
        for stream, (channel, is_weight) in zip(node.inputs, entering[node.name], strict=False):
            source = stream.resolved()
            alone = readers[source] == 1
            name = source.name if alone else f"{source.name} to {node.name}"
            tile = source.dtype
            if is_weight:
                found[name] = WEIGHTS
            elif isinstance(tile, Tile) and tile.rows.static and tile.cols.static:
                beats = tile.rows.static * -(-tile.cols.static // design.lanes)
                found[name] = max(1, channel.depth // beats)
    return found


def _entering(design: Design) -> dict[str, list[tuple[Channel, bool]]]:
    """By operator, the channels from others in the order of its inputs, and which are weights'."""
    producers, channel = design.producers, design.channel
    found: dict[str, list[tuple[Channel, bool]]] = defaultdict(list)
    for unit in design.units:
        for port, name in unit.inputs.items():
            if producers[name].origin not in ("", unit.origin):
                found[unit.origin].append((channel[name], port == unit.params.weights))
    return found


def mirrored(experiment: Experiment) -> Run:
    """Time the program of an experiment on the mirror of its design.

    Raises
    ------
    StepError
        If inputs do not fit, or the program can never end.
    """
    graph = experiment.graph
    return simulate(
        graph, experiment.inputs, mirror(experiment), depths=depths(graph, experiment.design)
    )
