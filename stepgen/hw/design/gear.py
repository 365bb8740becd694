"""The gear between beats and bus words: how many parts of each one step moves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepgen.ir.dtypes import address

if TYPE_CHECKING:
    from stepgen.hw.design.table import Channel


@dataclass(frozen=True)
class Gear:
    """The beats of a row, without padding, and words, both of parts of a size.

    Attributes
    ----------
    full : int
        Parts of every beat of a row but its last one.
    last : int
        Parts of its last beat.
    """

    full: int
    last: int

    @classmethod
    def of(cls, row: int, beat: int) -> Gear:
        """Of rows of `row` parts in beats of `beat`."""
        full = min(row, beat)
        return cls(full, (row - 1) % full + 1)

    def divides(self, word: int) -> bool:
        """Whether no beat of rows that lie one after the other, from a word's start on, lies
        across words that it does not fill.
        """
        return self.full == self.last and (word % self.full == 0 or self.full % word == 0)

    def chunks(self, word: int) -> tuple[int, int]:
        """Steps that a full and a last beat take, each moves up to a word of `word` parts."""
        return -(-self.full // word), -(-self.last // word)

    def rests(self, word: int) -> tuple[int, int]:
        """Parts that the last step of a full and of a last beat moves."""
        return (self.full - 1) % word + 1, (self.last - 1) % word + 1

    def step(self, word: int) -> int:
        """Parts of the largest unit in which all places in words count."""
        return math.gcd(word, self.full, self.last)


def stored_bits(channel: Channel) -> int:
    """Bits of a lane in off-chip memory, where each has whole bytes and addresses have 8."""
    return address.bits if channel.element == address.name else max(8, channel.bits)


def beat_problem(bits: int, part: int = 8) -> str | None:
    """Why beats of so many bits have no place in bus words of parts of `part` bits, or None."""
    if bits < part or bits % part:
        return (
            f"a beat of {bits} bits can't be cut from bus words or packed into them, lanes times "
            f"bits must be a multiple of {part}"
        )
    return None
