"""Ports of a design on a board: beats go through buffers, which a host feeds and drains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stepgen.board.link import Link
from stepgen.cosim.payload import Rows
from stepgen.emit.interface import StreamPort
from stepgen.hw.board.buffers import places
from stepgen.hw.board.protocol import COUNT_BITS, COUNT_WORDS, STREAM_BITS, WORD, Count, Space


@dataclass
class Port:
    """A port and what goes through its buffer.

    Attributes
    ----------
    link : Link
    port : StreamPort
    number : int
        On the board.
    depth : int
        Beats of its buffer.
    beats : uint8 array of shape [beats, bytes of a payload]
        All of an input, or those of an output that have come.
    moved : int
        Beats that the host has put into the buffer, or taken from it.
    """

    link: Link
    port: StreamPort
    number: int
    depth: int
    beats: Rows
    moved: int = 0

    @property
    def rest(self) -> int:
        """Beats of an input that are still to be fed."""
        return len(self.beats) - self.moved

    def feed(self, *, empty: bool = False) -> bool:
        """Put as many beats into the buffer as there is room for; whether there were any.

        Parameters
        ----------
        empty : bool
            Whether nothing is in it, so that its room is known.
        """
        taken = self.moved if empty else self._count(Count.MOVED)
        room = min(self.depth - _since(taken, self.moved), self.rest)
        if room <= 0:
            return False
        words = places(self.port.width)
        padded = np.zeros((room, words * WORD), np.uint8)
        padded[:, : self.port.payload_bytes] = self.beats[self.moved : self.moved + room]
        content = padded.view("<u4").tolist()
        done = 0
        for slot, count in _pieces(self.moved, room, self.depth):
            flat = [word for row in content[done : done + count] for word in row]
            self.link.write(Space.STREAMS, self.number << STREAM_BITS | slot * words, flat)
            done += count
        self.moved += room
        self._report()
        return True

    def drain(self) -> bool:
        """Take what is in the buffer; whether there was anything."""
        fresh = _since(self.moved, self._count(Count.MOVED))
        if not fresh:
            return False
        words = places(self.port.width)
        got: list[int] = []
        for slot, count in _pieces(self.moved, fresh, self.depth):
            place = self.number << STREAM_BITS | slot * words
            got += self.link.read(Space.STREAMS, place, count * words)
        rows = np.array(got, "<u4").view(np.uint8).reshape(-1, words * WORD)
        self.beats = np.concatenate([self.beats, rows[:, : self.port.payload_bytes]])
        self.moved += fresh
        self._report()
        return True

    def agree(self, *, feeds: bool) -> None:
        """Agree with the board on what has moved, where the link was lost on the way."""
        if feeds:
            self.moved += _since(self.moved, self._count(Count.GIVEN))
        else:
            self._report()

    def _count(self, what: Count) -> int:
        return self.link.read(Space.COUNTS, COUNT_WORDS * self.number + what, 1)[0]

    def _report(self) -> None:
        at = COUNT_WORDS * self.number + Count.GIVEN
        self.link.write(Space.COUNTS, at, [_modulo(self.moved)])


def _modulo(beats: int) -> int:
    """As a board counts."""
    return beats % (1 << COUNT_BITS)


def _since(earlier: int, later: int) -> int:
    """Beats between two counts."""
    return _modulo(later - earlier)


def _pieces(first: int, count: int, depth: int) -> Iterator[tuple[int, int]]:
    """Slots of a ring and numbers of beats from a beat on."""
    while count:
        slot = first % depth
        some = min(count, depth - slot)
        yield slot, some
        first, count = first + some, count - some
