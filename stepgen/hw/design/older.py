"""Rows of design tables that earlier versions of stepgen wrote, as they are written now."""

from __future__ import annotations

from typing import Any


def channel(row: Any) -> Any:
    """A channel that says whether its lanes are signed; now it names their element type."""
    if not isinstance(row, dict) or "signed" not in row:
        return row
    return {key: value for key, value in row.items() if key != "signed"}


def unit(row: Any) -> Any:
    """A unit with the kind and parameters of now."""
    match row:
        case {"kind": "requantize", "params": {"multiplier": multiplier, "shift": shift}}:
            # It was a kind of its own; now it is an operation of the PCU.
            scaled = {
                "name": "requantize",
                "operands": [0],
                "element": "int8",
                "constants": [multiplier, shift],
            }
            return {**row, "kind": "pcu", "params": {"operands": ["int32"], "operations": [scaled]}}
        case {"kind": "matmul", "params": {"in_bits": 8, "out_bits": 32, **others}}:
            # Elements were named by their bits.
            return {**row, "params": {**others, "element": "int8"}}
        case {"kind": "load", "params": {"tile_bytes": tile, "rows": rows, "slices": slices}}:
            # Rows were whole beats, and their number was a parameter.
            params = {key: value for key, value in row["params"].items() if key != "slices"}
            return {**row, "params": {**params, "beat_parts": tile // max(1, rows * slices)}}
        case {"kind": "load", "params": {"beat_bytes": beat, **others}}:
            # Elements that share a byte were not counted separately.
            return {**row, "params": {**others, "beat_parts": beat * others.get("packed", 1)}}
    return row
