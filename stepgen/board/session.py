"""Runs of a design behind a link: load, start, exchange beats, read back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..cosim.case import Case
from ..cosim.payload import Rows
from ..cosim.scoreboard import Outcome, faults_of, register_addresses
from ..emit.interface import Interface, StreamPort
from ..emit.windows import Windows, windows_of
from ..hw.board.buffers import places
from ..hw.board.protocol import (
    COUNT_BITS,
    COUNT_WORDS,
    IDENTITY_WORDS,
    MAGIC,
    STREAM_BITS,
    VERSION,
    WORD,
    Count,
    Identity,
    Space,
)
from ..hw.board.top import Surroundings
from ..hw.design.registers import (
    CONTROL,
    CYCLES,
    DONE,
    RUNNING,
    SOFT_RESET,
    START,
    STATUS,
    STOPPING,
)
from ..hw.design.table import Design
from ..tools.waiting import Progress, quiet
from .link import Link, LinkError

Preload = Callable[[Sequence[tuple[int, int]], Rows], None]
"""Writes windows of the memory past the link."""

PAUSE = 0.02
"""Seconds between looks at a run that moves nothing."""

QUIET = 1.0
"""Seconds in which nothing moves before a run of unknown length is given up, at least."""

GAP = 8
"""Words that are alike and yet written: a request costs as much."""

SHARE = 2048
"""Words of memory after which progress is told."""

LOOKS = 1000
"""How often the end of an abort is looked for."""


@dataclass
class _Port:
    """A port and what went through its buffer."""

    port: StreamPort
    number: int
    beats: Rows
    moved: int = 0

    @property
    def words(self) -> int:
        """Of a beat in the buffer."""
        return int(places(self.port.width))


@dataclass
class Session:
    """A design on a board that has been identified.

    Parameters
    ----------
    link : Link
    design : Design
    around : Surroundings
        What the board's bitstream was made from, with the design.
    interface : Interface
        Of the design.
    preload : callable, optional
        Writes windows of the memory past the link.

    Attributes
    ----------
    reached : array of bool
        By word of the memory's windows, whether the design reaches it: gaps between tensors are
        neither written nor read back.

    Raises
    ------
    LinkError
        If the board holds something else.
    """

    link: Link
    design: Design
    around: Surroundings
    interface: Interface
    preload: Preload | None = None
    _numbers: dict[str, int] = field(init=False)
    reached: npt.NDArray[np.bool_] = field(init=False)
    _known: Rows | None = None

    def __post_init__(self) -> None:
        self._numbers = {port.name: k for k, port in enumerate(self.interface.ports)}
        self.reached = _reached(self.design, self.interface)
        words = self.link.read(Space.IDENTITY, 0, IDENTITY_WORDS)
        where = f"the board at {self.link.wire.name}"
        if words[Identity.MAGIC] != MAGIC or words[Identity.VERSION] != VERSION:
            raise LinkError(
                f"{where} holds no design of this version of stepgen: it says "
                f"{words[Identity.MAGIC]:#x}, version {words[Identity.VERSION]}"
            )
        seen = b"".join(w.to_bytes(WORD, "little") for w in words[Identity.HASH :])
        wanted = self.around.digest(self.design)
        if seen != wanted:
            raise LinkError(
                f"{where} holds another design than {self.design.name}: its hash begins with "
                f"{seen.hex()[:8]}, not {wanted.hex()[:8]}; program it anew"
            )

    @property
    def read_bytes(self) -> int:
        """Bytes of memory that a run reads back."""
        return WORD * int(self.reached.sum())

    def perform(self, case: Case, *, progress: Progress = quiet) -> Outcome:
        """One run, compared with what is expected of it.

        Parameters
        ----------
        case : Case
            Without stalls, early ports or aborts.
        progress : Progress
        """
        self.reset()
        self._load(case, progress)
        sources = [self._port(p, case.sources[p.name]) for p in self.interface.sources]
        sinks = [
            self._port(p, np.zeros((0, p.payload_bytes), np.uint8)) for p in self.interface.sinks
        ]
        for port in sources:
            self._feed(port)
        begun = time.monotonic()
        self._write_register(CONTROL.offset, START.mask)
        progress("running", 0.0)
        status = self._follow(case, sources, sinks)
        seconds = time.monotonic() - begun
        registers = self._registers()
        low, high = (registers[offset] for offset in CYCLES.offsets)
        outcome = Outcome(
            case,
            status,
            low | high << 32,
            seconds,
            {port.port.name: port.beats for port in sinks},
            None,
            # A run that does not end keeps the memory.
            self._memory(case, progress) if status == "done" else None,
            None,
            registers,
        )
        # A copy: what a run has given is the user's, to change as well.
        self._known = None if outcome.memory is None else outcome.memory.copy()
        outcome.faults.extend(text for _, text in faults_of(outcome, self.interface))
        if status != "done":
            self.reset()
        return outcome

    def reset(self) -> None:
        """Abort what may be running, and empty the buffers of all ports.

        Raises
        ------
        LinkError
            If the run does not end.
        """
        self._write_register(CONTROL.offset, SOFT_RESET.mask)
        for _ in range(LOOKS):
            if not self._status() & (RUNNING.mask | STOPPING.mask):
                break
        else:
            raise LinkError(
                f"the design on the board at {self.link.wire.name} does not stop: switch it off"
            )
        for number in self._numbers.values():
            self.link.write(Space.COUNTS, COUNT_WORDS * number + Count.MOVED, [0])

    def exact(self, case: Case) -> bool:
        """Whether all beats of a run fit the buffers, so that no host makes it wait."""
        most = max(map(len, [*case.sources.values(), *case.expected.values()]), default=0)
        return most < self.around.beats

    def _port(self, port: StreamPort, beats: Rows) -> _Port:
        return _Port(port, self._numbers[port.name], beats)

    def _write_register(self, offset: int, value: int) -> None:
        self.link.write(Space.REGISTERS, offset // WORD, [value])

    def _status(self) -> int:
        return self.link.read(Space.REGISTERS, STATUS.offset // WORD, 1)[0]

    def _load(self, case: Case, progress: Progress) -> None:
        progress("loading tensors", 0.0)
        if case.memory is None:
            return
        assert self.interface.memory is not None
        known, self._known = self._known, None
        if self.preload is not None:
            self.preload(self.interface.memory.windows, case.memory)
            return
        wanted = np.frombuffer(case.memory.tobytes(), "<u4")
        differs = self.reached[: len(wanted)]
        if known is not None:
            differs = differs & (wanted != np.frombuffer(known.tobytes(), "<u4"))
        for address, place, count in self._shares(differs):
            self.link.write(Space.MEMORY, address, wanted[place : place + count].tolist())
            progress("loading tensors", place / len(wanted))

    def _memory(self, case: Case, progress: Progress) -> Rows | None:
        progress("reading back", 0.0)
        if case.memory is None:
            return None
        assert self.interface.memory is not None
        found = np.frombuffer(case.memory.tobytes(), "<u4").copy()
        for address, place, count in self._shares(self.reached[: len(found)]):
            found[place : place + count] = self.link.read(Space.MEMORY, address, count)
            progress("reading back", place / len(found))
        return found.view(np.uint8)

    def _shares(self, chosen: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int, int]]:
        """Words of the memory in pieces: address of each, place in the image, and length."""
        assert self.interface.memory is not None
        first = 0
        for base, size in self.interface.memory.windows:
            for start, count in _differing(chosen[first : first + size // WORD]):
                for k in range(start, start + count, SHARE):
                    yield base // WORD + k, first + k, min(SHARE, start + count - k)
            first += size // WORD

    def _follow(self, case: Case, sources: Sequence[_Port], sinks: Sequence[_Port]) -> str:
        """Exchange beats until the run ends; ``"done"`` or ``"hang"``.

        A host that feeds and drains makes the run as long as it takes: then the limit is for the
        cycles in which nothing moves.
        """
        low, exact = CYCLES.offset // WORD, self.exact(case)
        since, moment = 0, time.monotonic()
        while True:
            status = self._status()
            moved = [self._feed(port) for port in sources if port.moved < len(port.beats)]
            moved += [self._drain(port) for port in sinks]
            if not status & RUNNING.mask:
                return "done" if status & DONE.mask else "not started"
            words = self.link.read(Space.REGISTERS, low, 2)
            cycle, now = words[0] | words[1] << 32, time.monotonic()
            if any(moved) and not exact:
                since, moment = cycle, now
            if cycle - since > case.limit and (exact or now - moment > QUIET):
                return "hang"
            if any(len(port.beats) > self._most(case, port) for port in sinks):
                return "hang"
            if not any(moved):
                time.sleep(PAUSE)

    def _most(self, case: Case, port: _Port) -> int:
        """Beats of an output behind which a run does not end by itself."""
        return len(case.expected.get(port.port.name, port.beats)) + self.around.beats

    def _feed(self, port: _Port) -> bool:
        """Put as many beats into a buffer as there is room for."""
        depth, words = self.around.beats, port.words
        at = COUNT_WORDS * port.number
        (taken,) = self.link.read(Space.COUNTS, at + Count.MOVED, 1)
        room = min(depth - _since(taken, port.moved), len(port.beats) - port.moved)
        if room <= 0:
            return False
        padded = np.zeros((room, words * WORD), np.uint8)
        padded[:, : port.port.payload_bytes] = port.beats[port.moved : port.moved + room]
        content = padded.view("<u4").tolist()
        done = 0
        for slot, count in _pieces(port.moved, room, depth):
            flat = [word for row in content[done : done + count] for word in row]
            self.link.write(Space.STREAMS, port.number << STREAM_BITS | slot * words, flat)
            done += count
        port.moved += room
        self.link.write(Space.COUNTS, at + Count.GIVEN, [_count(port.moved)])
        return True

    def _drain(self, port: _Port) -> bool:
        """Take what is in a buffer."""
        depth, words = self.around.beats, port.words
        at = COUNT_WORDS * port.number
        (stored,) = self.link.read(Space.COUNTS, at + Count.MOVED, 1)
        fresh = _since(port.moved, stored)
        if not fresh:
            return False
        got: list[int] = []
        for slot, count in _pieces(port.moved, fresh, depth):
            place = port.number << STREAM_BITS | slot * words
            got += self.link.read(Space.STREAMS, place, count * words)
        rows = np.array(got, "<u4").view(np.uint8).reshape(-1, words * WORD)
        port.beats = np.concatenate([port.beats, rows[:, : port.port.payload_bytes]])
        port.moved += fresh
        self.link.write(Space.COUNTS, at + Count.GIVEN, [_count(port.moved)])
        return True

    def _registers(self) -> dict[int, int]:
        """All control registers of the design."""
        found: dict[int, int] = {}
        for first, last in _runs(register_addresses(self.interface)):
            words = self.link.read(Space.REGISTERS, first // WORD, (last - first) // WORD + 1)
            found |= {first + WORD * k: word for k, word in enumerate(words)}
        return found


def _reached(design: Design, interface: Interface) -> npt.NDArray[np.bool_]:
    """Which words of a memory's windows loads and stores reach, without gaps between tensors."""
    if interface.memory is None:
        return np.zeros(0, bool)
    windows = Windows(interface.memory.windows)
    found = np.zeros(windows.size // WORD, bool)
    for base, size in windows_of(design, near=0):
        for _, here in windows.parts(base, size):
            found[here.start // WORD : here.stop // WORD] = True
    return found


def _count(beats: int) -> int:
    """As a board counts."""
    return beats % (1 << COUNT_BITS)


def _since(earlier: int, later: int) -> int:
    """Beats between two counts."""
    return _count(later - earlier)


def _pieces(first: int, count: int, depth: int) -> Iterator[tuple[int, int]]:
    """Slots of a ring and numbers of beats from a beat on."""
    while count:
        slot = first % depth
        some = min(count, depth - slot)
        yield slot, some
        first, count = first + some, count - some


def _differing(differs: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """First places and lengths of what is to be written; short gaps are written too."""
    places = np.flatnonzero(differs)
    if len(places):
        breaks = np.flatnonzero(np.diff(places) > GAP) + 1
        for group in np.split(places, breaks):
            yield int(group[0]), int(group[-1] - group[0]) + 1


def _runs(addresses: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of addresses that lie near each other."""
    first = last = addresses[0]
    for address in addresses[1:]:
        if address - last > 2 * WORD:
            yield first, last
            first = address
        last = address
    yield first, last
