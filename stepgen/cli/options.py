"""Options that several commands share, and the objects built from them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stepgen.cli.groups import argument, option
from stepgen.cli.lanes_option import LANES_OPTION
from stepgen.cli.outputs import INPUT, NAME, Output
from stepgen.commands.options import Circuit, Limit, Timing
from stepgen.hw.design.counting import CHANNELS, COUNTING, NONE
from stepgen.hw.design.sharing import LOADERS, USUAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from stepgen.commands.named import Named
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
    config: str | None = option(
        "Settings from a file, stepgen.toml beside the program: those of this name, which options "
        "given here replace.",
        metavar="NAME|FILE.toml[:NAME]",
    )
    settings: Sequence[str] = option(
        "A parameter of the program; repeatable.", "--set", pairs=True, metavar="NAME=VALUE"
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
        pairs=True,
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
        return self.named().load(draw=draw, tensors=tensors)

    def named(self) -> Named:
        """The program by value."""
        from stepgen.commands.named import Named
        from stepgen.program.settings import pairs

        return Named(
            program=self.program,
            settings=pairs(self.settings, "--set"),
            routing=self.routing,
            lengths=self.lengths,
            inputs=self.inputs,
            imports=self.imports,
            seed=self.seed,
            dims=pairs(self.dims, "--dim"),
            transforms=self.transforms,
        )

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

    def warn_outdated(self, loaded: Program, *, json: bool = False) -> str | None:
        """Print what `outdated` finds on stderr, or return it for JSON's ``outdated``."""
        why = self.outdated(loaded)
        if why is not None:
            why = f"results are of the circuits as they are now, but {why}"
            if not json:
                from stepgen.report import console

                console.warn(why)
        return why


@dataclass(frozen=True)
class HardwareOptions:
    """Parameters of the circuit."""

    lanes: int | str | None = _circuit(
        "Lanes of a beat, also of single operators or functions, as in 2,matmul=8; a matrix unit "
        "has lanes x lanes multipliers.",
        **LANES_OPTION,
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
        pairs=True,
        metavar="CHANNEL=N",
    )
    no_fuse: bool = _circuit(
        "Make a unit of each element-wise function, also of those that follow each other.",
        is_flag=True,
    )
    loaders: str | None = _circuit(
        "Whether loads of weights of one shape share loaders, or each is a unit of its own.",
        type=click.Choice(LOADERS),
        show_default=USUAL,
    )
    counters: str | None = _circuit(
        "Channels whose cycles are counted: the first output of each unit, all, or none; without "
        "a value all, as by default where no board's file says otherwise.",
        type=click.Choice(COUNTING),
        is_flag=False,
        flag_value=CHANNELS,
    )
    no_counters: bool = _circuit("The same as --counters none.", is_flag=True)

    def circuit(self) -> Circuit:
        """The circuit by value."""
        from stepgen.ir.lanes import lanes_from

        others = ("lanes", "depths", "counters", "no_counters")
        asked = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in others}
        counters = NONE if self.no_counters else self.counters
        lanes = None if self.lanes is None else lanes_from(str(self.lanes))
        depth = depths_of(self.depths, "beats")
        return Circuit(**asked, lanes=lanes, counters=counters, depth=depth)


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
        return Limit(max_cycles=self.max_cycles).cycles


@dataclass(frozen=True)
class WorkerOptions:
    """Processes or a cluster, for commands that do many independent things."""

    jobs: int = option(
        "Processes or threads that work.", "-j", "--jobs", type=click.IntRange(1), default=1
    )
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

    latency: int = _memory(
        "Cycles from a read's address to its first word.", default=Timing.latency
    )
    interval: int = _memory("Cycles between two words read.", default=Timing.interval)
    memory_outstanding: int = _memory(
        "Outstanding read bursts that it accepts.", default=Timing.memory_outstanding
    )
    write_latency: int = _memory(
        "Cycles from a burst's last word to its acknowledgement.", default=Timing.write_latency
    )
    write_interval: int = _memory(
        "Cycles between two words written.", default=Timing.write_interval
    )
    write_outstanding: int = _memory(
        "Outstanding write bursts that it accepts.", default=Timing.write_outstanding
    )
    stalls: Sequence[str] = _stalls(
        "Share of cycles in which a port or memory channel (mem.ar, mem.r, mem.aw, mem.w, "
        "mem.b) stalls, from 0 to below 1; all=SHARE for every one; repeatable.",
        "--stall",
        pairs=True,
        metavar="NAME=SHARE",
    )
    early: Sequence[str] = _stalls(
        "An input stream that offers its beats before the start, and the next run's after "
        "its end; repeatable.",
        multiple=True,
        metavar="INPUT",
    )

    def timing(self) -> Timing:
        """The timing by value."""
        from stepgen.ir.errors import StepError
        from stepgen.program.settings import pairs

        shares = {}
        for name, text in pairs(self.stalls, "--stall").items():
            try:
                shares[name] = float(text)
            except ValueError:
                raise StepError(f"--stall {name} takes a share of cycles, not {text!r}") from None
        asked = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "stalls"}
        return Timing(**asked, stall=shares)


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
