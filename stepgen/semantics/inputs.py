"""Converts a user's input to tokens, and checks it against the stream's type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stepgen.ir.dtypes import Buffer, DataType, Selector, Tile
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.stream import StreamType
from stepgen.ir.system import SystemGraph
from stepgen.ir.wire import VALUE
from stepgen.semantics.numbers import Array, as_element
from stepgen.semantics.shapes import check_shape, sizes
from stepgen.semantics.tokens import Token, encode, validate


def to_tokens(content: Any, type: StreamType, name: str = "input") -> list[Token]:
    """Return the tokens of a stream.

    Parameters
    ----------
    content : nested lists, array or list of Token
        Nested ``rank + 1`` deep; deeper levels are values: a tile is a matrix (or a number if it is
        1x1), a selector a vector of booleans.
    type : StreamType
        The expected type.
    name : str
        The stream's name for messages.

    Raises
    ------
    StepError
        If structure, static dims, sizes of tiles or elements do not fit.
    """
    if isinstance(content, list) and content and isinstance(content[0], Token):
        tokens = content
        validate(tokens, type.rank, name)
    else:
        try:
            tokens = encode(content, type.rank)
        except StepError as error:
            raise StepError(f"{name} of shape {_show(type)}: {error}") from None
    tokens = [
        Token(t.kind, to_value(t.value, type.dtype, name), t.stop) if t.kind == VALUE else t
        for t in tokens
    ]
    check_shape(tokens, type, name)
    return tokens


def given_tokens(graph: Graph | SystemGraph, inputs: Mapping[str, Any]) -> dict[str, list[Token]]:
    """Return the tokens of all input streams that are given.

    Parameters
    ----------
    graph : Graph or SystemGraph
    inputs : mapping of str to object
        By name; tensors are ignored.

    Raises
    ------
    StepError
        As `to_tokens`; and where a dim that two inputs have in common is another in each.
    """
    found = {}
    known: dict[tuple[Any, ...], tuple[str, list[int]]] = {}
    for name, stream in graph.inputs.items():
        if name not in inputs:
            continue
        found[name] = to_tokens(inputs[name], stream.type, name)
        measured = sizes(found[name], stream.rank)
        for place, dim in enumerate(stream.shape):
            own = measured[stream.rank - place]
            if dim.static is not None or not own:
                continue
            # A ragged dim is the same in the same groups; any other is the same everywhere.
            dims = stream.shape[: place + 1] if dim.is_ragged else (dim,)
            own = own if dim.is_ragged else own[:1]
            other, seen = known.setdefault((id(stream.graph), *(d.expr for d in dims)), (name, own))
            if own != seen:
                pairs = zip(own, seen, strict=True)
                group = next(k for k, (mine, theirs) in enumerate(pairs) if mine != theirs)
                where = f" in group {group}" if dim.is_ragged else ""
                raise StepError(
                    f"the input {name} of {graph.name} has {dim} = {own[group]}{where}, but the "
                    f"input {other} has {dim} = {seen[group]}"
                )
    return found


def to_value(item: Any, dtype: DataType, name: str) -> Any:
    """Return one value of a stream in its canonical form, read-only.

    Raises
    ------
    StepError
        If it is not a value of this type.
    """
    if isinstance(dtype, Tile):
        tile = as_element(item, dtype.element.name, f"a tile of {name}")
        if tile.ndim == 0:
            tile = tile.reshape(1, 1)
        if tile.ndim != 2 or any(
            dim.static not in (None, extent)
            for dim, extent in zip(dtype.dims, tile.shape, strict=True)
        ):
            raise StepError(f"{name} is made of tiles {dtype}, not of {_extents(tile)}")
        for dim, extent in zip(dtype.dims, tile.shape, strict=True):
            if dim.bound is not None and extent > dim.bound:
                raise StepError(
                    f"{name} is made of tiles {dtype}, not of {_extents(tile)}: {dim} can be "
                    f"{dim.bound} at most"
                )
        return _read_only(tile)
    if isinstance(dtype, Selector):
        bits = as_element(item, "bool", f"a selector of {name}")
        if bits.shape != (dtype.n,):
            raise StepError(
                f"{name} is made of selectors of {dtype.n} bits, not of {_extents(bits)}"
            )
        if dtype.hot is not None and bits.sum() != dtype.hot:
            raise StepError(
                f"{name} is made of selectors with {dtype.hot} bits set, not {int(bits.sum())}"
            )
        return _read_only(bits)
    assert isinstance(dtype, Buffer)
    raise StepError(f"{name} is made of buffers, which exist only on chip and can't be given")


def multi_hot(chosen: Sequence[Sequence[int]] | Array, consumers: int) -> Array:
    """Convert numbers of chosen consumers to selectors.

    Parameters
    ----------
    chosen : sequence of sequences of int
        For each selector the consumers that it selects, as in a routing trace ``[tokens, k]``.
    consumers : int
        Number of consumers.

    Returns
    -------
    bool array of shape [len(chosen), consumers]

    Raises
    ------
    StepError
        If a consumer does not exist or is chosen twice by one selector.
    """
    selectors = np.zeros((len(chosen), consumers), np.bool_)
    for row, numbers in enumerate(chosen):
        for number in numbers:
            if not 0 <= number < consumers or number != int(number):
                raise StepError(
                    f"selector {row} chooses {number}, but consumers are 0 to {consumers - 1}"
                )
            if selectors[row, int(number)]:
                raise StepError(f"selector {row} chooses {number} twice")
            selectors[row, int(number)] = True
    return selectors


def _read_only(array: Array) -> Array:
    """A view that nobody can write through; the array, which may be the user's, stays as it is."""
    view = array.view()
    view.flags.writeable = False
    return view


def _extents(array: Array) -> str:
    return "x".join(map(str, array.shape)) or "a number"


def _show(type: StreamType) -> str:
    return f"[{', '.join(str(dim) for dim in type.shape)}]"
