"""Common part of the operators that apply functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from stepgen.ir.dtypes import Tile
from stepgen.ir.setting import Setting
from stepgen.semantics.numbers import DTYPES, Array
from stepgen.semantics.process import Use
from stepgen.semantics.tokens import Token


def setting(use: Use) -> Setting:
    """The setting in which the function of a node is applied."""
    out = use.outputs[0].stream.dtype
    return Setting(out, DTYPES[out.element.name if isinstance(out, Tile) else "bool"], use.lanes)


def tiles(tokens: Iterable[Token]) -> list[Array]:
    """The tiles of several tokens; of a tuple its items."""
    return [tile for token in tokens for tile in _flat(token.value)]


def _flat(value: Any) -> Iterator[Array]:
    if isinstance(value, tuple):
        for item in value:
            yield from _flat(item)
    else:
        yield value
