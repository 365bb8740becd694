"""The rows of a design table once they are connected: what is left is the memory, and depths."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stepgen.compile.sizing.bursts import gathered
from stepgen.compile.sizing.circulating import circulating
from stepgen.compile.sizing.covering import covering
from stepgen.compile.sizing.depths import Unbounded, derive
from stepgen.compile.sizing.slack import balanced
from stepgen.compile.sizing.unbounded import reason
from stepgen.hw.design.pace import Extents
from stepgen.hw.design.table import MOST_MEMORY_BITS, Bus, Channel, Design, Region, Unit
from stepgen.hw.units.memory import params as memory
from stepgen.ir.stream import Node, Stream


@dataclass(frozen=True)
class Connected:
    """Units and channels of one program or of several, each channel with both its ends.

    Parameters
    ----------
    units, channels : sequence of Unit, mapping of str to Channel
    fused : mapping of str to str
        As in a design.
    nodes : mapping of str to Node
        By name the nodes that units come from, and those that have names of their own.
    extents : mapping of str to Extents
        The dims on the wire of every channel that is not raw.
    carried : mapping of str to Stream
        The stream that a channel carries.
    fed_back : collection of str
        Channels that are read before they are written.
    loads, stores, within : sequence
        As `memory.join` takes them.
    paced : bool
        Whether FIFOs are deep enough for full rate, and not for progress alone.
    lanes_at : mapping of str to int
        Lanes of the beats of units, by name.
    """

    units: Sequence[Unit]
    channels: Mapping[str, Channel]
    fused: Mapping[str, str]
    nodes: Mapping[str, Node]
    extents: Mapping[str, Extents]
    carried: Mapping[str, Stream]
    fed_back: Collection[str] = ()
    loads: Sequence[tuple[str, str]] = ()
    stores: Sequence[tuple[str, str, str]] = ()
    within: Sequence[int] = field(default_factory=list)
    paced: bool = True
    lanes_at: Mapping[str, int] = field(default_factory=dict)

    def design(
        self,
        name: str,
        lanes: int,
        bus: Bus,
        regions: Mapping[str, Region],
        depths: Mapping[str, int],
    ) -> Design:
        """The finished table.

        Raises
        ------
        StepError
            If a unit needs more memory than any FPGA has, or a channel must buffer a number of
            beats that has no bound.
        """
        units, channels = [*self.units], {**self.channels}
        if self.loads or self.stores:
            self._join_memory(bus, units, channels)
        table = (*units,), (*channels.values(),)
        other = {u.name: self.lanes_at.get(u.name, lanes) for u in units}
        lanes_of = {unit: own for unit, own in other.items() if own != lanes}
        design = Design(name, lanes, bus, *table, regions, self.fused, lanes_of)
        self._check_memories(design)
        return self._sized(design).with_depths(depths)

    def _join_memory(self, bus: Bus, units: list[Unit], channels: dict[str, Channel]) -> None:
        """Add the arbiter and the AXI4 master, which belong to no operator."""

        def free(name: str, rows: Collection[str]) -> str:
            while name in rows or name in self.nodes:
                name += "_"
            return name

        joined, links = memory.join(bus, self.loads, self.stores, self.within)
        names: dict[str, str] = {}
        for channel in links:
            names[channel.name] = free(channel.name, channels)
            named = replace(channel, name=names[channel.name])
            channels[named.name] = named.pipelined(named.delay)
        for unit in joined:
            inputs, outputs = (
                {port: names.get(c, c) for port, c in side.items()}
                for side in (unit.inputs, unit.outputs)
            )
            name = free(unit.name, {u.name for u in units})
            units.append(Unit(name, unit.params, inputs, outputs))

    def _check_memories(self, design: Design) -> None:
        """Reject units that need more memory than any FPGA has."""
        for unit in design.units:
            bits = unit.params.memory_bits(unit, design.seen_by(unit))
            if bits > MOST_MEMORY_BITS:
                raise self.nodes[unit.origin].failure(
                    f"on chip it would hold {bits:,} bits, more than the {MOST_MEMORY_BITS:,} that "
                    f"a unit may; smaller tiles need less"
                )

    def _sized(self, design: Design) -> Design:
        """The design with FIFO depths that exclude deadlocks and bubbles."""
        fed_back = {*self.fed_back}
        try:
            stored = derive(design, self.extents, fed_back)
        except Unbounded as found:
            origin = {u.name: u.origin for u in design.units}
            consumer = self.nodes[origin[found.unit]]
            said = reason(found, self.carried.get(found.channel), consumer)
            raise consumer.failure(said) from None
        design = design.with_depths(stored)
        design = design.with_depths(circulating(design, self.extents, fed_back))
        if not self.paced:
            return design
        design = design.with_depths(covering(design, self.extents))
        design = design.with_depths(gathered(design, self.extents, fed_back))
        return design.with_depths(balanced(design, self.extents, fed_back))
