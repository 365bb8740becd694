"""Whether something fits into this machine's memory, asked before it is made."""

from __future__ import annotations

import os

from stepgen.ir.errors import StepError


def need(size: int, what: str) -> None:
    """Refuse what is larger than the memory.

    Parameters
    ----------
    size : int
        Bytes that it takes.
    what : str
        What it is, the beginning of the message.

    Raises
    ------
    StepError
        If it does not fit.
    """
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if size > there:
        raise StepError(f"{what} takes {size:,} bytes, but this machine has {there:,} bytes")
