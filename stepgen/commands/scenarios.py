"""Many predicted runs of one circuit: routings, lengths, inputs, memories, stalls, depths."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stepgen.commands.call import called, notebook
from stepgen.commands.named import Named
from stepgen.commands.options import Circuit, Timing
from stepgen.commands.source import Given, Source
from stepgen.commands.time import TimeResult
from stepgen.commands.time import timed as of_one
from stepgen.cosim.data_dependent import settled
from stepgen.hw.design.table import Design
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.show import html_table
from stepgen.ir.text import dumps
from stepgen.ir.wire import Beats
from stepgen.program.program import Program
from stepgen.semantics import arrays
from stepgen.timing.deadlock import Deadlock
from stepgen.timing.drive import TooLong
from stepgen.timing.model import CycleModel, Fault
from stepgen.tools import waiting
from stepgen.tools.workers import ALONE, Workers

Array = npt.NDArray[Any]

TRACES = ("routing", "lengths")
"""What a program may take, as options of these names."""

NUMBERS = tuple(f.name for f in dataclasses.fields(Timing) if type(f.default) is int)
"""Whole numbers of the memory."""

MOST_AT_A_TIME = 16
"""Runs that a worker gets at a time, of many."""
SHARES = 64
"""Shares of the runs that workers get, so that all of them work until the end."""

MOST_MODELS = 16
"""Circuits with different depths whose cycle models are kept."""

Depths = tuple[tuple[str, int], ...]
"""Names of FIFOs, and their depths."""

QUARTILES = {"least": 0, "lower": 25, "median": 50, "upper": 75, "most": 100}
"""Percentiles that are shown."""


@dataclass(frozen=True, repr=False)
class ScenariosResult:
    """Predicted runs of one circuit.

    Attributes
    ----------
    program : Program
        What ran, as without scenarios.
    design : Design
        The circuit, before depths of FIFOs are changed.
    cycles, read, written : int64 array of shape [runs]
        Cycles, and bytes of the memory in words of the bus, of each run; 0 of runs that stop.
    stopped : dict of int to str
        By number of a run that stops, why.
    """

    program: Program
    design: Design
    cycles: npt.NDArray[np.int64]
    read: npt.NDArray[np.int64]
    written: npt.NDArray[np.int64]
    stopped: Mapping[int, str]
    _base: _Base
    _scenarios: Mapping[str, Array]

    def run(self, number: int) -> TimeResult:
        """One of the runs, with all that `stepgen.time` predicts of it.

        Raises
        ------
        Deadlock, Fault
            If it stops.
        StepError
            If there is no such run.
        """
        with waiting.progress(quiet=True) as progress:
            return self._base.alone(_of_run(self._scenarios, number), progress)

    @cached_property
    def ended(self) -> npt.NDArray[np.int64]:
        """Numbers of the runs that end, the shortest first."""
        order = np.argsort(self.cycles, kind="stable")
        return np.array([run for run in order if run not in self.stopped], np.int64)

    def quartiles(self) -> dict[str, int]:
        """By name of a percentile, the number of the run that has it; empty if none ends."""
        last = len(self.ended) - 1
        at = {name: round(last * share / 100) for name, share in QUARTILES.items()}
        return {name: int(self.ended[place]) for name, place in at.items()} if last >= 0 else {}

    def bins(self, count: int = 12) -> list[tuple[int, int, int]]:
        """How often cycles occur: the least and the most of each bin, and how many runs."""
        found = self.cycles[self.ended]
        if not found.size:
            return []
        low, high = int(found[0]), int(found[-1])
        width = max(1, -(-(high + 1 - low) // count))
        edges = range(low, high + 1, width)
        return [
            (edge, edge + width - 1, int(((edge <= found) & (found < edge + width)).sum()))
            for edge in edges
        ]

    def arrays(self) -> dict[str, Array]:
        """What a file of results holds."""
        ends = np.ones(len(self.cycles), bool)
        ends[[*self.stopped]] = False
        return {"cycles": self.cycles, "read": self.read, "written": self.written, "ends": ends}

    def rows(self) -> list[tuple[str, ...]]:
        """Of a table: a percentile, its run, cycles, and bytes read and written."""
        return [
            (name, str(run), *(f"{a[run]:,}" for a in (self.cycles, self.read, self.written)))
            for name, run in self.quartiles().items()
        ]

    def _repr_html_(self) -> str:
        """How the cycles spread, for notebooks."""
        head = ("", "run", "cycles", "bytes read", "written")
        return notebook(self, "", html_table("cycles of the runs", head, self.rows()))

    def __repr__(self) -> str:
        stops = f", {len(self.stopped)} stop" if self.stopped else ""
        some = self.quartiles()
        spread = ""
        if some:
            low, middle, high = (self.cycles[some[k]] for k in ("least", "median", "most"))
            spread = f": {low:,} to {high:,} cycles, half of them {middle:,} or less"
        return f"<{len(self.cycles)} runs of {self.design.name}{spread}{stops}>"


@called
def time_scenarios(
    source: Source,
    circuit: Circuit,
    timing: Timing,
    *,
    scenarios: Mapping[str, Any],
    jobs: int = 1,
) -> ScenariosResult:
    """Predict the cycles of many runs, as ``stepgen time --scenarios`` does.

    The circuit is made once. What differs from run to run are contents of streams, the memory,
    stalls and depths of FIFOs.

    Parameters
    ----------
    program : Graph, Model or Config
    inputs : mapping of str to object, optional
        Contents of input streams and tensors that are the same in all runs.
    scenarios : mapping of str to array
        Arrays with a row for each run, by name: an input stream; ``latency``, ``interval`` and
        other numbers of `stepgen.commands.options.Timing`; ``seed``; ``stall.NAME``;
        ``depth.CHANNEL``; and ``routing`` or ``lengths`` of a model or a program from a file.
    jobs : int
        Threads that work; processes where Python makes the program of each run, from
        ``routing``, ``lengths`` or ``seed``, or computes what data decide. A script whose runs
        are worked on by processes needs ``if __name__ == "__main__":``.
    lanes, bus_bits, depth, ...
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
        If the program has no circuit, arrays do not fit, or a run needs another circuit. A run that
        deadlocks, stops with an error, or takes more than `max_cycles`, does not raise: see
        `ScenariosResult.stopped`.
    """
    with waiting.progress(quiet=True) as progress:
        return timed(source, circuit, timing, of_arrays(scenarios), Workers(jobs), progress)


def read(path: Path) -> dict[str, Array]:
    """Read scenarios from an ``.npz`` file.

    Raises
    ------
    StepError
        If it can't be read, or holds no arrays with a row for each run.
    """
    none = f"{path} holds no scenarios: it is no .npz file of plain arrays with names"
    found = arrays.read(path, "the scenarios", none)
    if arrays.ALONE in found:
        raise StepError(none)
    return of_arrays(found, str(path))


def of_arrays(given: Mapping[str, Any], where: str = "scenarios") -> dict[str, Array]:
    """Scenarios, checked to have equally many runs.

    Raises
    ------
    StepError
        If it has no arrays, or arrays with different numbers of rows; if settings have other values
        than numbers.
    """
    found = {str(name): _array(str(name), array, where) for name, array in given.items()}
    rows = {name: len(array) if array.ndim else 0 for name, array in found.items()}
    if not rows or not min(rows.values()):
        empty = next((name for name, count in rows.items() if not count), None)
        what = f"{empty} has none" if empty is not None else "it has no array"
        raise StepError(f"{where} needs arrays with a row for each run: {what}")
    (first, count), *others = rows.items()
    for name, other in others:
        if other != count:
            raise StepError(f"{where}: {first} is for {count} runs, and {name} for {other}")
    for name, array in found.items():
        kind, dot, _ = name.partition(".")
        if name in ("seed", *NUMBERS) or (dot and kind == "depth"):
            _check_numbers(where, name, array, "an integer", "iu")
        elif dot and kind == "stall":
            _check_numbers(where, name, array, "a number", "iuf")
    return found


def _array(name: str, given: Any, where: str) -> Array:
    try:
        return np.asarray(given)
    except ValueError:
        raise StepError(f"{where}: the rows of {name} have different shapes") from None


def _check_numbers(where: str, name: str, array: Array, what: str, kinds: str) -> None:
    """Check that a setting has a number for each run: `what`, of these kinds of numpy's types."""
    if array.ndim > 1:
        raise StepError(
            f"{where}: {name} takes {what} for each run, not an array of shape {array.shape[1:]}"
        )
    if array.dtype.kind not in kinds:
        raise StepError(f"{where}: {name} takes {what} for each run, not {array.dtype.name}")
    if not np.isfinite(array).all():
        run = int(np.argmin(np.isfinite(array)))
        raise StepError(f"{where}: {name} takes {what} for each run, not {array[run]} in run {run}")


