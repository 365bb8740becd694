"""Machines with fields changed: from a program, the command line, or a file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepgen.ir.arguments import Unfit, checked, fit, shown
from stepgen.ir.errors import StepError
from stepgen.ir.function import function_types
from stepgen.ir.policy import PAPER, PUBLISHED, Policy
from stepgen.ir.records import parsed as read_json
from stepgen.timing.tiles.depths import UNBOUNDED
from stepgen.timing.tiles.dram_timings import DDR4_3200, HBM2_2000, Timings
from stepgen.timing.tiles.machines import Machine, named

MOST = 1 << 30
"""Largest number of a machine, so that sums fit the engine's words."""

_FEWER = {
    "fifo_depth": 1 << 16,
    "channels": 1 << 16,
    "bank_groups": 64,
    "banks": 64,
    "window": 4096,
}
"""Smaller limits for numbers on which the memory of a run depends."""

_ALSO = {"fifo_depth": UNBOUNDED}
"""Values of fields that are not numbers."""

_RECORDS: dict[type, dict[str, Any]] = {
    Policy: {policy.name: policy for policy in (PAPER, PUBLISHED)},
    Timings: {timings.name: timings for timings in (HBM2_2000, DDR4_3200)},
}
"""Records that can be chosen by name."""

_OWN = ("like", "name")
"""Entries of a file that are not fields of a machine."""


@dataclass(frozen=True)
class Description:
    """A machine as a file describes it.

    Attributes
    ----------
    like : str
        Name of the machine that it is based on.
    name : str
        Its name.
    changes : dict of str to value
        Fields that differ, nested ones with dots.
    """

    like: str
    name: str
    changes: dict[str, Any]

    @property
    def machine(self) -> Machine:
        """The described machine."""
        return dataclasses.replace(changed(named(self.like), self.changes), name=self.name)


def find(text: str) -> Machine:
    """A machine by its name, or from a file.

    Parameters
    ----------
    text : str
        The name of a machine, or the path of a ``.json`` file.

    Raises
    ------
    StepError
        If there is no such machine, or the file is not a description.
    """
    return described(Path(text)).machine if text.endswith(".json") else named(text)


def described(path: Path) -> Description:
    """Read the description of a machine; the machine itself is checked too.

    Parameters
    ----------
    path : Path
        A JSON object: ``{"like": "sda", "name": "mine", "memory.channels": 16}``. By default the
        name is that of the file.

    Raises
    ------
    StepError
        If the file can't be read, or has a field or value that no machine has.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise StepError(f"can't read the machine {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise StepError(f"{path} is not a machine: {error}") from None
    data = read_json(text, f"{path} is not a machine")
    if not isinstance(data, dict):
        raise StepError(f"{path} is not a machine: it must hold one JSON object")
    own = {"name": path.stem, **{key: data[key] for key in _OWN if key in data}}
    for key, value in own.items():
        if not isinstance(value, str) or not value:
            raise StepError(f"{path} is not a machine: {key} must be a name, not {_shown(value)}")
    if "like" not in own:
        raise StepError(
            f'{path} is not a machine: it lacks "like", the machine that it differs from'
        )
    changes = {key: value for key, value in data.items() if key not in _OWN}
    found = Description(own["like"], own["name"], changes)
    try:
        found.machine  # noqa: B018  a machine that can't be made is refused here
    except StepError as error:
        raise StepError(f"{path}: {error}") from None
    return found


@checked
def variant(name: str, changes: Mapping[str, Any]) -> Machine:
    """A machine with some fields changed.

    Parameters
    ----------
    name : str
        Name of the machine.
    changes : mapping of str to value
        Nested fields with dots: ``{"memory.channels": 8}``.

    Raises
    ------
    StepError
        If there is no such machine or field, or a value does not fit.
    """
    return changed(named(name), changes)


@checked
def changed(machine: Machine, changes: Mapping[str, Any]) -> Machine:
    """A machine with some fields changed, all at once.

    Parameters
    ----------
    machine : Machine
        Is not changed.
    changes : mapping of str to value
        Nested fields with dots; a policy or a timing set by its name.

    Raises
    ------
    StepError
        If there is no such field, or a value does not fit.
    """
    paths = {tuple(path.split(".")): value for path, value in changes.items()}
    made: Machine = _changed(machine, paths, f"machine {machine.name}")
    return made


def parsed(texts: Mapping[str, str]) -> dict[str, Any]:
    """Values of fields from a command line: numbers, true, false, and names."""
    found: dict[str, Any] = {}
    for path, text in texts.items():
        try:
            found[path] = json.loads(text)
        except (ValueError, RecursionError):
            found[path] = text
    return found


def _changed(record: Any, changes: Mapping[tuple[str, ...], Any], what: str) -> Any:
    """A record with fields changed; first top-level ones, then nested ones."""
    if isinstance(record, dict):
        return _updated(record, changes, what)
    fields = {f.name: getattr(record, f.name) for f in dataclasses.fields(record)}
    deeper: dict[str, dict[tuple[str, ...], Any]] = {}
    for (head, *rest), value in changes.items():
        if head not in fields:
            raise StepError(f"{what} has no field {head!r}, it has {', '.join(sorted(fields))}")
        if rest:
            deeper.setdefault(head, {})[tuple(rest)] = value
        else:
            fields[head] = _fitting(value, getattr(record, head), f"{what}.{head}")
    for head, inner in deeper.items():
        old = fields[head]
        if not (dataclasses.is_dataclass(old) or isinstance(old, dict)):
            path = ".".join(next(iter(inner)))
            raise StepError(f"{what}.{head} is {_shown(old)} and has no field {path!r}")
        fields[head] = _changed(old, inner, f"{what}.{head}")
    return dataclasses.replace(record, **fields)


def _updated(
    record: Mapping[str, Any], changes: Mapping[tuple[str, ...], Any], what: str
) -> dict[str, Any]:
    """A table of numbers by function, with some of them changed."""
    for path in changes:
        if ".".join(path) not in function_types():
            raise StepError(f"{what} is by function, and there is no function {'.'.join(path)!r}")
    return dict(record) | {
        path[0]: _fitting(value, 1, f"{what}.{path[0]}") for path, value in changes.items()
    }


def _fitting(value: Any, old: Any, what: str) -> Any:
    """The value, checked to fit in place of `old`.

    Raises
    ------
    StepError
        If it does not fit.
    """
    if isinstance(old, bool):
        if isinstance(value, bool):
            return value
        raise StepError(f"{what} must be true or false, not {_shown(value)}")
    field = what.rpartition(".")[2]
    if isinstance(old, int) or old is None or field in _ALSO:
        most, also = _FEWER.get(field, MOST), _ALSO.get(field)
        with suppress(Unfit):
            if 1 <= (number := fit(value, int)) <= most:
                return number
        if also is not None and isinstance(value, str) and value == also:
            return value
        or_also = f", or {also}" if also else ""
        raise StepError(
            f"{what} must be a whole number from 1 to {most}{or_also}, not {_shown(value)}"
        )
    if isinstance(old, str):
        if isinstance(value, str) and value:
            return value
        raise StepError(f"{what} must be a name, not {_shown(value)}")
    known = _RECORDS.get(type(old))
    if known is None:
        raise StepError(f"{what} has fields of its own, so change {what}.x for one of them")
    if isinstance(value, str) and value in known:
        return known[value]
    raise StepError(f"{what} must be one of {', '.join(known)}, not {_shown(value)}")


def _shown(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool | None) else shown(value)
