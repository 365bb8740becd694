"""Checks that machine parameters are positive integers; the engine divides by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from stepgen.ir.errors import StepError


def integers(record: Any) -> dict[str, Any]:
    """The fields of a dataclass that are declared as integers, by name."""
    return {f.name: getattr(record, f.name) for f in fields(record) if f.type in ("int", int)}


def check(what: str, values: Mapping[str, Any], least: int = 1) -> None:
    """Check that all values are integers of at least `least`.

    Parameters
    ----------
    what : str
        What they belong to, for the message.
    values : mapping of str to value
        The values by name.
    least : int
        The smallest value that is allowed.

    Raises
    ------
    StepError
        Names the first one that is not.
    """
    for name, value in values.items():
        if not isinstance(value, int | np.integer) or value < least:
            raise StepError(f"{what}: {name} must be at least {least}, not {value}")
