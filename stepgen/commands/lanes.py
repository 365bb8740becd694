"""Lanes of a program's operators: the smallest circuit that is fast enough, or fits."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..compile.lane_search import LUT, Choice, Cost, LaneSearch
from ..cosim.experiment import Experiment
from ..hw.design.table import Design
from ..ir.errors import StepError
from ..ir.lanes import OTHERS, Lanes, lanes_by_node
from ..ir.show import html_table
from ..ir.system import SystemGraph
from ..ir.wire import LANES
from ..program.program import Program
from ..synth.estimate import Estimate, Estimator, estimate
from ..synth.toolchain import FAMILY
from ..tools import waiting
from .call import called, notebook
from .options import Circuit, Timing
from .source import Source
from .time import timed

if TYPE_CHECKING:
    from ..board.description import Board

SLOWER = 5.0
"""Per cent by which a run may be longer than the fastest, where nothing bounds the circuit."""

STEP = "choosing lanes"
"""What is shown as progress."""

EACH = 6
"""Circuits for each group that a search is expected to measure, for its progress."""


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What the circuit has to be.

    Attributes
    ----------
    slower : float, optional
        Per cent by which the run may be longer than the fastest that fits; by default 5, or 0 with
        `fit`.
    fit : int or str, optional
        LUTs that there are, or a board and a share of its LUTs: ``"ulx3s-85f:70%"``. Of a board
        there are also registers, multipliers and block RAM, all of them.
    operators : bool
        Choose for each operator by itself, in place of all that have one function.
    """

    slower: float | None = None
    fit: int | str | None = None
    operators: bool = False

    def __post_init__(self) -> None:
        if self.slower is not None and not 0 <= self.slower < 1000:
            raise StepError(
                f"a run can be slower by 0 to 1,000 per cent, not by {self.slower:g}: "
                f"--slower 5 lets it take 5 % more cycles than the fastest"
            )

    @property
    def percent(self) -> float:
        """By how much the run may be longer."""
        if self.slower is not None:
            return self.slower
        return SLOWER if self.fit is None else 0.0

    @functools.cached_property
    def board(self) -> Board | None:
        """The board that the circuit is for.

        Raises
        ------
        StepError
            If there is no such board, or LUTs are not estimated for its FPGA.
        """
        name = str(self.fit).partition(":")[0]
        if self.fit is None or _number(name) is not None:
            return None
        from ..board.description import named, names  # with Amaranth, which takes long to load

        if name not in names():
            raise StepError(
                f"--fit takes a number of LUTs or a board, {', '.join(names())}, as in "
                f"ulx3s-85f:70%, not {str(self.fit)!r}"
            )
        board = named(name)
        if board.chip.family != FAMILY:
            raise StepError(
                f"--fit can't take the board {name}: LUTs are estimated for an ECP5, and it has "
                f"another FPGA, {board.chip.name}; give a number of LUTs"
            )
        return board

    @functools.cached_property
    def limits(self) -> dict[str, int]:
        """How much there is of each resource.

        Raises
        ------
        StepError
            If `fit` is not what it should be.
        """
        if self.fit is None:
            return {}
        if self.board is None:
            luts = _number(str(self.fit)) or 0
            if not luts:
                raise StepError(f"--fit takes a number of LUTs from 1 on, not {str(self.fit)!r}")
            return {LUT: luts}
        chip, share = self.board.chip, _share(str(self.fit).partition(":")[2])
        return {
            LUT: round(chip.luts * share / 100),
            "ff": chip.ffs or chip.luts,
            "multiplier": chip.multipliers,
            "block_ram": chip.block_rams,
        }


def _number(text: str) -> int | None:
    """A whole number, also with commas."""
    plain = text.replace(",", "")
    return int(plain) if plain.isascii() and plain.isdecimal() and len(plain) < 10 else None


def _share(text: str) -> float:
    """A number of per cent, 100 if there is none."""
    try:
        found = float(text.removesuffix("%")) if text else 100.0
    except ValueError:
        found = 0.0
    if not 0 < found <= 100:
        raise StepError(f"the share of a board's LUTs is above 0 and up to 100 %, not {text!r}")
    return found


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
        head = ("function", "lanes before", "lanes", "LUT before", "LUT")
        rows = [tuple(map(str, row)) for row in self.groups()]
        return notebook(self, "", html_table("lanes of each function", head, rows))

    def __repr__(self) -> str:
        luts = self.used[LUT]
        return (
            f"<lanes of {self.program.name}: {self.text}, {self.cycles:,} cycles, {luts:,} LUTs, "
            f"of {len(self.search.measured)} circuits>"
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
    stopped = False
    try:
        found = search.run()
    except KeyboardInterrupt:
        if not search.measured:
            raise
        found, stopped = search.found, True
    first = circuits.experiment(search.measured[0].lanes).design
    last = circuits.experiment(found.lanes).design
    result = LanesResult(loaded, goal, search, found, (first, last))
    if stopped:
        return result
    before, after = (estimate(design, progress=progress) for design in (first, last))
    return dataclasses.replace(result, estimates=(before, after))


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

    def experiment(self, lanes: Lanes) -> Experiment:
        """The program on a circuit."""
        circuit = dataclasses.replace(self.circuit, lanes=lanes)
        return self.timing.experiment(self.loaded, circuit, seed=self.source.seed)

    def measured(self, lanes: Lanes) -> Cost | None:
        """Cycles and resources; None where the program has no circuit with these lanes.

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
            experiment = self.experiment(lanes)
            try:
                _ = experiment.prediction
            except StepError:  # a circuit that does not exist, or deadlocks
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
