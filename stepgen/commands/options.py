"""Options that several commands share, by value: the circuit, the memory, stalls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from stepgen.hw.design.counting import CHANNELS, counting
from stepgen.hw.design.sharing import OWN, SHARED, USUAL
from stepgen.ir.errors import StepError
from stepgen.ir.lanes import Lanes, lanes_by_node, usual_lanes
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.wire import LANES
from stepgen.tools.waiting import Progress, quiet

if TYPE_CHECKING:
    from stepgen.board.description import Board
    from stepgen.compile.budget import Budget
    from stepgen.cosim.experiment import Experiment
    from stepgen.hw.design.table import Bus, Design
    from stepgen.program.program import Program

MACHINE = "sda"
"""The default machine of ``stepgen simulate``."""

BUILD, TEST = "build", "build/test"
"""Default folders for results of ``stepgen verilog`` and of ``stepgen test``."""


SLOWER = 5.0
"""Per cent by which a run may be longer than the fastest, where nothing bounds the circuit."""


@dataclass(frozen=True, kw_only=True)
class Circuit:
    """Parameters of the circuit.

    Attributes
    ----------
    lanes : int or mapping of str to int, optional
        Lanes of a beat, of all operators or by name, see `stepgen.ir.lanes`; by default
        `stepgen.ir.wire.LANES`.
    bus_bits, burst, outstanding, cover : int, optional
        Of the memory port: data width, words of a burst, bursts under way at most, and cycles of
        the memory's latency that loads cover.
    onchip : str or float, optional
        On-chip memory that the circuit may take, in KiB or as the block RAM of a board.
    depth : mapping of str to int
        Beats that the FIFO of a channel holds.
    no_fuse : bool
        Make a unit of each element-wise function, also of those that follow each other.
    loaders : str, optional
        ``"shared"`` if loads of weights of one shape share loaders, ``"own"`` if each is a unit of
        its own; by default `stepgen.hw.design.sharing.USUAL`.
    counters : str or bool, optional
        Channels that are counted: ``"none"``, ``"units"``, the first output of each unit, or
        ``"channels"``, all; true and false stand for the last and the first. By default what a
        design folder or the file of a board says, else all.
    """

    lanes: Lanes | None = None
    bus_bits: int | None = None
    burst: int | None = None
    outstanding: int | None = None
    cover: int | None = None
    onchip: str | float | None = None
    depth: Mapping[str, int] = field(default_factory=dict)
    no_fuse: bool = False
    loaders: str | None = None
    counters: str | bool | None = None

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
        from stepgen.hw.units.loader.params import Loader

        onchip, lanes = self.budget(), lanes_of(self.lanes, program)
        if program.design is not None:
            self._check(program.design, program.name, onchip)
            built = self._counted(program.design)
            return Experiment(program.graph, program.inputs, built=built, **more)
        more |= {"bus": self.bus(), "depths": dict(self.depth), "fuse": not self.no_fuse}
        more |= {"loaders": USUAL if self.loaders is None else self.loaders}
        more |= {"onchip": onchip, "counters": CHANNELS if self.counters is None else self.counters}
        made = Experiment(program.graph, program.inputs, lanes=lanes, **more)
        if self.loaders == SHARED and not any(made.design.of_kind(Loader)):
            from stepgen.compile.loaders import unshared_in

            why = unshared_in(made.design)
            raise StepError(f"--loaders shared changes nothing in {program.name}: {why}")
        return made

    def _counted(self, design: Design) -> Design:
        return (
            design if self.counters is None else replace(design, counters=counting(self.counters))
        )

    def budget(self) -> Budget | None:
        """The on-chip memory that there is; None if nothing bounds it."""
        if self.onchip is None:
            return None
        from stepgen.board.description import (  # with Amaranth, which takes long to load
            named,
            names,
        )
        from stepgen.compile.budget import Bits

        if self.onchip in (known := names()):
            from stepgen.board.memory import BoardMemory

            return BoardMemory(named(str(self.onchip)), self.counters)
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

    def fitting(self, program: Program, board: Board, *, progress: Progress = quiet) -> Design:
        """The design; refused if the block RAM of a board does not suffice for it."""
        from stepgen.board.memory import BoardMemory
        from stepgen.compile.system import lowered

        design = board.counted(self.experiment(program).design, self.counters)
        memory = BoardMemory(board, self.counters)
        memory.check(
            design,
            lambda: lowered(
                program.graph,
                lanes=design.lanes_of_operators,
                bus=design.bus,
                depths=dict(self.depth),
                fuse=not self.no_fuse,
                onchip=memory,
                loaders=USUAL if self.loaders is None else self.loaders,
            ),
            progress,
        )
        return design

    def _check(self, design: Design, folder: str, onchip: Budget | None) -> None:
        design.with_depths(self.depth)
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
        if self.loaders not in (None, built := SHARED if _shares(design) else OWN):
            raise StepError(
                f"--loaders can't be {self.loaders}: the design in {folder} is finished, with "
                f"{built} loaders"
            )
        for name, depth in self.depth.items():
            _agree(f"--depth {name}", depth, design.channel[name].depth, folder)


def _shares(design: Design) -> bool:
    """Whether loads share loaders."""
    from stepgen.hw.units.loader.params import Loader

    return any(design.of_kind(Loader))


def lanes_of(asked: Lanes | None, program: Program) -> Lanes:
    """Lanes of a beat: those of the program's design where it has one, else as asked for.

    Raises
    ------
    StepError
        If others are asked for than the design has, or any for a system, whose parts have them.
    """
    from stepgen.ir.system import SystemGraph

    graph = program.graph
    if isinstance(graph, SystemGraph):
        if asked is not None:
            has = ", ".join(f"{part} has {n}" for part, n in graph.lanes.items())
            raise StepError(f"--lanes can't be given: the system {graph.name} says that {has}")
        return max(graph.lanes.values())
    if program.design is not None:
        built = program.design.lanes_of_operators
        if asked is not None:
            _agree("--lanes", usual_lanes(asked), usual_lanes(built), program.name)
            wanted = lanes_by_node(graph, asked)
            for node, lanes in lanes_by_node(graph, built).items():
                _agree(f"--lanes {node}", wanted[node], lanes, program.name)
        return built
    return LANES if asked is None else asked


def _agree(option: str, asked: int | None, built: int, folder: str) -> None:
    if asked not in (None, built):
        raise StepError(
            f"{option} can't be {asked}: the design in {folder} is finished, with {built}"
        )


@dataclass(frozen=True, kw_only=True)
class Limit:
    """How long a run may take.

    Attributes
    ----------
    max_cycles : int, optional
        Abort a run that takes more cycles.
    """

    max_cycles: int | None = None

    @property
    def cycles(self) -> int:
        """Cycles of a run, by default the most that the engines can count."""
        from stepgen.timing.drive import MAX_CYCLES, check_limit

        return MAX_CYCLES if self.max_cycles is None else check_limit(self.max_cycles)


@dataclass(frozen=True, kw_only=True)
class Timing(Limit):
    """Timing of memory and ports.

    Attributes
    ----------
    latency, write_latency : int
        Cycles from a read's address to its first word, and from a burst's last word to its
        acknowledgement.
    interval, write_interval : int
        Cycles between two words.
    memory_outstanding, write_outstanding : int
        Bursts that the memory accepts at a time.
    stall : mapping of str to float
        Share of cycles, from 0 to below 1, in which a port or memory channel stalls; ``"all"``
        means every one.
    early : sequence of str
        Input streams that offer their beats before the start, and the next run's after its end.
    """

    latency: int = MemoryTiming.read_latency
    interval: int = MemoryTiming.read_interval
    memory_outstanding: int = MemoryTiming.read_outstanding
    write_latency: int = MemoryTiming.write_latency
    write_interval: int = MemoryTiming.write_interval
    write_outstanding: int = MemoryTiming.write_outstanding
    stall: Mapping[str, float] = field(default_factory=dict)
    early: Sequence[str] = ()

    def experiment(self, program: Program, circuit: Circuit, *, seed: int) -> Experiment:
        """The program on the circuit, with this memory timing and these stalls."""
        return circuit.experiment(program, **self.environment(program, seed=seed))

    def environment(self, program: Program, *, seed: int) -> dict[str, Any]:
        """Arguments of `Experiment`: memory, stalls, early streams and the limit of cycles."""
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
        return {
            "memory": memory,
            "stalls": stalls,
            "early": tuple(self.early),
            "max_cycles": self.cycles,
        }

    def _shares(self, program: Program) -> dict[str, float]:
        from stepgen.ir.stalls import MEMORY_CHANNELS

        known = [*program.graph.ports, *MEMORY_CHANNELS]
        found: dict[str, float] = {}
        for name, share in self.stall.items():
            if name != "all" and name not in known:
                raise StepError(
                    f"there is nothing called {name!r} to stall, only {', '.join(known)}, or all"
                )
            found |= dict.fromkeys(known if name == "all" else [name], share)
        return found


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What the circuit has to be.

    Attributes
    ----------
    slower : float, optional
        Per cent by which the run may be longer than the fastest that fits; by default 5, or 0 with
        `fit`.
    fit : int or str, optional
        LUTs that there are, or a board and a share of its LUTs: ``"BOARD:PERCENT%"``. Of a board
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

    @cached_property
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
        from stepgen.board.description import (  # with Amaranth, which takes long
            boards,
            named,
            names,
        )
        from stepgen.synth.toolchain import FAMILY

        if name not in names():
            known = [own for own, board in boards().items() if board.chip.family == FAMILY]
            raise StepError(
                f"--fit takes a number of LUTs or a board, {', '.join(known)}, as in "
                f"ulx3s-85f:70%, not {str(self.fit)!r}"
            )
        board = named(name)
        if board.chip.family != FAMILY:
            raise StepError(
                f"--fit can't take the board {name}: LUTs are estimated for an ECP5, and it has "
                f"another FPGA, {board.chip.name}; give a number of LUTs"
            )
        return board

    @cached_property
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
            return {"lut": luts}
        chip, share = self.board.chip, _share(str(self.fit).partition(":")[2])
        return {
            "lut": round(chip.luts * share / 100),
            "ff": chip.ffs or chip.luts,
            "multiplier": chip.multipliers,
            "block_ram": chip.block_rams,
        }


def _number(text: str) -> int | None:
    """A whole number, also with commas."""
    plain = text.replace(",", "")
    return int(plain) if plain.isascii() and plain.isdecimal() and len(plain) < 20 else None


def _share(text: str) -> float:
    """A number of per cent, 100 if there is none."""
    try:
        found = float(text.removesuffix("%")) if text else 100.0
    except ValueError:
        found = 0.0
    if not 0 < found <= 100:
        raise StepError(f"the share of a board's LUTs is above 0 and up to 100 %, not {text!r}")
    return found
