"""One program on one design: reference, prediction and co-simulation, compared."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stepgen.compile.budget import Budget
from stepgen.compile.system import lowered
from stepgen.cosim.building import FAST_BUILD
from stepgen.cosim.case import Case, Refusals, write_cases
from stepgen.cosim.contents import Contents
from stepgen.cosim.data_dependent import settled
from stepgen.cosim.driving import check
from stepgen.cosim.payload import Rows, pack
from stepgen.cosim.simulators import Simulator
from stepgen.cosim.verdict import Verdict
from stepgen.cosim.waves import convert, window
from stepgen.emit.interface import StreamPort, interface
from stepgen.hw.design.counting import CHANNELS, counting
from stepgen.hw.design.sharing import USUAL
from stepgen.hw.design.table import Bus, Design
from stepgen.hw.units.axi.params import Axi
from stepgen.ir.arguments import take_fields
from stepgen.ir.dtypes import address
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.lanes import Lanes
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.sdram_timing import SdramTiming
from stepgen.ir.stalls import Stalls
from stepgen.ir.system import SystemGraph
from stepgen.ir.wire import LANES, Beats, check_numbers
from stepgen.semantics import system as systems
from stepgen.semantics.beats import to_beats
from stepgen.semantics.executor import Result
from stepgen.semantics.inputs import given_tokens
from stepgen.timing.design_layout import Run
from stepgen.timing.drive import MAX_CYCLES
from stepgen.timing.model import CycleModel, Fault, Prediction, Totals
from stepgen.tools.waiting import Progress, quiet

if TYPE_CHECKING:
    from stepgen.cosim.icarus import FourState
    from stepgen.cosim.verilator import Simulation

MARGIN = 1000
"""Cycles beyond the prediction after which a simulation is aborted."""

UNPREDICTED_CYCLES = 1_000_000
"""Cycles after which a simulation that nothing predicts is aborted, if no other limit is set."""


@dataclass
class Experiment:
    """A program with inputs, lowered to a design, on a memory of given timing.

    Parameters
    ----------
    graph : Graph
        The program.
    inputs : mapping
        Contents of its input streams and tensors, by name.
    lanes : int or mapping of str to int
        Lanes of a beat, of all operators or by name, see `stepgen.ir.lanes`.
    bus, depths, fuse, onchip, loaders
        As for `stepgen.compile.lower.lower`.
    counters : str or bool
        Which channels are counted, see `stepgen.hw.design.counting`.
    memory : MemoryTiming
        Timing of the off-chip memory.
    stalls : Stalls
        In which cycles ports and memory stall.
    early : tuple of str
        Input streams that offer their beats before the start, and the next run's after their end.
    aborts : tuple of int
        Cycles in which a soft reset aborts a run, before the one that is checked.
    refusals : Refusals
        What the memory answers with an error.
    junk : bool
        Whether empty FIFOs show junk, which no unit may use; they show X where a simulator has it.
    max_cycles : int
        Cycles that a run may take.
    built : Design, optional
        Of the graph that was lowered before: it says lanes, bus and depths, too.
    sdram : SdramTiming, optional
        In place of `memory`, for the prediction of a run on a board.
    stops : bool
        Whether the run is to stop with the error that the cycle model predicts. Then its cycles and
        the error are compared, not values: the reference has none.
    """

    graph: Graph
    inputs: Mapping[str, Any]
    lanes: Lanes = LANES
    bus: Bus = field(default_factory=Bus)
    depths: Mapping[str, int] = field(default_factory=dict)
    fuse: bool = True
    memory: MemoryTiming = field(default_factory=MemoryTiming)
    stalls: Stalls = field(default_factory=Stalls)
    early: tuple[str, ...] = ()
    aborts: tuple[int, ...] = ()
    refusals: Refusals = field(default_factory=Refusals)
    junk: bool = False
    max_cycles: int = MAX_CYCLES
    built: Design | None = None
    sdram: SdramTiming | None = None
    onchip: float | Budget | None = None
    loaders: str = USUAL
    stops: bool = False
    counters: str | bool = CHANNELS

    def __post_init__(self) -> None:
        take_fields(self)
        if isinstance(self.graph, SystemGraph):
            self.lanes = max(self.graph.lanes.values())
        if self.built is not None:
            self.lanes, self.bus = self.built.lanes_of_operators, self.built.bus
            self.depths = {c.name: c.depth for c in self.built.channels}

    @cached_property
    def design(self) -> Design:
        """The design table."""
        if self.built is not None:
            return self.built
        names = ("lanes", "bus", "depths", "fuse", "onchip", "loaders")
        design = lowered(self.graph, **{name: getattr(self, name) for name in names})
        return dataclasses.replace(design, counters=counting(self.counters))

    @cached_property
    def beats(self) -> dict[str, Beats]:
        """Beats of each input port; what pads their rows is drawn."""
        padding = np.random.default_rng(abs(self.stalls.seed))
        for name in self.graph.inputs:
            if name not in self.inputs:
                raise StepError(f"the input {name} of {self.graph.name} was not given")
        return {
            name: to_beats(
                tokens, self.graph.inputs[name].type, self.design.lanes_at(name), name, padding
            )
            for name, tokens in given_tokens(self.graph, self.inputs).items()
        }

    @property
    def numbers_decide(self) -> bool:
        """Whether selectors, flags or addresses are made of data, so that these decide cycles."""
        return any(unit.params.decides for unit in self.design.units)

    @cached_property
    def unpredicted(self) -> str:
        """Why nothing is said of the cycles of the design; empty where they are predicted."""
        names = [u.name for u in self.design.units if u.params.cycle_model() is None]
        if not names:
            return ""
        who = f"unit {names[0]} has" if len(names) == 1 else f"units {', '.join(names)} have"
        return f"cycles and counters are not predicted: {who} no cycle model"

    @cached_property
    def prediction(self) -> Prediction:
        """The cycle model's run.

        Raises
        ------
        StepError
            Where a unit has no cycle model.
        """
        return self.model.predict(self.run_of(self.known), limit=self.max_cycles)

    @cached_property
    def model(self) -> CycleModel:
        """The cycle model of the design, which other runs of it may share."""
        return CycleModel(self.design)

    def run_of(self, known: Mapping[str, Beats]) -> Run:
        """The run of the cycle model with these inputs; see `known`."""
        return Run(known, self.stalls, self.sdram or self.memory, self.early)

    @cached_property
    def fault(self) -> Fault:
        """The error with which the cycle model's run stops; refused if it ends."""
        try:
            cycles = self.prediction.cycles
        except Fault as fault:
            return fault
        raise StepError(
            f"the run of {self.graph.name} is to stop with an error, but it ends after {cycles} "
            f"cycles"
        )

    @cached_property
    def known(self) -> dict[str, Beats]:
        """What the cycle model is given: beats of inputs, and selectors that data decide."""
        return settled(self)

    @property
    def arrivals(self) -> list[str]:
        """Names of the merges in order of arrival."""
        return [unit.name for unit in self.design.units if unit.params.by_arrival]

    @cached_property
    def reference(self) -> Result:
        """The reference's run; merges in order of arrival replay the prediction's choices."""
        arrivals = self.arrivals
        if arrivals and self.unpredicted:
            raise StepError(
                f"{arrivals[0]} takes its inputs in order of arrival, which is unknown to the "
                f"reference: {self.unpredicted}"
            )
        choices = {name: self.prediction.choices.get(name, []) for name in arrivals}
        return systems.run(self.graph, self.inputs, lanes=self.lanes, choices=choices)

    @property
    def answers(self) -> tuple[int, int]:
        """Bus words that the prediction reads, and bursts that it writes."""
        moved, words, bursts = self.prediction.moved, 0, 0
        for bus, params in self.design.rows_of(Axi):
            words = moved(bus.outputs["r"]) if params.reads else 0
            bursts = moved(bus.outputs["b"]) if params.writes else 0
        return words, bursts

    @property
    def error(self) -> int:
        """The error code after the run: that of the memory port, where an answer is an error."""
        refused = (self.refusals.read, self.refusals.write)
        if self.refusals.earlier or not any(
            0 < one <= many for one, many in zip(refused, self.answers, strict=True)
        ):
            return 0
        return 1 + next(k for k, unit in enumerate(self.design.units) if unit.kind == Axi.kind)

    @property
    def traffic(self) -> tuple[int, int]:
        """Bytes that the prediction reads from and writes to the memory, in bus words."""
        return self.traffic_of(self.prediction)

    def traffic_of(self, run: Totals) -> tuple[int, int]:
        """Bytes that a run of the cycle model reads and writes."""
        moved, read, written = run.moved, 0, 0
        for bus, params in self.design.rows_of(Axi):
            read = moved(bus.outputs["r"]) if params.reads else 0
            written = moved(bus.inputs["w"]) if params.writes else 0
        return read * self.bus.bytes, written * self.bus.bytes

    def _payloads(self, port: StreamPort) -> Rows:
        beats = self.reference.beats(port.name, self.design.lanes_at(port.name))
        if port.element == address.name:
            check_numbers(f"output {port.name}", beats.data, port.bits)
        return pack(beats, port)

    def case(self, *, judge: bool = False, four_state: bool = False) -> Case:
        """Inputs and expected results of a co-simulation."""
        design, outside = self.design, interface(self.design)
        memory = Contents(design, self.graph)
        case = Case(
            name=self.graph.name,
            sources={p.name: pack(self.beats[p.name], p) for p in outside.sources},
            memory=memory.image(systems.images(self.graph, self.inputs)),
            timing=self.memory,
            stalls=self.stalls,
            limit=UNPREDICTED_CYCLES if self.max_cycles == MAX_CYCLES else self.max_cycles,
            judge=judge,
            early=self.early,
            aborts=self.aborts,
            refusals=self.refusals,
            junk=self.junk or four_state,
        )
        if self.stops:
            fault = self.fault
            return dataclasses.replace(
                case,
                pushes=fault.stopped.pushes,
                pops=fault.stopped.pops,
                error=fault.code,
                detail=fault.detail,
                stops=True,
                limit=fault.stopped.cycles + MARGIN,
            )
        memory.check_addresses(self.reference)
        reference, shows_x = self.reference, four_state and not judge
        nothing = {name: np.zeros_like(stored) for name, stored in reference.stored.items()}
        case = dataclasses.replace(
            case,
            expected={p.name: self._payloads(p) for p in outside.sinks},
            memory_after=memory.image(reference.images),
            undefined=memory.undefined(self.inputs, nothing) if shows_x else None,
            undefined_after=memory.undefined(self.inputs, reference.stored) if shows_x else None,
        )
        if self.unpredicted:
            return case
        prediction = self.prediction
        read, written = self.traffic
        return dataclasses.replace(
            case,
            pushes=prediction.pushes,
            pops=prediction.pops,
            cycles=prediction.cycles,
            counters=prediction.registers,
            read_beats=read // self.bus.bytes,
            write_beats=written // self.bus.bytes,
            error=self.error,
            limit=prediction.cycles * (20 if judge else 1) + MARGIN,
        )

    def test(
        self,
        folder: Path,
        *,
        driver: str = "cocotb",
        simulator: Simulator = "verilator",
        waveform: Path | None = None,
        waveform_cycles: int | str | None = None,
        waveform_units: Sequence[str] = (),
        opt: str = FAST_BUILD,
        progress: Progress = quiet,
    ) -> Verdict:
        """Simulate the Verilog and compare values, cycles, memory and counters.

        Parameters
        ----------
        folder : Path
            Run folder: test bench, inputs, results, logs.
        driver : str
            One of `stepgen.cosim.driving.DRIVERS`.
        simulator : "verilator" or "icarus"
            Icarus has four states and shows each X in the wrong place; it is slower, and
            has no driver ``cpp``.
        waveform : Path, optional
            File to write: ``.fst``, with units and channels, or ``.vcd``, with all wires.
        waveform_cycles : int or str, optional
            The first N cycles, or ``"A:B"``; by default it covers the entire run.
        waveform_units : sequence of str
            Units in an FST, with the channels that they read and write; by default all.
        opt : str
            One of those of `stepgen.cosim.verilator.build`.
        progress : Progress
            Called with the current step.

        Raises
        ------
        StepError
            Where a tool is missing or fails.
        """
        (verdict,) = simulate(
            [self],
            folder,
            driver=driver,
            simulator=simulator,
            waveform=waveform,
            waveform_cycles=waveform_cycles,
            waveform_units=waveform_units,
            opt=opt,
            progress=progress,
        )
        return verdict


