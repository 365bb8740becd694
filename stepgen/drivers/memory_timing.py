"""In which cycles the off-chip memory takes requests and answers them.

The rules are those of stepgen's ``docs/memory-timing.md``. They know nothing of a simulator: what
drives the signals of a bus asks for them in each cycle, and reports what moved.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

CHANNELS = ("ar", "r", "aw", "w", "b")


@dataclass(frozen=True)
class Timing:
    """When the memory answers, in cycles.

    Parameters
    ----------
    read_latency : int
        From a read's address to the first cycle in which its data may be sent.
    read_interval : int
        From one word that is sent to the next.
    read_outstanding : int
        Most bursts accepted whose last word has not been sent.
    write_latency, write_interval, write_outstanding : int
        The same of writes: from a burst's last word to its response, from word to word, and bursts
        accepted whose response has not been sent.
    """

    read_latency: int = 16
    read_interval: int = 1
    read_outstanding: int = 16
    write_latency: int = 8
    write_interval: int = 1
    write_outstanding: int = 16


@dataclass
class Burst:
    """A burst under way: its next word, words left, and the first cycle of its answer."""

    address: int
    left: int
    start: int = 0


class OpenBursts:
    """The bursts that a memory has accepted, and what it does about them in a cycle.

    Parameters
    ----------
    timing : Timing
        Or any object with its fields.
    size : int
        Bytes of a word of the bus.

    Attributes
    ----------
    reads : deque of Burst
        Those with words to be sent.
    unfilled, filled : deque of Burst
        Writes with words to come, and those that wait for their response.
    """

    def __init__(self, timing: Timing, size: int):
        self._timing, self._size = timing, size
        self.reads: deque[Burst] = deque()
        self.unfilled: deque[Burst] = deque()
        self.filled: deque[Burst] = deque()
        self._held = dict.fromkeys(CHANNELS, False)
        self.rewind()

    def rewind(self) -> None:
        """Start over, for the next run: intervals count from its first word."""
        self._next_read = self._next_write = 0

    def active(self, now: int, stalled: Callable[[str], bool]) -> dict[str, bool]:
        """By channel, whether the memory is ready or valid in this cycle.

        What is valid stays so until it is taken, whatever stalls. The answer depends on what moved
        in earlier cycles alone.
        """
        timing, reads, filled = self._timing, self.reads, self.filled
        due = {
            "ar": len(reads) < timing.read_outstanding,
            "r": bool(reads) and now >= max(reads[0].start, self._next_read),
            "aw": len(self.unfilled) + len(filled) < timing.write_outstanding,
            "w": bool(self.unfilled) and now >= self._next_write,
            "b": bool(filled) and now >= filled[0].start,
        }
        active = {c: self._held[c] or (due[c] and not stalled(c)) for c in CHANNELS}
        for channel in ("r", "b"):
            self._held[channel] = active[channel]
        return active

    def read_requested(self, now: int, burst: Burst) -> None:
        """An address of a read was taken."""
        burst.start = now + self._timing.read_latency
        self.reads.append(burst)

    def word_read(self, now: int) -> None:
        """A word was sent."""
        self._held["r"] = False
        self._next_read = now + self._timing.read_interval
        if self._advance(self.reads[0]):
            self.reads.popleft()

    def write_requested(self, burst: Burst) -> None:
        """An address of a write was taken."""
        self.unfilled.append(burst)

    def word_written(self, now: int) -> None:
        """A word was taken."""
        self._next_write = now + self._timing.write_interval
        if self._advance(self.unfilled[0]):
            burst = self.unfilled.popleft()
            burst.start = now + self._timing.write_latency
            self.filled.append(burst)

    def answered(self) -> None:
        """A response was taken."""
        self._held["b"] = False
        self.filled.popleft()

    def _advance(self, burst: Burst) -> bool:
        """Go to the next word of a burst; True after its last one."""
        burst.address += self._size
        burst.left -= 1
        return not burst.left
