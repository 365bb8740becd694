"""Result of the timing simulation: cycles and resources."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from stepgen.timing.activity import Activity, Trace
from stepgen.timing.tiles.machines import Machine


@dataclass(frozen=True)
class Operator:
    """Result for one operator.

    Attributes
    ----------
    name, op : str
        The node and its operator.
    busy, starved, full : int
        Cycles in which it was busy, starved (waited for an input) and full (waited for space at an
        output); of both actors for a load.
    tokens : int
        Elements that it emitted.
    useful, padding : int
        FLOPs, and those on padding.
    traffic : int
        Off-chip bytes.
    memory : int
        On-chip bytes allocated to it.
    compute : int
        FLOPs per cycle allocated to it; 0 if it does not compute.
    """

    name: str
    op: str
    busy: int
    starved: int
    full: int
    tokens: int
    useful: int
    padding: int
    traffic: int
    memory: int
    compute: int


@dataclass(frozen=True)
class Run:
    """Result of a run on a machine.

    Attributes
    ----------
    machine : Machine
        The machine.
    cycles : int
        Until the last store was done and all streams had ended.
    memory_peak : int
        Most bytes of tiles that were on chip at one time: in flight, in FIFOs, buffers and
        accumulators.
    operators : dict of str to Operator
        By node.
    choices : dict of str to list of int
        By merge whose order depends on time, the input that each chunk came from.
    trace : Trace
        Changes of the actors' states; `activities` decodes it.
    """

    machine: Machine
    cycles: int
    memory_peak: int
    operators: dict[str, Operator]
    choices: dict[str, list[int]]
    trace: Trace

    @cached_property
    def traffic(self) -> int:
        """Off-chip bytes."""
        return sum(o.traffic for o in self.operators.values())

    @cached_property
    def memory_allocated(self) -> int:
        """On-chip bytes allocated to all operators."""
        return sum(o.memory for o in self.operators.values())

    @cached_property
    def flops_useful(self) -> int:
        """FLOPs that are not on padding."""
        return sum(o.useful for o in self.operators.values())

    @cached_property
    def flops_padding(self) -> int:
        """FLOPs on padding."""
        return sum(o.padding for o in self.operators.values())

    @cached_property
    def compute(self) -> int:
        """FLOPs per cycle allocated to all operators together."""
        return sum(o.compute for o in self.operators.values())

    @cached_property
    def activities(self) -> tuple[Activity, ...]:
        """States of each actor: those of operators, and of the forks that streams need."""
        return tuple(self.trace.activities())

    @property
    def compute_utilization(self) -> float:
        """Useful FLOPs as a fraction of those that the allocated compute could do."""
        return self.flops_useful / (self.compute * self.cycles) if self.compute else 0.0

    @property
    def bandwidth_utilization(self) -> float:
        """Off-chip traffic as a fraction of the peak bandwidth."""
        return self.traffic / (self.machine.memory.peak * self.cycles)
