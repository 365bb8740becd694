"""Rows of design tables that earlier versions of stepgen wrote, as they are written now."""

from __future__ import annotations

from typing import Any


def channel(row: Any) -> Any:
    """A channel that says whether its lanes are signed; now it names their element type."""
    if not isinstance(row, dict) or "signed" not in row:
        return row
    return {key: value for key, value in row.items() if key != "signed"}


def unit(row: Any) -> Any:
    """A unit of a kind of its own that scales sums; now it is an operation of the PCU."""
    if not isinstance(row, dict) or row.get("kind") != "requantize":
        return row
    match row.get("params"):
        case {"multiplier": multiplier, "shift": shift}:
            constants = [multiplier, shift]
        case _:
            return row
    scaled = {"name": "requantize", "operands": [0], "element": "int8", "constants": constants}
    return {**row, "kind": "pcu", "params": {"operands": ["int32"], "operations": [scaled]}}
