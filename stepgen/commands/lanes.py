"""Lanes of a program's operators: the smallest circuit that is fast enough, or fits."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass
from math import inf
from typing import Any

from stepgen.commands.call import called, notebook
from stepgen.commands.options import Circuit, Goal, Timing
from stepgen.commands.source import Source
from stepgen.commands.time import timed
from stepgen.compile.lane_search import LUT, Choice, Cost, LaneSearch
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Design
from stepgen.ir.errors import StepError
from stepgen.ir.lanes import OTHERS, Lanes, lanes_by_node
from stepgen.ir.show import html_table
from stepgen.ir.system import SystemGraph
from stepgen.ir.wire import LANES
from stepgen.program.program import Program
from stepgen.synth.estimate import Estimate, Estimator, estimate
from stepgen.tools import waiting

STEP = "choosing lanes"
"""What is shown as progress."""

EACH = 6
"""Circuits for each group that a search is expected to measure, for its progress."""


@dataclass(frozen=True, repr=False)
class LanesResult:
    """Lanes that were chosen.

    Attributes
    ----------
    program : Program
    goal : Goal
    search : LaneSearch
        With all circuits that were measured.
    found : Choice
        The chosen one.
    designs : tuple of Design
        With the most lanes throughout, and the chosen one.
    estimates : tuple of Estimate, optional
        What both take; None if the search was interrupted.
    """

    program: Program
    goal: Goal
    search: LaneSearch
    found: Choice
    designs: tuple[Design, Design]
    estimates: tuple[Estimate, Estimate] | None = None

    @property
    def lanes(self) -> Lanes:
        """As others take them: ``sg.time(..., lanes=result.lanes)``."""
        return dict(self.found.lanes)

    @property
    def text(self) -> str:
        """As ``--lanes`` takes them."""
        return self.search.text(self.found)

    @property
    def cycles(self) -> int:
        """Of the run, as the cycle model predicts."""
        return self.found.cost.cycles

    @property
    def start(self) -> Choice:
        """The circuit with the most lanes throughout, or with as many as there is one."""
        return self.search.measured[0]

    @property
    def design(self) -> Design:
        """The circuit as units and channels."""
        return self.designs[1]

    @property
    def stopped(self) -> bool:
        """Whether the search was interrupted."""
        return self.estimates is None

    @property
    def used(self) -> dict[str, int]:
        """What the circuit takes by estimate: ``lut``, ``ff``, ``multiplier``, ``block_ram``."""
        return dict(self.found.cost.used if self.estimates is None else self.estimates[1].total)

    @property
    def kind(self) -> str:
        """What a group is: all operators of a function, or an operator."""
        return "operator" if self.goal.operators else "function"

    @property
    def circuits(self) -> str:
        """How many circuits were measured, in words."""
        number = len(self.search.measured)
        return f"{number} circuit{'s' * (number != 1)}"

    def groups(self) -> list[tuple[str, str, str, int | None, int | None]]:
        """Of each group its lanes and LUTs, before and after; ``*`` is all that has no other."""
        lanes = [self._lanes(one) for one in (self.start, self.found)]
        if self.estimates is None:
            return [(name, lanes[0][name], lanes[1][name], None, None) for name in lanes[0]]
        luts = [
            self._luts(design, taken)
            for design, taken in zip(self.designs, self.estimates, strict=True)
        ]
        order = sorted(lanes[0], key=lambda name: (name == OTHERS, -luts[0][name]))
        return [
            (name, lanes[0][name], lanes[1][name], luts[0][name], luts[1][name]) for name in order
        ]

    @property
    def _group_of(self) -> dict[str, str]:
        """By name of an operator its group."""
        return {name: group or OTHERS for name, group in self.search.group_of.items()}

    def _lanes(self, one: Choice) -> dict[str, str]:
        """By group its numbers of lanes."""
        found: dict[str, set[int]] = {}
        for node, count in lanes_by_node(self.program.graph, one.lanes).items():
            found.setdefault(self._group_of[node], set()).add(count)
        return {name: ", ".join(map(str, sorted(counts))) for name, counts in found.items()}

    def _luts(self, design: Design, taken: Estimate) -> Counter[str]:
        """By group the LUTs of its units; FIFOs and control are those of all others."""
        found = Counter[str]()
        for unit in design.units:
            found[self._group_of.get(unit.origin, OTHERS)] += taken.units[unit.name][LUT]
        found[OTHERS] += taken.total[LUT] - found.total()
        return found

    def document(self) -> dict[str, Any]:
        """All of it as JSON values."""

        def one(choice: Choice) -> dict[str, Any]:
            return {
                "lanes": self.search.text(choice),
                "group": choice.group or None,
                "cycles": choice.cost.cycles,
                **choice.cost.used,
            }

        heads = ("group", "lanes_before", "lanes", "lut_before", "lut")
        return {
            "program": self.program.name,
            "lanes": self.text,
            "cycles": self.cycles,
            "used": self.used,
            "start": one(self.start),
            "slower_percent": self.goal.percent,
            "limit_cycles": int(self.search.limit),
            "limits": self.goal.limits,
            "steps": [one(choice) for choice in self.found.steps],
            "groups": [dict(zip(heads, row, strict=True)) for row in self.groups()],
            "throughout": [one(choice) for choice in self.search.measured if not choice.group],
            "circuits": len(self.search.measured),
            "stopped": self.stopped,
        }

    def _repr_html_(self) -> str:
        """Lanes and LUTs by group, for notebooks."""
        head = (self.kind, "lanes before", "lanes", "LUT before", "LUT")
        rows = [tuple(map(str, row)) for row in self.groups()]
        return notebook(self, "", html_table(f"lanes of each {self.kind}", head, rows))

    def __repr__(self) -> str:
        luts = self.used[LUT]
        return (
            f"<lanes of {self.program.name}: {self.text}, {self.cycles:,} cycles, {luts:,} LUTs, "
            f"of {self.circuits}>"
        )


@called
def choose_lanes(source: Source, circuit: Circuit, timing: Timing, goal: Goal) -> LanesResult:
    """Choose lanes of each function, as ``stepgen lanes`` does.

    Parameters
    ----------
    program : Graph, Model or Config
    inputs : mapping of str to object, optional
        Contents of input streams and tensors, or what a model takes; missing ones are drawn.
    slower, fit, operators
        See `Goal`.
    lanes : int or mapping of str to int, optional
        The most lanes, and those of operators that are named, which stay.
    bus_bits, depth, ...
        See `stepgen.commands.options.Circuit`.
    latency, interval, stall, ...
        See `stepgen.commands.options.Timing`.
    seed, dim, transform
        See `stepgen.commands.source.Drawing`.
    phase, element, cache, ...
        Of a model, see `stepgen.program.models.parameters`.

    Raises
    ------
    StepError
        If the program has no circuit, or none that was found fits.
    """
    with waiting.progress(quiet=True) as progress:
        return chosen(source, source.load(tensors=False), circuit, timing, goal, progress)


def chosen(
    source: Source,
    loaded: Program,
    circuit: Circuit,
    timing: Timing,
    goal: Goal,
    progress: waiting.Progress,
) -> LanesResult:
    """The lanes for a program that was loaded without the contents of tensors.

    An interrupt ends the search, and the best circuit until then is the result.

    Parameters
    ----------
    source : Source
        Of the program; loads the contents where they decide cycles.
    loaded : Program
    circuit, timing, goal
        As for `choose_lanes`.
    progress : Progress
        Called with the current step.
    """
    if loaded.design is not None:
        raise StepError(
            f"the design in {loaded.name} is finished, with its lanes: choose those of its program"
        )
    if isinstance(loaded.graph, SystemGraph):
        has = ", ".join(f"{part} has {n}" for part, n in loaded.graph.lanes.items())
        raise StepError(
            f"the system {loaded.graph.name} says the lanes of its parts: {has}; choose those of "
            f"each part by itself"
        )
    if goal.board is not None and circuit.counters is None:
        circuit = dataclasses.replace(circuit, counters=goal.board.counters)
    circuits = _Circuits(source, loaded, circuit, timing, progress)
    search = LaneSearch(
        loaded.graph,
        LANES if circuit.lanes is None else circuit.lanes,
        circuits.measured,
        slower=goal.percent,
        limits=goal.limits,
        single=goal.operators,
    )
    circuits.expected = EACH * len(search.groups)
    try:
        estimates = circuits.estimated(search)
    except KeyboardInterrupt:
        if not search.measured:
            raise
        estimates = None
    found = search.found
    first, last = (circuits.design(one.lanes) for one in (search.measured[0], found))
    return LanesResult(loaded, goal, search, found, (first, last), estimates)


class _Circuits:
    """Circuits of a program with different lanes."""

    def __init__(
        self,
        source: Source,
        loaded: Program,
        circuit: Circuit,
        timing: Timing,
        progress: waiting.Progress,
    ):
        self.source, self.loaded = source, loaded
        self.circuit, self.timing, self.progress = circuit, timing, progress
        self.expected, self._number, self._least = 1, 0, 0
        self._estimator: Estimator | None = None

    def design(self, lanes: Lanes) -> Design:
        """The circuit as units and channels."""
        return self._experiment(lanes, inf).design

    def estimated(self, search: LaneSearch) -> tuple[Estimate, Estimate]:
        """Search; what the first circuit takes, and the chosen one, as others estimate them.

        While circuits are compared, their control and counters are in proportion to the channels.
        Where that was wrong for the chosen one, another one may be better.
        """
        while True:
            found = search.run()
            after = estimate(self.design(found.lanes), progress=self.progress)
            if after.total == found.cost.used:
                break
            search.correct(found, after.total)
        first = search.measured[0]
        return estimate(self.design(first.lanes), progress=self.progress), after

    def _experiment(self, lanes: Lanes, most: float) -> Experiment:
        """The program on a circuit, in a run of so many cycles at most."""
        circuit = dataclasses.replace(self.circuit, lanes=lanes)
        cycles = max(1, int(min(most, self.timing.cycles)))
        timing = dataclasses.replace(self.timing, max_cycles=cycles)
        return timing.experiment(self.loaded, circuit, seed=self.source.seed)

    def measured(self, lanes: Lanes, most: float) -> Cost | None:
        """Cycles and resources; None where no circuit with these lanes has so short a run.

        Raises
        ------
        StepError
            If it is the first circuit, and there is none or its run does not end.
        """
        self._number += 1
        self.progress(f"{STEP} (circuit {self._number}{self._said})", self._share)
        if self._estimator is None:
            result = timed(
                self.source,
                self.loaded,
                dataclasses.replace(self.circuit, lanes=lanes),
                self.timing,
                self.progress,
            )
            if result.experiment.numbers_decide:
                self.loaded = self.source.load()
            experiment = result.experiment
            self._estimator = Estimator()
        else:
            experiment = self._experiment(lanes, most)
            try:
                _ = experiment.prediction
            except StepError:  # a circuit that does not exist, deadlocks, or takes too long
                return None
        used = self._estimator.total(experiment.design, progress=self.progress)
        cost = Cost(experiment.prediction.cycles, used)
        self._least = min(self._least or cost.luts, cost.luts)
        return cost

    @property
    def _said(self) -> str:
        """The smallest circuit until now, for the progress."""
        return f", the smallest has {self._least:,} LUT" if self._least else ""

    @property
    def _share(self) -> float:
        return min(0.99, self._number / self.expected)
