"""Options that several commands share, and the objects built from them."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stepgen.cli.groups import argument, option
from stepgen.cli.outputs import INPUT, NAME, Output
from stepgen.ir.wire import LANES

if TYPE_CHECKING:
    from collections.abc import Callable

    from stepgen.board.description import Board
    from stepgen.compile.budget import Budget
    from stepgen.cosim.experiment import Experiment
    from stepgen.hw.design.table import Bus, Design
    from stepgen.program.program import Program
    from stepgen.report.timeline import Timeline
    from stepgen.tools.workers import Workers

_circuit = partial(option, section="The circuit")
_memory = partial(option, section="The off-chip memory")
_stalls = partial(option, section="Stalls")


@dataclass(frozen=True)
class ProgramOptions:
    """The program, its parameters and inputs."""

    program: str = argument(
        unless="selftest",
        type=NAME,
        help="path.py:function, the name of a shipped example, a graph saved as .json, a design "
        "folder, which stepgen verilog writes, or a model, which stepgen import writes.",
    )
    settings: Sequence[str] = option(
        "A parameter of the program; repeatable.", "--set", multiple=True, metavar="NAME=VALUE"
    )
    routing: Path | None = option(
        "Experts chosen per token (npz, npy, csv), for a program that takes a routing.",
        type=INPUT,
        metavar="FILE",
    )
    lengths: Path | None = option(
        "Length of each request (npz, npy, csv), for a program that takes lengths.",
        type=INPUT,
        metavar="FILE",
    )
    inputs: Path | None = option(
        "Inputs of the program; missing ones are drawn.", type=INPUT, metavar="FILE.npz"
    )
    imports: Sequence[Path] = option(
        "A Python file of yours whose functions and operators a saved graph has; repeatable.",
        "--import",
        type=INPUT,
        multiple=True,
        metavar="FILE.py",
    )
    seed: int = option("Seed of drawn inputs and of stalls.", default=0, type=click.IntRange(0))
    dims: Sequence[str] = option(
        "Extent of a dynamic dim of drawn inputs; repeatable.",
        "--dim",
        multiple=True,
        metavar="NAME=N",
    )
    transforms: Sequence[str] = option(
        "Transform the program first, as in time_multiplex:regions=8; repeatable.",
        "--transform",
        multiple=True,
        metavar="NAME[:OPTION=VALUE,...]",
    )

    def load(self, *, draw: bool = True, tensors: bool = True) -> Program:
        """Build the program and transform it; see `stepgen.program.program.load`."""
        from stepgen.ir.errors import StepError
        from stepgen.program import program, routing, traces
        from stepgen.program.schedule import transformed
        from stepgen.program.settings import pairs

        loaded = program.load(
            self.program,
            pairs(self.settings, "--set"),
            routing=None if self.routing is None else routing.read(self.routing),
            lengths=None if self.lengths is None else traces.load_lengths(self.lengths),
            inputs=self.inputs,
            imports=self.imports,
            seed=self.seed,
            dims=pairs(self.dims, "--dim"),
            draw=draw,
            tensors=tensors,
        )
        if self.transforms and loaded.design is not None:
            raise StepError(
                f"--transform can't be given: the design in {self.program} is finished; "
                f"{shlex.join(['stepgen', 'show', self.program, '--json'])} prints its program, "
                f"which from a .json file can be transformed"
            )
        return transformed(loaded, self.transforms)

    def outdated(self, loaded: Program) -> str | None:
        """Why the circuit in the design folder is not that of now, and what writes it anew."""
        if loaded.design is None:
            return None
        from stepgen.emit.design_writer import outdated

        why = outdated(Path(self.program), loaded.design)
        if why is None:
            return None
        imports = [word for path in self.imports for word in ("--import", str(path))]
        anew = ["stepgen", "verilog", self.program, "-o", self.program, *imports]
        return f"{why}; {shlex.join(anew)} writes the folder anew"

    def tell_outdated(self, loaded: Program, *, json: bool = False) -> str | None:
        """Print what `outdated` finds on stderr, or return it for JSON's ``outdated``."""
        from stepgen.report import console

        why = self.outdated(loaded)
        if why is not None:
            why = f"results are of the circuits as they are now, but {why}"
            if not json:
                console.warn(why)
        return why


