"""Accesses to memory that a process knows to be over, which order later ones.

A token brings what its sender knew when it was sent, so the order of two accesses is that of the
program, whatever order the reference itself took.
"""

from __future__ import annotations

from collections.abc import Sequence

Known = tuple[int, ...] | None
"""What a token brings: by accessor, how many of its accesses are over; None without accessors."""


class Past:
    """How many accesses of each accessor are over for a process.

    Parameters
    ----------
    accessors : sequence of str
        Names of nodes.

    Attributes
    ----------
    known : tuple of int
        By accessor, in that order; replaced, never changed.
    """

    __slots__ = ("_number", "known")

    def __init__(self, accessors: Sequence[str]) -> None:
        self._number = {name: n for n, name in enumerate(accessors)}
        self.known = (0,) * len(accessors)

    def of(self, name: str) -> int:
        """How many accesses of a node are over."""
        return self.known[self._number[name]]

    def join(self, other: tuple[int, ...]) -> None:
        """Add what a token brings."""
        if other is not self.known and other != self.known:
            self.known = tuple(map(max, self.known, other))

    def add(self, name: str) -> None:
        """Add the next access of a node, the process's own."""
        n = self._number[name]
        self.known = (*self.known[:n], self.known[n] + 1, *self.known[n + 1 :])


class Shared(Past):
    """What all of several pasts know: that of tuples, whose items go separate ways in a circuit.

    Parameters
    ----------
    pasts : sequence of Past
        Of the items.
    """

    __slots__ = ("_pasts",)

    def __init__(self, pasts: Sequence[Past]) -> None:
        self._pasts = pasts

    @property
    def known(self) -> tuple[int, ...]:  # type: ignore[override]
        """By accessor, the fewest accesses that one of them knows."""
        return tuple(map(min, zip(*(past.known for past in self._pasts), strict=True)))
