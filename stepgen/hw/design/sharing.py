"""Whether loads of weights share loaders: a choice of the user."""

from __future__ import annotations

from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError

SHARED, OWN = "shared", "own"
LOADERS = (SHARED, OWN)
"""Loads of one shape share loaders, or each is a unit of its own."""

USUAL = OWN
"""What is done where nothing is asked for."""


def sharing(loaders: str) -> str:
    """The choice that is asked for.

    Raises
    ------
    StepError
        If it is none of `LOADERS`.
    """
    if loaders not in LOADERS:
        raise StepError(f"loaders must be {' or '.join(LOADERS)}, not {shown(loaders)}")
    return loaders