@dataclass(frozen=True)
class HardwareOptions:
    """Parameters of the circuit."""

    lanes: int | None = _circuit(
        "Lanes of a beat; a matrix unit has lanes x lanes multipliers.",
        type=int,
        show_default=str(LANES),
    )
    bus_bits: int | None = _circuit("Data width of the memory port.", type=int, show_default="64")
    burst: int | None = _circuit("Bus words of a burst.", type=int, show_default="16")
    outstanding: int | None = _circuit(
        "Outstanding bursts of the design, at most.", type=int, show_default="8"
    )
    cover: int | None = _circuit(
        "Cycles of the memory's latency that loads cover.", type=int, show_default="16"
    )
    onchip: str | None = _circuit(
        "On-chip memory that the circuit may take, in KiB or as the block RAM of a board; "
        "memories hold less where it is scarce.",
        metavar="KIB|BOARD",
    )
    depths: Sequence[str] = _circuit(
        "Beats that the FIFO of a channel holds; repeatable.",
        "--depth",
        multiple=True,
        metavar="CHANNEL=N",
    )
    no_fuse: bool = _circuit(
        "Make a unit of each element-wise function, also of those that follow each other.",
        is_flag=True,
    )

    def bus(self) -> Bus:
        """The off-chip port."""
        from stepgen.hw.design.table import Bus

        asked = {
            "data_bits": self.bus_bits,
            "burst": self.burst,
            "outstanding": self.outstanding,
            "latency": self.cover,
        }
        return Bus(**{key: number for key, number in asked.items() if number is not None})

    def experiment(self, program: Program, **more: Any) -> Experiment:
        """The program on this circuit; `more` are further arguments of `Experiment`."""
        from stepgen.cosim.experiment import Experiment

        onchip = self.budget()
        depths, lanes = depths_of(self.depths, "beats"), lanes_of(self.lanes, program)
        if program.design is not None:
            self._check(program.design, program.name, depths, onchip)
            return Experiment(program.graph, program.inputs, built=program.design, **more)
        more |= {"bus": self.bus(), "depths": depths, "fuse": not self.no_fuse}
        more |= {"onchip": onchip}
        return Experiment(program.graph, program.inputs, lanes=lanes, **more)

    def budget(self) -> Budget | None:
        """The on-chip memory that there is; None if nothing bounds it."""
        from stepgen.board.description import named, names
        from stepgen.compile.budget import Bits
        from stepgen.ir.errors import StepError

        if self.onchip is None:
            return None
        if self.onchip in (known := names()):
            from stepgen.board.memory import BoardMemory

            return BoardMemory(named(self.onchip))
        try:
            kib = float(self.onchip)
        except ValueError:
            raise StepError(
                f"--onchip takes a number of KiB or a board, {', '.join(known)}, not "
                f"{self.onchip!r}"
            ) from None
        if not 0 < kib < math.inf:
            raise StepError(f"--onchip takes a positive number of KiB, not {kib:g}")
        return Bits(kib)

    def fitting(self, program: Program, board: Board) -> Design:
        """The design; refused if the block RAM of a board does not suffice for it."""
        from stepgen.board.memory import BoardMemory
        from stepgen.compile.system import lowered

        design, memory = self.experiment(program).design, BoardMemory(board)
        memory.check(
            design,
            lambda: lowered(
                program.graph,
                lanes=design.lanes,
                bus=design.bus,
                depths=depths_of(self.depths, "beats"),
                fuse=not self.no_fuse,
                onchip=memory,
            ),
        )
        return design

    def _check(
        self, design: Design, folder: str, depths: dict[str, int], onchip: Budget | None
    ) -> None:
        from stepgen.ir.errors import StepError

        design.with_depths(depths)
        _agree("--bus-bits", self.bus_bits, design.bus.data_bits, folder)
        _agree("--burst", self.burst, design.bus.burst, folder)
        _agree("--outstanding", self.outstanding, design.bus.outstanding, folder)
        _agree("--cover", self.cover, design.bus.latency, folder)
        if onchip is not None and not onchip.holds(design):
            raise StepError(
                f"--onchip can't be {self.onchip}: the design in {folder} is finished, with "
                f"{onchip.design(design):,} {onchip.unit_of} on chip"
            )
        if self.no_fuse and design.fused:
            raise StepError(
                f"--no-fuse can't be given: the design in {folder} is finished, with fused units"
            )
        for name, depth in depths.items():
            _agree(f"--depth {name}", depth, design.channel[name].depth, folder)


def lanes_of(asked: int | None, program: Program) -> int:
    """Lanes of a beat: those of the program's design where it has one, else as asked for.

    Raises
    ------
    StepError
        If others are asked for than the design has, or any for a system, whose parts have them.
    """
    from stepgen.ir.errors import StepError
    from stepgen.ir.system import SystemGraph

    graph = program.graph
    if isinstance(graph, SystemGraph):
        if asked is not None:
            has = ", ".join(f"{part} has {n}" for part, n in graph.lanes.items())
            raise StepError(f"--lanes can't be given: the system {graph.name} says that {has}")
        return max(graph.lanes.values())
    if program.design is not None:
        _agree("--lanes", asked, program.design.lanes, program.name)
        return program.design.lanes
    return LANES if asked is None else asked


def _agree(option: str, asked: int | None, built: int, folder: str) -> None:
    from stepgen.ir.errors import StepError

    if asked not in (None, built):
        raise StepError(
            f"{option} can't be {asked}: the design in {folder} is finished, with {built}"
        )


def depths_of(texts: Sequence[str], what: str, *words: str) -> dict[str, Any]:
    """The values of ``--depth`` by name: numbers of `what`, or one of `words`.

    Raises
    ------
    StepError
        If a value is neither.
    """
    from stepgen.ir.errors import StepError
    from stepgen.program.settings import pairs

    found: dict[str, Any] = {}
    for name, value in pairs(texts, "--depth").items():
        if value in words:
            found[name] = value
            continue
        if not (value.isascii() and value.isdecimal() and len(value) < 20):
            numbers = " or ".join([f"a number of {what}", *words])
            raise StepError(f"--depth {name} takes {numbers}, not {value!r}")
        found[name] = int(value)
    return found


