"""What the file of a board may say; its shape is that of `stepgen.board.tables`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from stepgen.board.tables import MemoryTable, SdramChip, SdramPins, SdramWay
from stepgen.hw.board.chip import TIED
from stepgen.hw.board.family import family
from stepgen.hw.board.mmcm import MmcmFamily
from stepgen.hw.board.protocol import COUNT_BITS
from stepgen.hw.board.uart import LEAST_CYCLES
from stepgen.hw.design.counting import COUNTING
from stepgen.hw.design.ram import Ram
from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError
from stepgen.ir.registry import modules
from stepgen.ir.sdram_timing import ALL_BANKS
from stepgen.synth import toolchains

if TYPE_CHECKING:
    from stepgen.board.description import Board

LEAST_MEMORY = 1024
"""Bytes."""

SPRAM_BYTES = 4 << 15
"""Of the four memories with one port that an iCE40 UltraPlus has."""

MOST_BEATS = 1 << COUNT_BITS - 2
"""Of a ring: its counts say how many beats it holds."""

MOST_OFF = 0.02
"""Of a baud rate, from that of the file."""

HZ = (1_000_000, 1_000_000_000)
"""Of clocks."""

LEAST_BAUD = 300
MOST_ROW_BITS = 16
LONGEST = 1e9
"""Nanoseconds of an SDRAM's times."""

NAME = re.compile(r"\w[\w .,:()+/-]*")
WORD = re.compile(r"[A-Za-z0-9_]+")
PART = re.compile(r"[A-Za-z0-9_-]+")
DEVICE = re.compile(r"[A-Za-z0-9_*?-]+")
PROPERTY = re.compile(r"[A-Za-z0-9_.]+")
USB = re.compile("[0-9a-fA-F]{4}:[0-9a-fA-F]{4}")
KINDS = {
    "block": ("bytes",),
    "spram": ("bytes",),
    "sdram": ("chip", "way", "pins"),
}
"""Of memory, with the keys that each has."""


def check(board: Board, file: str) -> None:
    """Check all values.

    Parameters
    ----------
    board : Board
    file : str
        Its name, for messages.

    Raises
    ------
    StepError
        Which key has which value.
    """
    _Checks(board, file).all()


