"""Common part of the operators that apply functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from stepgen.ir.arguments import shown
from stepgen.ir.dtypes import Tile
from stepgen.ir.errors import StepError
from stepgen.ir.setting import Setting
from stepgen.semantics.numbers import DTYPES, Array
from stepgen.semantics.process import Use, view
from stepgen.semantics.tokens import Token


def setting(use: Use) -> Setting:
    """The setting in which the function of a node is applied."""
    out = use.outputs[0].stream.dtype
    return Setting(out, DTYPES[out.element.name if isinstance(out, Tile) else "bool"], use.lanes)


def checked(use: Use, value: Any) -> Any:
    """What the golden model of a node's function gave, if it is of the node's type.

    Raises
    ------
    StepError
        If it is not: the model and the type rule of the function differ.
    """
    dtype = use.outputs[0].stream.dtype
    element, extents = DTYPES["bool"], [getattr(dtype, "n", None)]
    if isinstance(dtype, Tile):
        element, extents = DTYPES[dtype.element.name], [d.static for d in dtype.dims]
    if isinstance(value, np.ndarray) and value.dtype == element and len(extents) == value.ndim:
        if all(n in (None, size) for n, size in zip(extents, value.shape, strict=True)):
            return value
        said = f"an array of shape {list(value.shape)}"
    elif isinstance(value, np.ndarray):
        said = f"an array of {value.dtype.name} of shape {list(value.shape)}"
    else:
        said = shown(value)
    node = use.node
    raise StepError(
        f"{node.name} ({node.where}): the golden model of {node.attrs['fn']} gave {said}, but its "
        f"type rule says {dtype}"
    )


def tiles(tokens: Iterable[Token]) -> list[Array]:
    """Views of the tiles of several tokens; of a tuple its items."""
    return [tile for token in tokens for tile in _flat(view(token.value))]


def _flat(value: Any) -> Iterator[Array]:
    if isinstance(value, tuple):
        for item in value:
            yield from _flat(item)
    else:
        yield value
