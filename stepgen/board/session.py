"""Runs of a design behind a link: load, start, exchange beats, read back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from stepgen.board.link import Link, LinkError, OtherBoard
from stepgen.board.ports import Port
from stepgen.board.running import Running
from stepgen.cosim.case import Case
from stepgen.cosim.payload import Rows
from stepgen.cosim.scoreboard import Outcome, faults_of, register_addresses
from stepgen.emit.interface import Interface, StreamPort
from stepgen.emit.windows import Window, Windows, windows_of
from stepgen.hw.board.protocol import (
    COUNT_WORDS,
    IDENTITY_WORDS,
    MAGIC,
    VERSION,
    WORD,
    Count,
    Identity,
    Space,
)
from stepgen.hw.board.top import Surroundings
from stepgen.hw.design.counting import counted
from stepgen.hw.design.registers import CONTROL, RUNNING, SOFT_RESET, STATUS, STOPPING
from stepgen.hw.design.table import Design
from stepgen.tools.waiting import Progress, quiet


class Past(Protocol):
    """A way to the memory past the link."""

    def put(self, windows: Sequence[Window], image: Rows) -> None:
        """Write windows."""

    def get(self, windows: Sequence[Window]) -> Rows:
        """Read windows."""


LEAST_PAST = 4096
"""Bytes that are moved past the link, where there is a way: with fewer the link is as quick."""

GAP = 8
"""Words that are alike and yet written: a request costs as much."""

SHARE = 2048
"""Words of memory after which progress is reported."""

Share = tuple[int, int, int]
Words = npt.NDArray[np.uint32]

LOOKS = 1000
"""How often the end of an abort is looked for."""


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
    past : Past, optional
        A way to the memory past the link, for large transfers.
    least_past : int
        Bytes of the smallest one.

    Attributes
    ----------
    moved_past : int
        Bytes that went past the link.
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
    past: Past | None = None
    least_past: int = LEAST_PAST
    moved_past: int = 0
    _numbers: dict[str, int] = field(init=False)
    reached: npt.NDArray[np.bool_] = field(init=False)
    _known: Rows | None = None

    def __post_init__(self) -> None:
        self._numbers = {port.name: k for k, port in enumerate(self.interface.ports)}
        self.reached = _reached(self.design, self.interface)
        self.identify()

    def identify(self) -> None:
        """Check that the board holds the design.

        Raises
        ------
        OtherBoard
            If it holds something else.
        """
        words = self.link.read(Space.IDENTITY, 0, IDENTITY_WORDS)
        where = f"the board at {self.link.wire.name}"
        if words[Identity.MAGIC] != MAGIC or words[Identity.VERSION] != VERSION:
            raise OtherBoard(
                f"{where} holds no design of this version of stepgen: it says "
                f"{words[Identity.MAGIC]:#x}, version {words[Identity.VERSION]}"
            )
        seen = b"".join(w.to_bytes(WORD, "little") for w in words[Identity.HASH :])
        wanted = self.around.digest(self.design)
        if seen != wanted:
            raise OtherBoard(
                f"{where} holds another design than {self.design.name}: its hash begins with "
                f"{seen.hex()[:8]}, not {wanted.hex()[:8]}; program it anew"
            )

    @property
    def memory_words(self) -> int:
        """Words of the board's memory."""
        return (
            0
            if self.interface.memory is None
            else self.around.memory_words * (self.design.bus.bytes // WORD)
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
        run = self.running(case)
        status = run.end(progress)
        outcome = self.outcome(
            run,
            status,
            case,
            # A run that does not end keeps the memory.
            memory=self._memory(case, progress) if status == "done" else None,
        )
        # A copy: what a run has given is the user's, to change as well.
        self._known = None if outcome.memory is None else outcome.memory.copy()
        return outcome

    def running(self, case: Case) -> Running:
        """A run that has not begun."""
        self._known = None  # it may write
        sinks = (
            self._port(p, np.zeros((0, p.payload_bytes), np.uint8)) for p in self.interface.sinks
        )
        cycles = case.cycles if self.exact(case) else None
        return Running(
            self,
            [self._port(p, case.sources[p.name]) for p in self.interface.sources],
            list(sinks),
            case.limit,
            cycles,
            cycles,
            {name: len(rows) for name, rows in case.expected.items()},
        )

    def outcome(self, run: Running, status: str, case: Case, memory: Rows | None) -> Outcome:
        """What a run gave, compared with what is expected of it; one that hangs is aborted."""
        registers = self._registers() if counted(self.design) else run.registers
        outcome = Outcome(
            case, status, run.taken, run.seconds, run.outputs, None, memory, None, registers
        )
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
        self.control(SOFT_RESET.mask)
        for _ in range(LOOKS):
            if not self.status() & (RUNNING.mask | STOPPING.mask):
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

    def _port(self, port: StreamPort, beats: Rows) -> Port:
        return Port(self.link, port, self._numbers[port.name], self.around.beats, beats)

    def forget(self) -> None:
        """Do not rely on what was read back: the memory is written in another way."""
        self._known = None

    def control(self, bits: int) -> None:
        """Write the register `CONTROL`."""
        self.link.write(Space.REGISTERS, CONTROL.offset // WORD, [bits])

    def status(self) -> int:
        """The register `STATUS`."""
        return self.link.read(Space.REGISTERS, STATUS.offset // WORD, 1)[0]

    def _load(self, case: Case, progress: Progress) -> None:
        progress("loading tensors", 0.0)
        if case.memory is None:
            return
        assert self.interface.memory is not None
        known, self._known = self._known, None
        wanted = np.frombuffer(case.memory.tobytes(), "<u4")
        differs = self.reached[: len(wanted)]
        if known is not None:
            differs = differs & (wanted != np.frombuffer(known.tobytes(), "<u4"))
        self.write_words(list(self._shares(differs)), wanted, progress)

    def _memory(self, case: Case, progress: Progress) -> Rows | None:
        progress("reading back", 0.0)
        if case.memory is None:
            return None
        assert self.interface.memory is not None
        found = np.frombuffer(case.memory.tobytes(), "<u4").copy()
        self.read_words(list(self._shares(self.reached[: len(found)])), found, progress)
        return found.view(np.uint8)

    def write_words(self, shares: Sequence[Share], words: Words, progress: Progress) -> None:
        """Write pieces of an image to the memory, large ones past the link where that is possible.

        Parameters
        ----------
        shares : sequence of (int, int, int)
            Word of the memory where each piece goes, its place in the image, and its length.
        words : uint32 array
            The image.
        progress : Progress
        """
        if not shares:
            return
        self._known = None
        if (past := self._way_past(shares)) is not None:
            image = np.concatenate([words[place : place + n] for _, place, n in shares])
            past.put([(WORD * at, WORD * n) for at, _, n in shares], image.view(np.uint8))
            return
        done, all_ = 0, sum(n for _, _, n in shares)
        for address, place, count in shares:
            self.link.write(Space.MEMORY, address, words[place : place + count].tolist())
            done += count
            progress("loading tensors", done / all_)

    def read_words(self, shares: Sequence[Share], words: Words, progress: Progress) -> None:
        """Read pieces of an image from the memory; parameters as of `write_words`."""
        if (past := self._way_past(shares)) is not None:
            image = past.get([(WORD * at, WORD * n) for at, _, n in shares]).view("<u4")
            for _, place, n in shares:
                words[place : place + n], image = image[:n], image[n:]
            return
        done, all_ = 0, sum(n for _, _, n in shares)
        for address, place, count in shares:
            words[place : place + count] = self.link.read(Space.MEMORY, address, count)
            done += count
            progress("reading back", done / all_)

    def _way_past(self, shares: Sequence[Share]) -> Past | None:
        """The way past the link, if there is one and it is worth it."""
        size = WORD * sum(n for _, _, n in shares)
        if self.past is None or size < self.least_past:
            return None
        self.moved_past += size
        return self.past

    def _shares(self, chosen: npt.NDArray[np.bool_]) -> Iterator[Share]:
        """Words of the memory in pieces: address of each, place in the image, and length."""
        assert self.interface.memory is not None
        first = 0
        for base, size in self.interface.memory.windows:
            for start, count in _differing(chosen[first : first + size // WORD]):
                for k in range(start, start + count, SHARE):
                    yield base // WORD + k, first + k, min(SHARE, start + count - k)
            first += size // WORD

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
