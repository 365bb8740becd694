"""Boards: one file each in ``boards/``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property

from stepgen.board.checking import LEAST_MEMORY, check
from stepgen.board.tables import Clock, Led, LinkTable, MemoryTable, ProgramTable, Streams, Vivado
from stepgen.hw.board.chip import CLOCK
from stepgen.hw.board.family import Pll, family
from stepgen.hw.board.top import Surroundings
from stepgen.hw.board.uart import LEAST_CYCLES
from stepgen.hw.design.counting import counting
from stepgen.hw.design.table import Design
from stepgen.hw.units.axi.params import Axi
from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError
from stepgen.ir.records import record
from stepgen.ir.sdram_clock import SdramClock, sdram_clock
from stepgen.ir.sdram_timing import SdramTiming
from stepgen.synth.part import Part
from stepgen.synth.part import named as part_named
from stepgen.tools.shipped import settings, shipped


@dataclass(frozen=True)
class Board:
    """A board.

    Attributes
    ----------
    key : str
        Name of its file.
    name : str
        In full.
    part : str
        A file in ``boards/parts/``.
    package : str
        As place and route calls it.
    speed : int
        Grade of the part.
    page : str
        Where it is described.
    standard : str
        Electrical, of its pins.
    clock, link, memory, streams, led : dataclass
        Tables of the file, see `stepgen.board.tables`.
    program : Program or None
        None of a board with `vivado`.
    counters : str or None
        Which channels are counted where nobody says, see `stepgen.hw.design.counting`; by default
        those of the design.
    standards : dict of str to str
        Of pads that have another one.
    tied : dict of str to str
        Pins that never change, see `stepgen.hw.board.chip.TIED`.
    vivado : Vivado or None
        Of a board whose bitstreams only Vivado makes.
    """

    key: str
    name: str
    part: str
    package: str
    speed: int
    page: str
    standard: str
    clock: Clock
    link: LinkTable
    memory: MemoryTable
    streams: Streams
    led: Led
    program: ProgramTable | None = None
    counters: str | None = None
    standards: dict[str, str] = field(default_factory=dict)
    tied: dict[str, str] = field(default_factory=dict)
    vivado: Vivado | None = None

    @cached_property
    def chip(self) -> Part:
        """Its part, in the board's package."""
        return replace(part_named(self.part), package=self.package)

    @cached_property
    def pll(self) -> Pll:
        """How the clock of the design is made of the board's."""
        return family(self.chip.family).pll(self.clock.hz, self.clock.design_hz)

    @property
    def hz(self) -> int:
        """Clock of the design: what the PLL can make, at most what the file asks for."""
        return int(self.pll.hz)

    @property
    def bit_cycles(self) -> int:
        """Clock cycles of a bit on the link."""
        return round(self.hz / self.link.baud)

    def pins(self, *, memory: bool = True) -> dict[str, list[str]]:
        """Sites of all pads by their names: those of the top's ports, and the clock.

        Without `memory` a design uses none of the memory's.
        """
        found = {CLOCK: self.clock.pin, "rx": self.link.rx, "tx": self.link.tx}
        found |= asdict(self.led) | self.tied
        if memory and self.memory.pins is not None:
            kind = self.memory.kind
            found |= {f"{kind}__{port}": at for port, at in self.memory.pins.sites().items()}
        return {pad: [pins] if isinstance(pins, str) else list(pins) for pad, pins in found.items()}

    def standards_of(self, pads: Iterable[str]) -> dict[str, str]:
        """Electrical standards of some pads."""
        return {pad: self.standards.get(pad, self.standard) for pad in pads}

    def at(self, hz: int) -> Board:
        """The same board with another clock for designs.

        Raises
        ------
        StepError
            If its PLL can't make one that is as slow.
        """
        board = replace(self, clock=replace(self.clock, design_hz=hz))
        return replace(board, clock=replace(self.clock, design_hz=board.hz))

    @property
    def sdram_clock(self) -> SdramClock | None:
        """How the clock of its SDRAM lies to the design's; None if the memory is block RAM.

        Raises
        ------
        StepError
            If the clock of the design leaves the SDRAM's pins no time.
        """
        if self.memory.way is None:
            return None
        steps = family(self.chip.family).steps(self.pll)
        return sdram_clock(float(self.pll.hz), steps, asdict(self.memory.way))

    @property
    def sdram(self) -> SdramTiming | None:
        """The timing of its SDRAM at the design's clock; None if the memory is block RAM."""
        clock = self.sdram_clock
        if clock is None or self.memory.chip is None:
            return None
        return SdramTiming.at(self.hz, asdict(self.memory.chip), clock.late)

    @property
    def memory_bytes(self) -> int:
        """Bytes for tensors."""
        return self.memory.bytes or 0 if self.sdram is None else self.sdram.bytes

    def around(self, design: Design, *, simulated: bool = False) -> Surroundings:
        """What stands around a design on this board.

        Where that is simulated, the link has the shortest bits: each cycle of it takes time.

        Raises
        ------
        StepError
            If the board has too little memory for the design, or its link can't reach it.
        """
        bus, words, sdram = design.bus, 0, self.sdram
        if next(design.of_kind(Axi), None) is not None:
            if bus.data_bits < 32:
                raise StepError(
                    f"{design.name} has a memory bus of {bus.data_bits} bits, but on a board the "
                    f"host reads and writes words of 32: give --bus-bits 32 or more"
                )
            end, size = extent(design)
            held = self.memory_bytes
            if size > held:
                enough = [n for n, other in boards().items() if other.memory_bytes >= size]
                same = [n for n in enough if named(n).chip == self.chip] or enough
                raise StepError(
                    f"the tensors of {design.name} end at {end:,} bytes, but {self.name} has "
                    f"{held:,} bytes of memory for them; enough has "
                    f"{', '.join(same) or 'no board'}"
                )
            if sdram is not None:
                sdram.check(bus.data_bits, bus.burst)
                size = held
            words = size // bus.bytes
        return Surroundings(
            clock=self.hz,
            bit_cycles=LEAST_CYCLES if simulated else self.bit_cycles,
            memory_words=words,
            beats=self.streams.beats,
            sdram=sdram if words else None,
            single_port=self.memory.kind == "spram",
        )

    def counted(self, design: Design, counters: str | bool | None = None) -> Design:
        """The design with the counters that are asked for, or that the board's file says."""
        asked = self.counters if counters is None else counters
        return design if asked is None else replace(design, counters=counting(asked))


def extent(design: Design) -> tuple[int, int]:
    """Where the tensors of a design end, and the size of a memory in block RAM that holds them."""
    end = max((region.end for region in design.regions.values()), default=0)
    return end, max(LEAST_MEMORY, 1 << (end - 1).bit_length())


def names() -> list[str]:
    """Names of all boards."""
    return sorted(path.stem for path in shipped("boards").glob("*.toml"))


def boards() -> dict[str, Board]:
    """All boards by the names of their files.

    Raises
    ------
    StepError
        What is wrong in which file.
    """
    return {name: _read(name) for name in names()}


def named(name: str) -> Board:
    """A board.

    Raises
    ------
    StepError
        If there is no board of this name, or its file is wrong.
    """
    if name not in (known := names()):
        raise StepError(f"there is no board {name!r}, only {', '.join(known)}")
    return _read(name)


def _read(name: str) -> Board:
    file = f"boards/{name}.toml"
    data = settings(shipped(file), file)
    known = [item.name for item in fields(Board) if item.name != "key"]  # that is the file's name
    for key in data:
        if key not in known:
            raise StepError(f"{file} has no field {shown(key)}, it has {', '.join(known)}")
    board = record({"key": name, **data}, Board, file)
    check(board, file)
    return board
