"""Whether a board is as described: link, memory, clock, and a run whose result is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from stepgen.board.device import Device
from stepgen.board.link import Link, LinkError
from stepgen.hw.board.protocol import IDENTITY_WORDS, WORD, Identity, Space
from stepgen.hw.design.registers import CYCLES, START
from stepgen.ir.dtypes import int32
from stepgen.ir.errors import StepError
from stepgen.ir.fn import fn
from stepgen.ir.graph import Graph
from stepgen.ops.linear_offchip_load import linear_offchip_load
from stepgen.ops.linear_offchip_store import linear_offchip_store
from stepgen.tools.waiting import Progress, quiet

ROWS, COLUMNS, LANES = 16, 8, 4
"""Of the tensors of the design, and the lanes of its streams."""

GREETINGS = 64
"""How often is read what the board says of itself."""

PATTERN = 1024
"""Words at each end of the memory that are filled with random bits."""

ALL = (1 << 8 * WORD) - 1

UNSURE = 0.005
"""Share of the measured time that two looks at the clock may take."""

LONGEST = 15.0
"""Seconds that the clock is measured at most."""

CRYSTAL = 0.001
"""Share by which a clock may differ from the described one: crystals are ten times better."""

Found = tuple[str, dict[str, Any]]
"""What is wrong, else an empty text, and what was measured."""

Place = tuple[int, list[int]]
"""A word of the memory, and what is written to it and to those behind it."""

Wrong = tuple[int, int, int]
"""A word of the memory, what was written to it, and what was read."""


@dataclass(frozen=True)
class SelfTestStep:
    """One step of the test.

    Attributes
    ----------
    name : str
    fault : str
        What is wrong; else empty.
    found : dict of str to object
        What was measured.
    seconds : float
        That it took.
    """

    name: str
    fault: str
    found: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.fault


def program() -> tuple[Graph, dict[str, Any]]:
    """The program of the test, which fits every board, and its inputs.

    Rows of a stream and of a tensor are added, and stored.
    """
    g = Graph("selftest")
    x = g.input("x", int32[1, COLUMNS], (ROWS,))
    w, y = (g.tensor(name, (ROWS, COLUMNS), int32) for name in ("w", "y"))
    rows = linear_offchip_load(w, tile=(1, COLUMNS), shape=(ROWS,), stride=(1,))
    total = x.map(fn.add(), rows)
    linear_offchip_store(total, y)
    g.output(total, "total")
    rng = np.random.default_rng(0)
    drawn = rng.integers(-(1 << 30), 1 << 30, (2, ROWS, COLUMNS), np.int32)
    return g, {"x": drawn[0][:, None], "w": drawn[1]}


def timed(name: str, step: Callable[[], Found]) -> SelfTestStep:
    """Take a step; a `StepError` is its fault."""
    begun = time.monotonic()
    try:
        fault, found = step()
    except StepError as error:
        fault, found = str(error), {}
    return SelfTestStep(name, fault, found, round(time.monotonic() - begun, 3))


STEPS = ("link", "memory", "clock", "memory kept", "answer")
"""Of `examine`."""


def examine(
    opened: Callable[[], Device], inputs: dict[str, Any], progress: Progress = quiet
) -> Iterator[SelfTestStep]:
    """The steps on a board that holds the design of `program`, as far as its link carries them.

    Parameters
    ----------
    opened : callable
        Opens the board. The caller closes it.
    inputs : dict
        Those of `program`.
    progress : Progress
    """
    devices: list[Device] = []

    def link() -> Found:
        devices.append(opened())
        return _link(devices[0])

    def answer() -> Found:
        return _answer(devices[0], inputs, progress)

    checks = (
        link,
        lambda: _memory(devices[0]),
        lambda: _clock(devices[0]),
        lambda: _kept(devices[0]),
        answer,
    )
    for name, check in zip(STEPS, checks, strict=True):
        progress(f"testing: {name}", 0.0)
        lost: list[LinkError] = []

        def noted(check: Callable[[], Found] = check, lost: list[LinkError] = lost) -> Found:
            try:
                return check()
            except LinkError as error:
                lost.append(error)
                raise

        yield timed(name, noted)
        if lost or not devices:
            return


def _link(device: Device) -> Found:
    """Read the same words many times."""
    link, traffic = device.link, device.link.traffic
    before = traffic.repeated, traffic.damaged, traffic.received
    wanted, begun = device.around.digest(device.design), time.monotonic()
    times, seen, words = list[float](), set[bytes](), list[int]()
    for _ in range(GREETINGS):
        asked = time.monotonic()
        words = link.read(Space.IDENTITY, 0, IDENTITY_WORDS)
        times.append(time.monotonic() - asked)
        seen.add(b"".join(word.to_bytes(WORD, "little") for word in words[Identity.HASH :]))
    took = time.monotonic() - begun
    repeated, damaged = traffic.repeated - before[0], traffic.damaged - before[1]
    found = {
        "port": link.wire.name,
        "requests": GREETINGS,
        "repeated": repeated,
        "damaged": damaged,
        "bad_frames": words[Identity.BAD_FRAMES],
        "milliseconds_each": round(1e3 * float(np.median(times)), 3),
        "bytes_per_second": round((traffic.received - before[2]) / took),
    }
    if seen != {wanted}:
        return "the hash of the design was not read the same each time", found
    if repeated or damaged:
        return (
            f"{repeated} of {GREETINGS} requests had to be sent again, and {damaged} answers came "
            f"damaged"
        ), found
    return "", found


def _memory(device: Device) -> Found:
    """Each data bit, each address line, and random bits at both ends."""
    link, words = device.link, device.session.memory_words
    device.session.forget()
    ones = [1 << k for k in range(8 * WORD)]
    bits = _differing(link, [(0, [*ones, *(ALL ^ one for one in ones)])])
    found = {"bytes": WORD * words, "words_compared": 2 * len(ones)}
    if bits:
        return f"{_bits(bits)}; {_first(bits, 2 * len(ones))}", found
    places = [0, *(1 << k for k in range(words.bit_length() - 1))]
    lines = _differing(link, [(place, [0x5A000000 | k]) for k, place in enumerate(places)])
    found["words_compared"] += len(places)
    for place, _, read in lines:
        other = read & 0xFFFFFF
        if read >> 24 == 0x5A and other < len(places):
            return (
                f"words {place:#x} and {places[other]:#x} of the memory are the same: an address "
                f"line is wrong"
            ), found
    drawn = _drawn(words)
    count = sum(len(there) for _, there in drawn)
    wrong = lines or _differing(link, drawn)
    found["words_compared"] += count
    return (f"{_bits(wrong)}; {_first(wrong, count)}" if wrong else ""), found


def _kept(device: Device) -> Found:
    """The random bits again, which the memory had to keep meanwhile."""
    drawn = _drawn(device.session.memory_words)
    count = sum(len(there) for _, there in drawn)
    wrong = _differing(device.link, drawn, write=False)
    fault = f"the memory forgets: {_bits(wrong)}; {_first(wrong, count)}" if wrong else ""
    return fault, {"words_compared": count}


def _clock(device: Device) -> Found:
    """Count cycles of a run that waits for its input, between two looks at another clock."""
    session, link, wire = device.session, device.link, device.link.wire
    clock = link.read(Space.IDENTITY, Identity.CLOCK, 1)[0]
    if clock != device.around.clock:
        return f"the board says {clock:,} Hz, and {device.around.clock:,} is described", {}

    def look() -> tuple[float, float, int]:
        before = wire.now()
        low, high = link.read(Space.REGISTERS, CYCLES.offset // WORD, CYCLES.words)
        return before, wire.now(), low | high << 8 * WORD

    session.reset()
    session.control(START.mask)
    begun = time.monotonic()
    first = look()
    while True:
        before, after, cycle = look()
        span = (before + after - first[0] - first[1]) / 2
        unsure = (after - before + first[1] - first[0]) / 2
        if unsure <= UNSURE * span or time.monotonic() - begun > LONGEST:
            break
    session.reset()
    counted, wanted = cycle - first[2], device.around.clock
    if not counted or span <= unsure:
        return f"the clock stands: {counted:,} cycles in {span:.3g} s", {}
    hz, error = counted / span, unsure / span
    found = {
        "hz": wanted,
        "measured_hz": round(hz),
        "within": round(error, 5),
        "cycles": counted,
        "seconds": round(span, 4),
    }
    if abs(hz / wanted - 1) > error / (1 - error) + CRYSTAL:
        return (
            f"the clock is {hz / 1e6:.3f} MHz by that of the host, within {error:.1%}, and "
            f"{wanted / 1e6:g} MHz is described"
        ), found
    return "", found


def _answer(device: Device, inputs: dict[str, Any], progress: Progress) -> Found:
    """Run, and compare all as ``stepgen deploy`` does."""
    report = device.test(inputs, progress=progress)
    faults, cycles = report.outcome.faults, report.outcome.cycles
    predicted = report.experiment.prediction.cycles
    found = {"cycles": cycles, "predicted": predicted, "compared": report.compared}
    return (faults[0] if faults else ""), found


def _drawn(words: int) -> list[Place]:
    """Random bits for the two ends of a memory."""
    half = min(PATTERN, words // 2)
    drawn = np.random.default_rng(1).integers(0, 1 << 8 * WORD, 2 * half).tolist()
    return [(0, drawn[:half]), (words - half, drawn[half:])]


def _differing(link: Link, places: Sequence[Place], *, write: bool = True) -> list[Wrong]:
    """Words that are not read as they were written; all are written before one is read."""
    for place, words in places if write else ():
        link.write(Space.MEMORY, place, words)
    wrong = []
    for place, words in places:
        read = link.read(Space.MEMORY, place, len(words))
        both = zip(words, read, strict=True)
        wrong += [(place + k, wrote, seen) for k, (wrote, seen) in enumerate(both) if wrote != seen]
    return wrong


def _bits(wrong: Sequence[Wrong]) -> str:
    """Which bits of words differ, and how."""
    down = reduce(or_, (wrote & ~read for _, wrote, read in wrong))
    up = reduce(or_, (read & ~wrote for _, wrote, read in wrong))
    names = []
    for k in range(8 * WORD):
        low, high = down >> k & 1, up >> k & 1
        if low or high:
            names.append(f"bit {k} {'changes' if low and high else f'is read as {high}'}")
    if len(names) > 4:
        return f"{len(names)} of the {8 * WORD} bits of words are not read as they were written"
    return ", ".join(names)


def _first(wrong: Sequence[Wrong], count: int) -> str:
    place, wrote, read = wrong[0]
    return (
        f"{len(wrong):,} of {count:,} words differ, the first at {place:#x}: {wrote:#010x} was "
        f"written, {read:#010x} is read"
    )
