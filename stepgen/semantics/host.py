"""Checks that data fit into the host's memory, before they are allocated."""

from __future__ import annotations

from stepgen.ir.errors import StepError

SMALL = 1 << 26
"""Bytes for which any host has room."""


def check_memory(size: int, what: str) -> None:
    """Reject data that are larger than the host's memory.

    Parameters
    ----------
    size : int
        Size of the data in bytes.
    what : str
        Their name, the beginning of the message.

    Raises
    ------
    StepError
        If they do not fit.
    """
    if size <= SMALL:
        return
    import psutil  # which takes a while to load

    there = psutil.virtual_memory().total
    if size > there:
        raise StepError(f"{what} takes {size:,} bytes, but this host has {there:,} bytes")
