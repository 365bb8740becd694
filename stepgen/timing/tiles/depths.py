"""FIFO depths on a machine, bounded and unbounded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from stepgen.timing import kernel as k
from stepgen.timing.activity import Cycles

UNBOUNDED: Final = "unbounded"

Depth = int | Literal["unbounded"]
"""Elements that a FIFO holds."""

FIRST_SIZE = 1 << 8
"""Elements that an unbounded FIFO is laid out for at first."""


class Outgrown(Exception):
    """Unbounded FIFOs may have been full: the run is repeated with larger ones.

    Attributes
    ----------
    sizes : dict of str to int
        Elements that they should be laid out for, by name.
    """

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__("unbounded FIFOs must be larger")
        self.sizes = sizes


def check_unbounded(M: Cycles, unbounded: Mapping[str, int]) -> None:
    """Check that no unbounded FIFO has been full: its size exceeds all pushes of the run.

    Parameters
    ----------
    M : int64 array
        State array after a run.
    unbounded : mapping of str to int
        Addresses of unbounded FIFOs by name.

    Raises
    ------
    Outgrown
        If as many elements were pushed into one as it is laid out for.
    """
    short = {}
    for name, channel in unbounded.items():
        pushed, size = int(M[channel + k.PUSHED]), int(M[channel + k.DEPTH])
        if pushed >= size:
            short[name] = max(pushed + 1, 4 * size)
    if short:
        raise Outgrown(short)
