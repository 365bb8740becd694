"""Numbers of a machine: whole, and none of them nothing, since the engine divides by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from ...ir.errors import StepError


def numbers(record: Any) -> dict[str, Any]:
    """The fields of a dataclass that are declared as whole numbers, by name."""
    return {f.name: getattr(record, f.name) for f in fields(record) if f.type in ("int", int)}


def check(what: str, values: Mapping[str, Any], least: int = 1) -> None:
    """Check that all numbers are whole and large enough.

    Parameters
    ----------
    what : str
        What they belong to, for the message.
    values : mapping of str to value
        The numbers by name.
    least : int
        The smallest that is allowed.

    Raises
    ------
    StepError
        Names the first that is not.
    """
    for name, value in values.items():
        if not isinstance(value, int | np.integer) or value < least:
            raise StepError(f"{what}: {name} must be at least {least}, not {value}")
