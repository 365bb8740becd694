"""Machines by name, with fields changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..ir.errors import StepError
from ..timing.tiles import machines
from ..timing.tiles.machines import Machine


def named(name: str) -> Machine:
    """The machine of `stepgen.timing.tiles.machines` with this name.

    Raises
    ------
    StepError
        If there is none.
    """
    known = {m.name: m for m in vars(machines).values() if isinstance(m, Machine)}
    if name not in known:
        raise StepError(f"there is no machine {name!r}, only {', '.join(sorted(known))}")
    return known[name]


def variant(name: str, changes: Mapping[str, Any]) -> Machine:
    """A machine with some fields changed.

    Parameters
    ----------
    name : str
    changes : mapping of str to value
        Nested fields with dots: ``{"memory.channels": 8}``.

    Raises
    ------
    StepError
        If there is no such machine or field.
    """
    machine = named(name)
    for path, value in changes.items():
        machine = _changed(machine, path.split("."), value, f"machine {name}")
    return machine


def _changed(record: Any, path: list[str], value: Any, what: str) -> Any:
    head, *rest = path
    if isinstance(record, dict):
        return {**record, ".".join(path): value}
    fields = {f.name for f in dataclasses.fields(record)}
    if head not in fields:
        raise StepError(f"{what} has no field {head!r}, it has {', '.join(sorted(fields))}")
    if rest:
        value = _changed(getattr(record, head), rest, value, f"{what}.{head}")
    return dataclasses.replace(record, **{head: value})
