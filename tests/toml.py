"""Content of TOML files, to be changed by tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def toml(table: dict[str, Any], path: tuple[str, ...] = ()) -> str:
    """A table as text."""
    inner = {key: value for key, value in table.items() if isinstance(value, dict)}
    lines = [f"{json.dumps(k)} = {inline(v)}" for k, v in table.items() if k not in inner]
    for key, value in inner.items():
        where = (*path, key)
        lines += [f"[{'.'.join(map(json.dumps, where))}]", toml(value, where)]
    return "\n".join(lines) + "\n"


def inline(value: Any) -> str:
    """A value as text; texts of JSON are texts of TOML."""
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(k)} = {inline(v)}' for k, v in value.items())}}}"
    return str(value) if isinstance(value, float) else json.dumps(value)


def keys(table: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """All keys with what they hold, those of tables inside too: ``memory/chip/cas``."""
    for key, value in table.items():
        yield above + key, value
        if isinstance(value, dict):
            yield from keys(value, f"{above}{key}/")
