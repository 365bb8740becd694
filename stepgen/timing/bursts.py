"""Bursts in the cycle model: first word and length in one beat."""

from __future__ import annotations

from stepgen.timing.kernel import helper

LENGTH_BITS = 9
LENGTH_MASK = (1 << LENGTH_BITS) - 1
ADDRESS_MASK = (1 << 48) - 1


@helper
def make_burst(word: int, length: int) -> int:
    """A burst of `length` words from the bus word `word` on."""
    return (word & ADDRESS_MASK) << LENGTH_BITS | length


@helper
def burst_length(beat: int) -> int:
    """Words of a burst."""
    return beat & LENGTH_MASK


def first_word(base: int, boundary: int, word: int) -> int:
    """The bus word at the boundary before an address; all in bytes."""
    return (base // boundary * boundary // word) & ADDRESS_MASK


@helper
def burst_word(beat: int) -> int:
    """The bus word that a burst begins with."""
    return beat >> LENGTH_BITS
