"""Options that several commands share, and the objects built from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stepgen.cli.outputs import Output
from stepgen.ir.wire import LANES

if TYPE_CHECKING:
    from stepgen.cosim.experiment import Experiment
    from stepgen.hw.design.table import Bus, Design
    from stepgen.program.program import Program

_HARDWARE, _MEMORY, _STALLS = "The circuit", "The off-chip memory", "Stalls"


MaxCycles = Annotated[
    int | None,
    typer.Option(
        "--max-cycles",
        metavar="N",
        min=1,
        help="Abort a run that takes more cycles.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class ProgramOptions:
    """The program, its parameters and inputs."""

    program: Annotated[
        str,
        typer.Argument(
            metavar="PROGRAM",
            help="path.py:function, the name of a shipped example, a graph saved as .json, or a "
            "design folder, which stepgen verilog writes.",
            show_default=False,
        ),
    ]
    settings: Annotated[
        list[str],
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the program; repeatable."),
    ] = field(default_factory=list)
    routing: Annotated[
        Path | None,
        typer.Option(
            "--routing",
            metavar="FILE",
            help="Experts chosen per token (npz, npy, csv), for a program that takes a routing.",
            show_default=False,
        ),
    ] = None
    lengths: Annotated[
        Path | None,
        typer.Option(
            "--lengths",
            metavar="FILE",
            help="Length of each request (npz, npy, csv), for a program that takes lengths.",
            show_default=False,
        ),
    ] = None
    inputs: Annotated[
        Path | None,
        typer.Option(
            "--inputs",
            metavar="FILE.npz",
            help="Inputs of the program; missing ones are drawn.",
            show_default=False,
        ),
    ] = None
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Seed of drawn inputs and of stalls.")
    ] = 0

    def load(self, *, draw: bool = True, tensors: bool = True) -> Program:
        """Build the program; see `stepgen.program.program.load`."""
        from stepgen.program import program, traces
        from stepgen.program.settings import pairs

        return program.load(
            self.program,
            pairs(self.settings, "--set"),
            routing=None if self.routing is None else traces.load_routing(self.routing),
            lengths=None if self.lengths is None else traces.load_lengths(self.lengths),
            inputs=self.inputs,
            seed=self.seed,
            draw=draw,
            tensors=tensors,
        )


@dataclass(frozen=True)
class HardwareOptions:
    """Parameters of the circuit."""

    lanes: Annotated[
        int | None,
        typer.Option(
            "--lanes",
            help="Lanes of a beat; a matrix unit has lanes x lanes multipliers.",
            show_default=str(LANES),
            rich_help_panel=_HARDWARE,
        ),
    ] = None
    bus_bits: Annotated[
        int | None,
        typer.Option(
            "--bus-bits",
            help="Data width of the memory port.",
            show_default="64",
            rich_help_panel=_HARDWARE,
        ),
    ] = None
    burst: Annotated[
        int | None,
        typer.Option(
            "--burst",
            help="Bus words of a burst.",
            show_default="16",
            rich_help_panel=_HARDWARE,
        ),
    ] = None
    outstanding: Annotated[
        int | None,
        typer.Option(
            "--outstanding",
            help="Outstanding bursts of the design, at most.",
            show_default="8",
            rich_help_panel=_HARDWARE,
        ),
    ] = None
    depths: Annotated[
        list[str],
        typer.Option(
            "--depth",
            metavar="CHANNEL=N",
            help="Beats that the FIFO of a channel holds; repeatable.",
            rich_help_panel=_HARDWARE,
        ),
    ] = field(default_factory=list)

    def bus(self) -> Bus:
        """The off-chip port."""
        from stepgen.hw.design.table import Bus

        asked = {
            "data_bits": self.bus_bits,
            "burst": self.burst,
            "outstanding": self.outstanding,
        }
        return Bus(**{key: number for key, number in asked.items() if number is not None})

    def experiment(self, program: Program, **more: Any) -> Experiment:
        """The program on this circuit; `more` are further arguments of `Experiment`."""
        from stepgen.cosim.experiment import Experiment

        depths, lanes = depths_of(self.depths, "beats"), lanes_of(self.lanes, program)
        if program.design is not None:
            self._check(program.design, program.name, depths)
            return Experiment(program.graph, program.inputs, built=program.design, **more)
        bus = self.bus()
        return Experiment(
            program.graph, program.inputs, lanes=lanes, bus=bus, depths=depths, **more
        )

    def _check(self, design: Design, folder: str, depths: dict[str, int]) -> None:
        design.with_depths(depths)
        _agree("--bus-bits", self.bus_bits, design.bus.data_bits, folder)
        _agree("--burst", self.burst, design.bus.burst, folder)
        _agree("--outstanding", self.outstanding, design.bus.outstanding, folder)
        for name, depth in depths.items():
            _agree(f"--depth {name}", depth, design.channel[name].depth, folder)


def lanes_of(asked: int | None, program: Program) -> int:
    """Lanes of a beat: those of the program's design where it has one, else as asked for.

    Raises
    ------
    StepError
        If others are asked for than the design has.
    """
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


def depths_of(texts: list[str], what: str, *words: str) -> dict[str, Any]:
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


def limit_of(max_cycles: int | None) -> int:
    """The value of ``--max-cycles``, by default the most that the engines can count."""
    from stepgen.timing.drive import MAX_CYCLES, check_limit

    return MAX_CYCLES if max_cycles is None else check_limit(max_cycles)


@dataclass(frozen=True)
class RunOptions:
    """Timing of memory and ports."""

    latency: Annotated[
        int,
        typer.Option(
            "--latency",
            help="Cycles from a read's address to its first word.",
            rich_help_panel=_MEMORY,
        ),
    ] = 16
    interval: Annotated[
        int,
        typer.Option("--interval", help="Cycles between two words read.", rich_help_panel=_MEMORY),
    ] = 1
    memory_outstanding: Annotated[
        int,
        typer.Option(
            "--memory-outstanding",
            help="Outstanding read bursts that it accepts.",
            rich_help_panel=_MEMORY,
        ),
    ] = 16
    write_latency: Annotated[
        int,
        typer.Option(
            "--write-latency",
            help="Cycles from a burst's last word to its acknowledgement.",
            rich_help_panel=_MEMORY,
        ),
    ] = 8
    write_interval: Annotated[
        int,
        typer.Option(
            "--write-interval", help="Cycles between two words written.", rich_help_panel=_MEMORY
        ),
    ] = 1
    write_outstanding: Annotated[
        int,
        typer.Option(
            "--write-outstanding",
            help="Outstanding write bursts that it accepts.",
            rich_help_panel=_MEMORY,
        ),
    ] = 16
    stalls: Annotated[
        list[str],
        typer.Option(
            "--stall",
            metavar="NAME=SHARE",
            help="Share of cycles in which a port or memory channel (mem.ar, mem.r, mem.aw, mem.w, "
            "mem.b) stalls, from 0 to below 1; all=SHARE for every one; repeatable.",
            rich_help_panel=_STALLS,
        ),
    ] = field(default_factory=list)
    early: Annotated[
        list[str],
        typer.Option(
            "--early",
            metavar="INPUT",
            help="An input stream that offers its beats before the start, and the next run's after "
            "its end; repeatable.",
            rich_help_panel=_STALLS,
        ),
    ] = field(default_factory=list)
    max_cycles: MaxCycles = None

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
            max_cycles=limit_of(self.max_cycles),
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


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

PICTURES = (".png", ".pdf", ".svg")

Timeline = Annotated[
    Path | None,
    typer.Option(
        "--timeline",
        metavar="FILE.png",
        help="Draw the states of units over time.",
        show_default=False,
    ),
    Output(PICTURES),
]

Perfetto = Annotated[
    Path | None,
    typer.Option(
        "--perfetto",
        metavar="FILE.json",
        help="Write a trace for ui.perfetto.dev.",
        show_default=False,
    ),
    Output((".json",)),
]