def timed(
    source: Source,
    circuit: Circuit,
    timing: Timing,
    scenarios: Mapping[str, Array],
    workers: Workers,
    progress: waiting.Progress,
) -> ScenariosResult:
    """Predict all runs; see `time_scenarios`."""
    progress("lowering", 0.0)
    base = _Base(source, circuit, timing)
    base.check([*scenarios])
    count = len(next(iter(scenarios.values())))
    runs = [_of_run(scenarios, run) for run in range(count)]
    token = next(_TOKENS)
    threads = workers.cluster is None and base.is_compiled([*scenarios])
    here = threads or workers == ALONE
    if here:
        _BASES[token] = base
    # Another process that gets several runs at a time gets the program less often.
    several = 1 if here else max(1, min(MOST_AT_A_TIME, count // SHARES))
    items = [
        _Item(token, source, circuit, timing, first, runs[first : first + several])
        for first in range(0, count, several)
    ]
    totals, stopped = np.zeros((3, count), np.int64), dict[int, str]()
    try:
        for done, (number, outcomes) in enumerate(workers.run(_outcomes, items, threads=threads)):
            progress("predicting", done / len(items))
            for run, found in enumerate(outcomes, items[number].first):
                if isinstance(found, str):
                    stopped[run] = found
                else:
                    totals[:, run] = found
    finally:
        _BASES.pop(token, None)
    cycles, read_bytes, written = totals
    why, both = dict(sorted(stopped.items())), (base, scenarios)
    return ScenariosResult(base.program, base.design, cycles, read_bytes, written, why, *both)


def one(
    source: Source,
    circuit: Circuit,
    timing: Timing,
    scenarios: Mapping[str, Array],
    number: int,
    progress: waiting.Progress,
) -> TimeResult:
    """One of the runs, with all that is predicted of it; see `ScenariosResult.run`."""
    progress("lowering", 0.0)
    base = _Base(source, circuit, timing)
    base.check([*scenarios])
    return base.alone(_of_run(scenarios, number), progress)


def _of_run(scenarios: Mapping[str, Array], number: int) -> dict[str, Any]:
    """What a run has of each array."""
    count = len(next(iter(scenarios.values())))
    if not 0 <= number < count:
        raise StepError(f"there is no run {number}: the scenarios have the runs 0 to {count - 1}")
    return {name: array[number] for name, array in scenarios.items()}


@dataclass(frozen=True)
class _Changed:
    """A source with other contents of some streams and tensors."""

    source: Source
    inputs: Mapping[str, Any]

    @property
    def seed(self) -> int:
        return self.source.seed

    def load(self, *, draw: bool = True, tensors: bool = True) -> Program:
        program = self.source.load(draw=draw, tensors=tensors)
        return dataclasses.replace(program, inputs={**program.inputs, **self.inputs})


@dataclass(frozen=True)
class _Item:
    """Runs for a worker, from number `first` on: `token` says which items have one circuit."""

    token: int
    source: Source
    circuit: Circuit
    timing: Timing
    first: int
    runs: Sequence[Mapping[str, Any]]


class _Base:
    """The program and its circuit, which are made once."""

    def __init__(self, source: Source, circuit: Circuit, timing: Timing) -> None:
        self.source, self.circuit, self.timing = source, circuit, timing
        self.program = source.load(tensors=False)
        self.experiment = timing.experiment(self.program, circuit, seed=source.seed)
        self.design = self.experiment.design
        self.tensors = self.experiment.numbers_decide
        if self.tensors:
            self.program = source.load()
        self.text = dumps(self.program.graph, lines=False)
        self._known: dict[str, Beats] | None = None  # of runs that change no inputs
        self._model = lru_cache(MOST_MODELS)(self._with_depths)

    def _with_depths(self, depths: Depths) -> CycleModel:
        """The cycle model of the circuit with depths of some FIFOs."""
        return CycleModel(self.design.with_depths(dict(depths)))

    def check(self, names: Sequence[str]) -> None:
        """Check that all names are those of something that may differ.

        Raises
        ------
        StepError
            For one that is not.
        """
        graph = self.program.graph
        fixed = isinstance(self.source, Given) and isinstance(self.source.made, Graph)
        traces = () if fixed else TRACES
        for name in names:
            kind, _, of = name.partition(".")
            if name in ("seed", *NUMBERS, *traces, *graph.inputs) or (
                of and kind in ("stall", "depth")
            ):
                continue
            if self.tensors and name in graph.tensors:
                continue
            known = [*graph.inputs, *traces, "seed", *NUMBERS, "stall.NAME", "depth.CHANNEL"]
            raise StepError(
                f"scenarios have {name!r}, and of {graph.name} may differ: {', '.join(known)}"
            )

    def is_compiled(self, names: Sequence[str]) -> bool:
        """Whether most of each run is compiled code, which threads run side by side.

        Python makes the program of a run, and a reference computes what data decide.
        """
        if {*names} & {*TRACES, "seed"}:
            return False
        decided = any(unit.params.decides for unit in self.design.units)
        known = {*self.program.graph.inputs, *self.program.graph.tensors}
        return not decided or not (self.experiment.arrivals or known & {*names})

    def run(self, changes: Mapping[str, Any]) -> tuple[int, int, int]:
        """Cycles, and bytes read and written, of a run.

        Raises
        ------
        Deadlock, Fault, TooLong
            If it stops.
        StepError
            If what it is given does not fit the program.
        """
        source = self._source(changes)
        program = self.program if source is self.source else source.load(tensors=self.tensors)
        timing = self._timing(changes)
        if program is not self.program:
            self._check_circuit(program, timing, source.seed)
        names = {*program.graph.inputs, *program.graph.tensors}
        inputs = {key: value for key, value in changes.items() if key in names}
        model = self._model(tuple((name, int(n)) for name, n in _parts(changes, "depth")))
        experiment = dataclasses.replace(
            self.experiment,
            graph=program.graph,
            inputs={**program.inputs, **inputs},
            built=model.design,
            **timing.environment(program, seed=source.seed),
        )
        experiment.model = model
        # What a reference computes of data depends on times only through orders of arrival.
        if program is not self.program or inputs or experiment.arrivals:
            known = settled(experiment)
        else:
            known = self._known = self._known or settled(experiment)
        totals = model.totals(experiment.run_of(known), limit=experiment.max_cycles)
        return (totals.cycles, *experiment.traffic_of(totals))

    def alone(self, changes: Mapping[str, Any], progress: waiting.Progress) -> TimeResult:
        """All of a run, see `ScenariosResult.run`."""
        source, timing = self._source(changes), self._timing(changes)
        program = source.load(tensors=self.tensors)
        self._check_circuit(program, timing, source.seed)
        names = {*program.graph.inputs, *program.graph.tensors}
        changed = _Changed(source, {key: changes[key] for key in changes if key in names})
        depths = {name: int(n) for name, n in _parts(changes, "depth")}
        circuit = dataclasses.replace(self.circuit, depth={**self.circuit.depth, **depths})
        return of_one(changed, changed.load(tensors=False), circuit, timing, progress)

    def _source(self, changes: Mapping[str, Any]) -> Any:
        """The source with traces and seed of a run; the same source if a run has neither."""
        own: dict[str, Any] = {key: changes[key] for key in TRACES if key in changes}
        if "seed" in changes:
            own["seed"] = int(changes["seed"])
        source: Any = self.source
        if not own or isinstance(source, Named):
            return dataclasses.replace(source, **own) if own else source
        return dataclasses.replace(source, drawing=dataclasses.replace(source.drawing, **own))

    def _timing(self, changes: Mapping[str, Any]) -> Timing:
        """The timing with what differs in a run."""
        whole: dict[str, Any] = {key: int(changes[key]) for key in NUMBERS if key in changes}
        stalls = {name: float(share) for name, share in _parts(changes, "stall")}
        return dataclasses.replace(self.timing, **whole, stall={**self.timing.stall, **stalls})

    def _check_circuit(self, program: Program, timing: Timing, seed: int) -> None:
        """Check that a program which was loaded anew has the circuit of all runs."""
        if dumps(program.graph, lines=False) == self.text:
            return
        experiment = timing.experiment(program, self.circuit, seed=seed)
        if experiment.design.hash != self.design.hash:
            raise StepError(
                f"it needs another circuit than the program without scenarios: "
                f"{program.graph.name} makes its shapes from what it is given; give that "
                f"program routing or lengths of the same shape, and a cache that holds all"
            )


def _parts(changes: Mapping[str, Any], kind: str) -> Iterator[tuple[str, Any]]:
    """What is given as ``KIND.NAME``, by its name."""
    for key, value in changes.items():
        before, dot, name = key.partition(".")
        if dot and before == kind:
            yield name, value


_BASES: dict[int, _Base] = {}
"""In each process, the circuits of the runs that it works on."""

_TOKENS = itertools.count()


def _outcomes(item: _Item) -> list[tuple[int, int, int] | str]:
    """What each run gives, or why it stops."""
    if item.token not in _BASES:
        _BASES.clear()
        _BASES[item.token] = _Base(item.source, item.circuit, item.timing)
    base = _BASES[item.token]
    return [_outcome(base, changes, n) for n, changes in enumerate(item.runs, item.first)]


def _outcome(base: _Base, changes: Mapping[str, Any], number: int) -> tuple[int, int, int] | str:
    try:
        return base.run(changes)
    except (Deadlock, Fault, TooLong) as stop:
        return str(stop)
    except StepError as error:
        raise StepError(f"run {number} of the scenarios: {error}") from None
