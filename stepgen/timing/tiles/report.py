"""What a run on a described machine took and used."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..activity import Activity, Trace
from .machines import Machine


@dataclass(frozen=True)
class Operator:
    """What one operator did.

    Attributes
    ----------
    name, op : str
        The node and its operator.
    busy, starved, full : int
        Cycles in which it worked, waited for an input, and waited for room at an output; of both
        actors for a load.
    tokens : int
        Elements that it emitted.
    useful, padding : int
        FLOPs, apart for those on padding.
    traffic : int
        Off-chip bytes.
    memory : int
        On-chip bytes that it was given.
    compute : int
        FLOPs per cycle that it was given; 0 if it does not compute.
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
    """What a program took and used on a machine.

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
        When actors changed their state; decoded where `activities` is asked for.
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
        """On-chip bytes that operators were given."""
        return sum(o.memory for o in self.operators.values())

    @cached_property
    def flops_useful(self) -> int:
        """FLOPs that did not work on padding."""
        return sum(o.useful for o in self.operators.values())

    @cached_property
    def flops_padding(self) -> int:
        """FLOPs that worked on padding."""
        return sum(o.padding for o in self.operators.values())

    @cached_property
    def compute(self) -> int:
        """FLOPs per cycle that all operators together were given."""
        return sum(o.compute for o in self.operators.values())

    @cached_property
    def activities(self) -> tuple[Activity, ...]:
        """What each actor did when: those of operators, and of the forks that streams need."""
        return tuple(self.trace.activities())

    @property
    def compute_utilization(self) -> float:
        """Share of the arithmetic that did useful work."""
        return self.flops_useful / (self.compute * self.cycles) if self.compute else 0.0

    @property
    def bandwidth_utilization(self) -> float:
        """Share of the off-chip bandwidth that moved bytes."""
        return self.traffic / (self.machine.memory.peak * self.cycles)
