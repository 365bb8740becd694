"""Depths of FIFOs, of which some hold whatever comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from .. import kernel as k
from ..activity import Cycles

UNBOUNDED: Final = "unbounded"

Depth = int | Literal["unbounded"]
"""Elements that a FIFO holds."""

ROOM = 1 << 8
"""Elements for which an unbounded FIFO has room at first."""


class Outgrown(Exception):
    """Unbounded FIFOs may have been full: the run is to be repeated with more room.

    Attributes
    ----------
    rooms : dict of str to int
        Elements for which they should have room, by name.
    """

    def __init__(self, rooms: dict[str, int]) -> None:
        super().__init__("unbounded FIFOs need more room")
        self.rooms = rooms


def check_room(M: Cycles, unbounded: Mapping[str, int]) -> None:
    """See that no unbounded FIFO has been full: each has room for all that ever came.

    Parameters
    ----------
    M : int64 array
        The machine after a run.
    unbounded : mapping of str to int
        Addresses of unbounded FIFOs by name.

    Raises
    ------
    Outgrown
        Where one has taken as many elements as it has room for.
    """
    short = {}
    for name, channel in unbounded.items():
        taken, room = int(M[channel + k.PUSHED]), int(M[channel + k.DEPTH])
        if taken >= room:
            short[name] = max(taken + 1, 4 * room)
    if short:
        raise Outgrown(short)
