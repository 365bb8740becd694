"""Drivers of the streams of a design: a source offers beats, a sink accepts them.

Both act once per cycle, at the falling edge of the clock: by then the registers of the design have
settled, and each `valid`, `ready` and payload of a design comes from a register. So what is sampled
there is what counts at the next rising edge, when a beat moves if `valid` and `ready` are high.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .beats import DONE, KIND_MASK
from .idle import idle
from .stalls import Stalls


class Source:
    """Offers beats: the next from the first cycle on that is not stalled, until it is accepted.

    Parameters
    ----------
    dut : handle
    signal : str
        What the names of its signals begin with: ``<signal>_valid`` and so on.
    beats : sequence of int
        Payloads.
    stalls : Stalls
    early : bool
        Whether it offers them repeatedly, and before and after a run too.

    Attributes
    ----------
    cycles : list of int
        In which cycles of the run beats were accepted.
    """

    def __init__(
        self,
        dut: Any,
        signal: str,
        beats: Sequence[int],
        stalls: Stalls | None = None,
        *,
        early: bool = False,
    ):
        self._valid = getattr(dut, f"{signal}_valid")
        self._ready = getattr(dut, f"{signal}_ready")
        self._payload = getattr(dut, f"{signal}_payload")
        self._beats, self._stalls, self._early = beats, stalls or Stalls(), early
        self._width = len(self._payload)
        self.ended = True
        self.rewind()

    def rewind(self) -> None:
        """Start over, for the next run."""
        self.cycles: list[int] = []
        self._next = 0
        self._offered = False
        self.rest()

    def step(self, cycle: int) -> None:
        """Drive the stream in a cycle of a run."""
        if not self._offered:
            if not self._left or self._stalls.stalled(cycle):
                self._idle()
                return
            self._offer()
        if self._ready.value:
            self._offered = False
            self._next += 1
            self.cycles.append(cycle)

    def rest(self) -> None:
        """Drive the stream while the design does not run."""
        if self._early and self._beats:
            self._offer()
        else:
            self._idle()

    @property
    def _left(self) -> bool:
        return bool(self._beats) if self._early else self._next < len(self._beats)

    def _offer(self) -> None:
        self._payload.value = self._beats[self._next % len(self._beats)]
        self._valid.value = 1
        self._offered = True

    def _idle(self) -> None:
        self._valid.value = 0
        self._payload.value = idle(self._width)


class Sink:
    """Accepts a beat in every cycle that is not stalled.

    Parameters
    ----------
    dut : handle
    signal : str
        As for `Source`.
    stalls : Stalls
    words : int, optional
        Beats after which a stream of plain words ends; other streams end with `DONE`.
    padded : bool
        Whether payloads have bits that mean nothing, which may be X.

    Attributes
    ----------
    beats : list of int
        Payloads that were accepted.
    cycles : list of int
        In which cycles of the run.
    ended : bool
        Whether all of them are there.
    """

    def __init__(
        self,
        dut: Any,
        signal: str,
        stalls: Stalls | None = None,
        *,
        words: int | None = None,
        padded: bool = False,
    ):
        self._valid = getattr(dut, f"{signal}_valid")
        self._ready = getattr(dut, f"{signal}_ready")
        self._payload = getattr(dut, f"{signal}_payload")
        self._stalls, self._words, self._padded = stalls or Stalls(), words, padded
        self._is_ready = False
        self.rewind()

    def rewind(self) -> None:
        """Start over, for the next run."""
        self.beats: list[int] = []
        self.cycles: list[int] = []
        self.ended = self._words == 0
        self.rest()

    def step(self, cycle: int) -> None:
        """Drive the stream in a cycle of a run."""
        ready = not self._stalls.stalled(cycle)
        if ready != self._is_ready:
            self._ready.value = int(ready)
            self._is_ready = ready
        if ready and self._valid.value:
            seen = self._payload.value
            beat = int(seen.resolve("zeros") if self._padded else seen)
            self.beats.append(beat)
            self.cycles.append(cycle)
            if self._words is not None:
                self.ended = len(self.beats) >= self._words
            elif beat & KIND_MASK == DONE:
                self.ended = True

    def rest(self) -> None:
        """Accept nothing: the design does not run."""
        self._ready.value = 0
        self._is_ready = False
