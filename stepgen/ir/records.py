"""JSON files, and dataclasses from them, with the same validation as arguments."""

from __future__ import annotations

import dataclasses
import json
import math
import typing
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

from stepgen.ir.arguments import Unfit, fit, shown
from stepgen.ir.errors import StepError

T = TypeVar("T")

NUMBER = "number"
"""The key of an infinite number, which JSON lacks: ``{"number": "-inf"}``."""

INFINITE = {str(number): number for number in (math.inf, -math.inf)}


def written(data: Any, **layout: Any) -> str:
    """The JSON text of a value, which `parsed` reads.

    Parameters
    ----------
    data : object
        Numbers in it may be infinite, or NaN; a string could be one of the user's, so
        they become objects: ``{"number": "-inf"}``.
    **layout : object
        As for `json.dumps`.
    """
    return json.dumps(_finite(data), allow_nan=False, **layout)


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return {NUMBER: str(float(data))}
    return data


def parsed(text: str, what: str, *, infinite: bool = False) -> Any:
    """The value of a JSON text.

    Parameters
    ----------
    text : str
    what : str
        What it describes and its origin, for messages.
    infinite : bool
        Whether numbers may be infinite: as `written` has them, or as Python writes them.

    Raises
    ------
    StepError
        If it is not JSON, is nested too deeply, has a key twice, or has NaN or an infinite
        number where these are not allowed.
    """

    def constant(name: str) -> float:
        if infinite and name != "NaN":
            return float(name)
        raise ValueError(f"{name} is not a number")

    def table(pairs: Iterable[tuple[str, Any]]) -> Any:
        found = _once(pairs)
        if infinite and found.keys() == {NUMBER} and isinstance(found[NUMBER], str):
            return INFINITE.get(found[NUMBER], found)
        return found

    try:
        return json.loads(text, object_pairs_hook=table, parse_constant=constant)
    except RecursionError:
        raise StepError(f"{what}: it is nested too deeply") from None
    except ValueError as error:
        raise StepError(f"{what}: {error}") from None


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{shown(key)} is there twice")
        found[key] = value
    return found


def record(data: Any, kind: type[T], what: str) -> T:
    """A dataclass from a JSON object that has its fields, nested ones too.

    Parameters
    ----------
    data : object
        From `parsed`.
    kind : type
        A dataclass whose fields are numbers, texts, dataclasses, and tuples and mappings of them.
    what : str
        Its name for messages.

    Raises
    ------
    StepError
        If a field is missing, unknown or of another type.
    """
    fields: Any = kind
    hints = _hints(fields)
    if not isinstance(data, dict):
        raise StepError(f"{what} must be an object with {', '.join(hints)}, not {shown(data)}")
    for key in data:
        if key not in hints:
            raise StepError(f"{what} has no field {shown(key)}, it has {', '.join(hints)}")
    for key, (_, needed) in hints.items():
        if needed and key not in data:
            raise StepError(f"{what} lacks {key}")
    return kind(**{k: _value(v, hints[k][0], f"{what}: {k}") for k, v in data.items()})


@cache
def _hints(kind: Any) -> dict[str, tuple[Any, bool]]:
    """Type of every field, and whether it is required."""
    hints, missing = typing.get_type_hints(kind, include_extras=True), dataclasses.MISSING
    return {
        f.name: (hints[f.name], f.default is missing and f.default_factory is missing)
        for f in dataclasses.fields(kind)
    }


def _nested(value: Any, kind: Any, what: str) -> Any:
    """A record inside another, by the ``from_record`` of its class if it has one."""
    return getattr(kind, "from_record", lambda v, w: record(v, kind, w))(value, what)


def _value(value: Any, hint: Any, what: str) -> Any:
    inner = typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        return _nested(value, hint, what)
    records = [h for h in inner if dataclasses.is_dataclass(h)]
    if records and value is None and type(None) in inner:
        return None
    if records and type(None) in inner:
        return _nested(value, records[0], what)
    if records and isinstance(value, list):
        return tuple(_nested(v, records[0], f"{what} {i}") for i, v in enumerate(value))
    if records and isinstance(value, Mapping):
        return {k: _nested(v, records[0], f"{what} {k}") for k, v in value.items()}
    if typing.get_origin(hint) is dict and isinstance(value, Mapping):
        return {
            _value(k, inner[0], what): _value(v, inner[1], f"{what}: {k}") for k, v in value.items()
        }
    try:
        return fit(value, hint)
    except Unfit as unfit:
        raise StepError(f"{what} must be {unfit}, not {shown(value)}") from None