def simulate(
    experiments: Sequence[Experiment],
    folder: Path,
    *,
    driver: str = "cocotb",
    simulator: Simulator = "verilator",
    waveform: Path | None = None,
    waveform_cycles: int | str | None = None,
    waveform_units: Sequence[str] = (),
    opt: str = FAST_BUILD,
    simulation: Simulation | FourState | None = None,
    progress: Progress = quiet,
) -> list[Verdict]:
    """Simulate several experiments on one design: one build, many cases.

    Parameters
    ----------
    experiments : sequence of Experiment
        They may differ in inputs, stalls and the memory's timing, not in their design.
    folder, driver, simulator, waveform, waveform_cycles, waveform_units, opt, progress
        As for `Experiment.test`.
    simulation : Simulation or FourState, optional
        Of the design, that `stepgen.cosim.builds.built` gave before.

    Raises
    ------
    StepError
        Where the designs differ, or a tool is missing or fails.
    """
    from stepgen.cosim.builds import built  # with Amaranth, which takes long to load
    from stepgen.cosim.testbench import run_cocotb
    from stepgen.cosim.verilator import Simulation, run_driver

    check(driver, simulator, opt)
    four_state = simulator == "icarus"
    design = experiments[0].design
    if any(e.design != design for e in experiments):
        raise StepError(f"the experiments on {design.name} are on different designs")
    seen = window(waveform_cycles, waveform_units, design)
    progress("predicting", 0.0)
    cases = [e.case(judge=driver == "judge", four_state=four_state) for e in experiments]
    if seen.first >= (last := max(case.cycles or case.limit for case in cases)):
        nothing = f"a waveform from cycle {seen.first:,} on has nothing"
        raise StepError(f"{nothing}: {design.name} ends by cycle {last:,}")
    if simulation is None:
        simulation = built(
            design,
            simulator=simulator,
            junk=any(case.junk for case in cases),
            trace=waveform is not None,
            opt=opt,
            progress=progress,
        )
    outside, seed = simulation.interface, experiments[0].stalls.seed
    write_cases(folder, outside, cases)
    progress("simulating", 0.0)
    raw = waveform
    if waveform is not None and waveform.suffix == ".fst":
        raw = waveform.with_suffix(".raw.vcd")
    vcd = raw if seen.end is None else None
    if driver == "cpp" and isinstance(simulation, Simulation):
        outcomes = run_driver(simulation, folder, cases=len(cases), vcd=vcd, seed=seed)
    else:
        outcomes = run_cocotb(simulation, folder, vcd=vcd, seed=seed, progress=progress)
    if raw is not None and seen.end is not None:
        # The first run again, aborted early: the waveform of a long run fills disks.
        progress("writing the waveform", 0.0)
        with tempfile.TemporaryDirectory() as place:
            short = dataclasses.replace(cases[0], limit=seen.end)
            write_cases(Path(place), outside, [short])
            if isinstance(simulation, Simulation):
                begin = seen.first if seen.first < outcomes[0].cycles else 0
                run_driver(simulation, Path(place), vcd=raw, vcd_from=begin, seed=seed)
            else:
                run_cocotb(simulation, Path(place), vcd=raw, seed=seed)
    if waveform is not None and raw is not None and raw != waveform:
        progress("writing the waveform", 0.9)
        convert(raw, waveform, design, seen)
        raw.unlink()
    return [
        Verdict(
            outcome,
            None if e.unpredicted else e.fault.stopped if e.stops else e.prediction,
            case.compared(predicted=not e.unpredicted),
            simulation.seconds,
            e.unpredicted,
        )
        for outcome, e, case in zip(outcomes, experiments, cases, strict=True)
    ]
