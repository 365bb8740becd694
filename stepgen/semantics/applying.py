"""Setting and operands of functions as operators apply them, and checks of their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from stepgen.ir.arguments import shown
from stepgen.ir.dims import Dim
from stepgen.ir.dtypes import Buffer, DataType, Selector, Tile, TupleType
from stepgen.ir.errors import StepError
from stepgen.ir.setting import Setting
from stepgen.ir.wire import VALUE
from stepgen.semantics.numbers import DTYPES, Array
from stepgen.semantics.process import Use, view
from stepgen.semantics.tokens import Reference, Token


def setting(use: Use) -> Setting:
    """The setting in which the function of a node is applied."""
    out = use.outputs[0].stream.dtype
    return Setting(
        out,
        DTYPES[out.element.name if isinstance(out, Tile) else "bool"],
        use.lanes,
        use.inputs[0].stream.dtype,
    )


def checked(use: Use, value: Any) -> Any:
    """What the golden model of a node's function gave, if it is of the node's type.

    Raises
    ------
    StepError
        If it is not: the model and the type rule of the function differ.
    """
    dtype = use.outputs[0].stream.dtype
    said = strange(value, dtype)
    if said is not None:
        node = use.node
        raise StepError(
            f"{node.name} ({node.where}): the golden model of {node.attrs['fn']} gave {said}, but "
            f"its type rule says {dtype}"
        )
    return value


def strange(value: Any, dtype: DataType) -> str | None:
    """What a value is that is not of a type; None if it is of the type."""
    if isinstance(dtype, TupleType):
        if not isinstance(value, tuple) or len(value) != len(dtype.items):
            return shown(value)
        wrong = (strange(item, kind) for item, kind in zip(value, dtype.items, strict=True))
        return next((said for said in wrong if said is not None), None)
    if isinstance(dtype, Buffer):
        if not isinstance(value, Reference) or value.rank != len(dtype.shape):
            return shown(value)
        wrong = (strange(t.value, dtype.tile) for t in value.tokens if t.kind == VALUE)
        return next((f"a buffer with {said}" for said in wrong if said is not None), None)
    element, extents = DTYPES["bool"], [getattr(dtype, "n", None)]
    if isinstance(dtype, Tile):
        element, extents = DTYPES[dtype.element.name], [d.static for d in dtype.dims]
    if not isinstance(value, np.ndarray):
        return shown(value)
    if value.dtype != element or len(extents) != value.ndim:
        return f"an array of {value.dtype.name} of shape {list(value.shape)}"
    if any(n not in (None, size) for n, size in zip(extents, value.shape, strict=True)):
        return f"an array of shape {list(value.shape)}"
    if isinstance(dtype, Selector) and dtype.hot not in (None, int(value.sum())):
        return f"a selector with {int(value.sum())} bits set"
    return None


class Operands:
    """Tiles of the elements that a function is applied to, whose types may share extents.

    Parameters
    ----------
    use : Use
        The node.
    """

    def __init__(self, use: Use) -> None:
        self._use = use
        places: list[tuple[int, int, Dim]] = []
        self._alike: list[tuple[int, int, int, int]] = []
        for number, tile in enumerate(_tile_types(r.stream.dtype for r in use.inputs)):
            for axis, dim in enumerate(tile.dims if tile else ()):
                first = next((p for p in places if p[0] != number and p[2].same(dim)), None)
                if first and dim.static is None:
                    self._alike.append((*first[:2], number, axis))
                places.append((number, axis, dim))

    def of(self, tokens: Iterable[Token]) -> list[Array]:
        """The tiles of one element of each input.

        Raises
        ------
        StepError
            If an extent that is one in the types is not one at run time; else an extent of 1 would
            be broadcast that the circuit does not broadcast.
        """
        given = tiles(tokens)
        for a, of_a, b, of_b in self._alike:
            if given[a].shape[of_a] != given[b].shape[of_b]:
                types = list(_tile_types(r.stream.dtype for r in self._use.inputs))
                self._use.fail(
                    f"its operands {types[a]} and {types[b]} do not match at run time: tiles of "
                    f"{say(given[a])} and {say(given[b])} meet"
                )
        return given


def say(tile: Array) -> str:
    """The size of a tile for messages."""
    return "x".join(map(str, tile.shape))


def _tile_types(types: Iterable[DataType]) -> Iterator[Tile | None]:
    """The types of `tiles`: None for other types."""
    for dtype in types:
        if isinstance(dtype, TupleType):
            yield from _tile_types(dtype.items)
        else:
            yield dtype if isinstance(dtype, Tile) else None


def tiles(tokens: Iterable[Token]) -> list[Array]:
    """Views of the tiles of several tokens; of a tuple its items."""
    return [tile for token in tokens for tile in _flat(view(token.value))]


def _flat(value: Any) -> Iterator[Array]:
    if isinstance(value, tuple):
        for item in value:
            yield from _flat(item)
    else:
        yield value