@dataclass(frozen=True)
class LimitOptions:
    """How long a run may take."""

    max_cycles: int | None = option(
        "Abort a run that takes more cycles.", type=click.IntRange(1), metavar="N"
    )

    @property
    def cycles(self) -> int:
        """Cycles of a run, by default the most that the engines can count."""
        from stepgen.timing.drive import MAX_CYCLES, check_limit

        return MAX_CYCLES if self.max_cycles is None else check_limit(self.max_cycles)


@dataclass(frozen=True)
class WorkerOptions:
    """Processes or a cluster, for commands that do many independent things."""

    jobs: int = option("Processes that work.", "-j", "--jobs", type=click.IntRange(1), default=1)
    dask: str | None = option(
        "Scheduler of a Dask cluster that works instead.", metavar="HOST:PORT"
    )

    def workers(self) -> Workers:
        """Processes of this machine, or the cluster."""
        from stepgen.tools.workers import Workers

        return Workers(self.jobs, self.dask)


@dataclass(frozen=True)
class RunOptions(LimitOptions):
    """Timing of memory and ports."""

    latency: int = _memory("Cycles from a read's address to its first word.", default=16)
    interval: int = _memory("Cycles between two words read.", default=1)
    memory_outstanding: int = _memory("Outstanding read bursts that it accepts.", default=16)
    write_latency: int = _memory(
        "Cycles from a burst's last word to its acknowledgement.", default=8
    )
    write_interval: int = _memory("Cycles between two words written.", default=1)
    write_outstanding: int = _memory("Outstanding write bursts that it accepts.", default=16)
    stalls: Sequence[str] = _stalls(
        "Share of cycles in which a port or memory channel (mem.ar, mem.r, mem.aw, mem.w, "
        "mem.b) stalls, from 0 to below 1; all=SHARE for every one; repeatable.",
        "--stall",
        multiple=True,
        metavar="NAME=SHARE",
    )
    early: Sequence[str] = _stalls(
        "An input stream that offers its beats before the start, and the next run's after "
        "its end; repeatable.",
        multiple=True,
        metavar="INPUT",
    )

    def experiment(self, program: Program, hardware: HardwareOptions, *, seed: int) -> Experiment:
        """The program on the circuit, with this memory timing and these stalls."""
        from stepgen.ir.errors import StepError
        from stepgen.ir.memory_timing import MemoryTiming
        from stepgen.ir.stalls import Stalls

        memory = MemoryTiming(
            read_latency=self.latency,
            read_interval=self.interval,
            read_outstanding=self.memory_outstanding,
            write_latency=self.write_latency,
            write_interval=self.write_interval,
            write_outstanding=self.write_outstanding,
        )
        stalls = Stalls(seed, self._shares(program))
        sources = list(program.graph.inputs)
        for name in self.early:
            if name not in sources:
                raise StepError(
                    f"--early {name}: {program.graph.name} has no such input, "
                    f"only {', '.join(sources) or 'none'}"
                )
        return hardware.experiment(
            program,
            memory=memory,
            stalls=stalls,
            early=tuple(self.early),
            max_cycles=self.cycles,
        )

    def _shares(self, program: Program) -> dict[str, float]:
        from stepgen.ir.errors import StepError
        from stepgen.ir.stalls import MEMORY_CHANNELS
        from stepgen.program.settings import pairs

        ports = program.graph.ports
        known = [*ports, *MEMORY_CHANNELS]
        found: dict[str, float] = {}
        for name, text in pairs(self.stalls, "--stall").items():
            try:
                share = float(text)
            except ValueError:
                raise StepError(f"--stall {name} takes a share of cycles, not {text!r}") from None
            if name != "all" and name not in known:
                raise StepError(
                    f"there is nothing called {name!r} to stall, only {', '.join(known)}, or all"
                )
            found |= dict.fromkeys(known if name == "all" else [name], share)
        return found


@dataclass(frozen=True)
class PictureOptions:
    """Pictures of what happens over time."""

    timeline: Path | None = option(
        "Draw the states of units over time.",
        type=Output(".png", ".pdf", ".svg"),
        metavar="FILE.png",
    )
    perfetto: Path | None = option(
        "Write a trace for ui.perfetto.dev.", type=Output(".json"), metavar="FILE.json"
    )

    def write(
        self, drawn: Callable[[], Timeline], traced: Callable[[], Timeline]
    ) -> dict[str, Path | None]:
        """Write what is asked for; where the picture and the trace are, if so."""
        from stepgen.report import timeline
        from stepgen.tools.atomic import atomic_file

        if self.timeline is not None:
            with atomic_file(self.timeline) as place:
                timeline.draw(place, [drawn()])
        if self.perfetto is not None:
            with atomic_file(self.perfetto) as place:
                timeline.perfetto(place, traced())
        return {"timeline": self.timeline, "perfetto": self.perfetto}


json_option = click.option("--json", is_flag=True, help="Print JSON.")