@dataclass(frozen=True)
class _Checks:
    board: Board
    file: str

    def all(self) -> None:
        self._top()
        self._clock()
        self._link()
        self._memory(self.board.memory)
        beats = self.board.streams.beats
        fits = 2 <= beats <= MOST_BEATS and not beats & beats - 1
        self._must(fits, "streams: beats", f"a power of two from 2 to {MOST_BEATS:,}", beats)
        self._pads()
        self._built()
        said = self.board.counters
        self._must(said in (None, *COUNTING), "counters", " or ".join(COUNTING), said)

    def _must(self, holds: object, key: str, wanted: str, value: Any) -> None:
        if not holds:
            raise StepError(f"{self.file}: {key} must be {wanted}, not {shown(value)}")

    def _match(self, pattern: re.Pattern[str], wanted: str, **texts: str) -> None:
        for key, text in texts.items():
            self._must(pattern.fullmatch(text), key.replace("__", ": "), wanted, text)

    def _raise(self, key: str, error: StepError) -> StepError:
        return StepError(f"{self.file}: {key}: {error}")

    def _top(self) -> None:
        board = self.board
        self._match(PART, "letters, digits, - and _, as is the name of its file", key=board.key)
        self._match(NAME, "a name of letters, digits, spaces and .,:()+/-", name=board.name)
        self._must(board.page.isprintable() and board.page.strip(), "page", "a text", board.page)
        self._match(PART, "the name of a package", package=board.package)
        self._match(WORD, "the name of a standard", standard=board.standard)
        try:
            grades = board.chip.speed_grades
        except StepError as error:
            raise self._raise("part", error) from None
        wanted = f"a grade of {board.part}, {_either(map(str, grades))}"
        self._must(board.speed in grades, "speed", wanted, board.speed)

    def _clock(self) -> None:
        clock = self.board.clock
        for key in ("hz", "design_hz"):
            hz = getattr(clock, key)
            wanted = f"{HZ[0]:,} to {HZ[1]:,}"
            self._must(HZ[0] <= hz <= HZ[1], f"clock: {key}", wanted, hz)
        try:
            _ = self.board.pll
        except StepError as error:
            clocks = f"clock: hz {clock.hz} and design_hz {clock.design_hz}"
            raise self._raise(clocks, error) from None
        pair = isinstance(family(self.board.chip.family), MmcmFamily)
        wanted = "a site, or the two of a differential pair" if pair else "a site"
        count = 1 if isinstance(clock.pin, str) else len(clock.pin)
        self._must(count == 1 or (pair and count == 2), "clock: pin", wanted, clock.pin)

    def _link(self) -> None:
        link, hz = self.board.link, self.board.hz
        made = max(1, round(hz / link.baud)) if link.baud >= LEAST_BAUD else 0
        right = made >= LEAST_CYCLES and abs(hz / made / link.baud - 1) < MOST_OFF
        self._must(
            right,
            "link: baud",
            f"{LEAST_BAUD} or more, and within {MOST_OFF:.0%} of the design's {hz:,} Hz divided by "
            f"a whole number from {LEAST_CYCLES} on",
            link.baud,
        )
        self._match(USB, "like 0403:6015, hexadecimal", link__usb=link.usb)

    def _memory(self, memory: MemoryTable) -> None:
        kind, part = memory.kind, self.board.chip
        self._must(kind in KINDS, "memory: kind", _either(KINDS), kind)
        for key in (item.name for item in fields(memory)):
            there = getattr(memory, key) is not None
            if key != "kind" and there != (key in KINDS[kind]):
                problem = f"can't have {key}" if there else f"lacks {key}"
                raise StepError(f"{self.file}: memory {problem}, as its kind is {kind}")
        if memory.bytes is not None:
            size, power = memory.bytes, f"a power of two from {LEAST_MEMORY:,}"
            fits = size >= LEAST_MEMORY and not size & size - 1
            self._must(fits, "memory: bytes", f"{power} on", size)
            if kind == "spram":
                wanted = f"block, as parts of {part.family} have no SPRAM"
                self._must(part.family == "ice40", "memory: kind", wanted, kind)
                self._must(size <= SPRAM_BYTES, "memory: bytes", f"at most {SPRAM_BYTES:,}", size)
            else:
                takes = family(part.family).blocks.total([Ram(8, size)])
                wanted = f"no more than the {part.block_rams:,} block RAMs of {part.name} hold"
                self._must(takes <= part.block_rams, "memory: bytes", wanted, size)
        if memory.chip is not None and memory.way is not None and memory.pins is not None:
            self._chip(memory.chip)
            self._way(memory.way)
            self._pins(memory.pins, memory.chip)
            try:
                _ = self.board.sdram
            except StepError as error:
                times = f"memory: chip: refi {memory.chip.refi:g}, rp {memory.chip.rp:g}, rfc"
                raise self._raise(f"{times} {memory.chip.rfc:g}", error) from None

    def _chip(self, chip: SdramChip) -> None:
        bounds = {"column_bits": ALL_BANKS, "row_bits": MOST_ROW_BITS, "mrd": MOST_ROW_BITS}
        choices = {"data_bits": (16, 32), "cas": (2, 3)}
        for key, value in asdict(chip).items():
            name = f"memory: chip: {key}"
            if key in choices:
                one, other = choices[key]
                self._must(value in choices[key], name, f"{one} or {other}", value)
            elif key in bounds:
                self._must(1 <= value <= bounds[key], name, f"1 to {bounds[key]}", value)
            else:
                wanted = f"above 0 and at most {LONGEST:g}"
                self._must(0 < value <= LONGEST, name, wanted, value)

    def _way(self, way: SdramWay) -> None:
        for key in ("setup", "hold"):
            value = getattr(way, key)
            wanted = f"0 to {LONGEST:g}"
            self._must(0 <= value <= LONGEST, f"memory: way: {key}", wanted, value)
        least, most = way.round_trip
        self._must(
            0 <= least <= most <= LONGEST,
            "memory: way: round_trip",
            "the earliest and the latest time, 0 or more",
            way.round_trip,
        )
        try:
            _ = self.board.sdram_clock
        except StepError as error:
            times = f"setup {way.setup:g}, hold {way.hold:g}, round_trip {least:g} to {most:g}"
            raise self._raise(f"memory: way: {times}", error) from None

    def _pins(self, pins: SdramPins, chip: SdramChip) -> None:
        counts = {"ba": 2, "a": max(chip.row_bits, ALL_BANKS + 1)}
        counts |= {"dqm": chip.data_bits // 8, "dq": chip.data_bits}
        for key, count in counts.items():
            sites = getattr(pins, key)
            wanted = f"{count} sites"
            if len(sites) != count:
                wanted += f" ({len(sites)} are given)"
            self._must(len(sites) == count, f"memory: pins: {key}", wanted, sites)

    def _pads(self) -> None:
        """Sites, and what is said of pads by their names."""
        board, used = self.board, dict[str, str]()
        for pad, site in board.tied.items():
            self._must(
                re.fullmatch(r"[a-z]\w*", pad, re.ASCII) and pad.rpartition("__")[2] in TIED,
                "a key of tied",
                f"a name that ends in {_either(TIED)}",
                pad,
            )
            key = pad.removeprefix(f"{board.memory.kind}__")
            pins = board.memory.pins
            if pad.startswith("sdram__") and pins is not None and key in pins.sites():
                raise StepError(f"{self.file}: tied: {pad} is among the pins of memory, at {site}")
        for key, site in self._sites():
            self._must(WORD.fullmatch(site), key, "the name of a site", site)
            if site in used:
                raise StepError(f"{self.file}: {key} has the site {site!r}, as has {used[site]}")
            used[site] = key
        pads = board.pins()
        for pad, standard in board.standards.items():
            self._must(pad in pads, "a key of standards", f"one of {', '.join(pads)}", pad)
            self._must(
                WORD.fullmatch(standard), f"standards: {pad}", "the name of a standard", standard
            )

    def _sites(self) -> Iterator[tuple[str, str]]:
        """All sites, and where they stand in the file."""
        board = self.board
        yield from _each("clock: pin", board.clock.pin)
        yield from (("link: rx", board.link.rx), ("link: tx", board.link.tx))
        yield from ((f"led: {key}", site) for key, site in asdict(board.led).items())
        yield from ((f"tied: {pad}", site) for pad, site in board.tied.items())
        if board.memory.pins is not None:
            for key, sites in board.memory.pins.sites().items():
                yield from _each(f"memory: pins: {key}", sites)

    def _built(self) -> None:
        """How bitstreams are made, and get onto the board."""
        board = self.board
        placed, of = board.chip.family in modules(toolchains.__name__), board.chip.family
        if placed and board.vivado is not None:
            raise StepError(f"{self.file} has vivado, but open tools place parts of {of}")
        if not placed and board.vivado is None:
            raise StepError(f"{self.file} lacks vivado, as no open tools place parts of {of}")
        if board.vivado is None and board.program is None:
            raise StepError(f"{self.file} lacks program")
        if board.program is not None:
            for option in board.program.options:
                fits = option.isprintable() and option.strip()
                self._must(fits, "program: options", "texts", option)
            usb = board.program.usb or board.link.usb
            self._match(USB, "like 0403:6015, hexadecimal", program__usb=usb)
        if board.vivado is not None:
            self._match(PART, "the name of a part", vivado__part=board.vivado.part)
            self._match(DEVICE, "the name of a device", vivado__device=board.vivado.device)
            for key, value in board.vivado.design.items():
                wanted = "the name of a property"
                self._must(PROPERTY.fullmatch(key), "a key of vivado: design", wanted, key)
                self._must(PROPERTY.fullmatch(value), f"vivado: design: {key}", "a word", value)


def _either(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def _each(key: str, sites: str | Iterable[str]) -> Iterator[tuple[str, str]]:
    return ((key, site) for site in ([sites] if isinstance(sites, str) else sites))
