"""Accounting model ``hardware``: costs of stepgen's own circuit, from the design table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from stepgen.hw.design.table import Channel, Design, Unit
from stepgen.hw.units.load.params import Load
from stepgen.hw.units.loader.params import Loader
from stepgen.hw.units.memory.params import Memory
from stepgen.hw.units.random_store.params import RandomStore
from stepgen.ir.errors import StepError
from stepgen.ir.expr import ceiling, constant
from stepgen.ir.graph import Graph
from stepgen.ir.metrics import Cost, Metrics, metrics, register_policy


def unit_bits(unit: Unit, design: Design) -> int:
    """Bits of the memories inside a unit, its queues included."""
    seen = design.seen_by(unit)
    return unit.params.memory_bits(unit, seen) + _bits(unit.params.queues(unit, seen))


def on_chip_bits(design: Design) -> int:
    """Bits of all memories of a design; the circuit allocates exactly these."""
    return _bits(design.channels) + sum(unit_bits(unit, design) for unit in design.units)


def _bits(channels: Iterable[Channel]) -> int:
    return sum(channel.memory_bits for channel in channels)


def hardware(graph: Graph, design: Any) -> Metrics:
    """Costs by node: traffic in complete bus words, memory in bits of the table (as bytes).

    A FIFO counts for the node of its producer; what nodes share counts for the arbiter.
    """
    if not isinstance(design, Design):
        raise StepError("the hardware metrics need a design: lower the program first")
    bits: dict[str, int] = defaultdict(int)
    producers = design.producers
    shared = next((unit.name for unit in design.of_kind(Memory)), "")
    for channel in design.channels:
        bits[producers[channel.name].origin or shared] += channel.memory_bits
    for unit in design.units:
        bits[unit.origin or shared] += unit_bits(unit, design)
    word = design.bus.bytes
    reads = {unit.origin: load.pass_bytes(design.bus) for unit, load in design.rows_of(Load)}
    for unit, loader in design.rows_of(Loader):
        parts = [operator for operator, of in design.fused.items() if of == unit.name]
        reads |= dict.fromkeys([unit.origin, *parts], loader.loads[0].pass_bytes(design.bus))
    written = {
        unit.origin: Fraction(word * by.by_address(unit, design).many, by.tile_bytes)
        for unit, by in design.rows_of(RandomStore)
    }
    costs = {}
    for name, cost in metrics(graph, "paper").nodes.items():
        traffic = cost.traffic
        if name in written:
            traffic *= written[name]
        elif graph.node(name).face.writes:
            traffic = word * ceiling(traffic / word)
        elif name in reads:
            asked, read = reads[name]
            traffic *= Fraction(read, asked)
        costs[name] = Cost(traffic, constant(Fraction(bits.pop(name, 0), 8)), cost.flops)
    for name, left in bits.items():
        costs[name] = Cost(constant(0), constant(Fraction(left, 8)), constant(0))
    return Metrics("hardware", costs)


def traffic_varies(design: Design) -> bool:
    """Whether bus words depend on the addresses of tiles: those of `hardware` are then the most."""
    loads = any(load.varies(design.bus) for _, load in design.rows_of(Load))
    return loads or any(store.varies(design.bus) for _, store in design.rows_of(RandomStore))


register_policy("hardware", hardware)
