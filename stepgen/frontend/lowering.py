"""Lowering: a model as a streaming tensor program, and its inputs as streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

import numpy as np

from ..ir.arguments import shown
from ..ir.dims import dynamic, static
from ..ir.dtypes import ElementType, bf16, f32
from ..ir.dtypes import element as as_element
from ..ir.errors import StepError
from ..ir.graph import Graph
from . import caches
from .kind import TOKENS
from .model import Model, walk
from .passes.linears import split_linears
from .passes.norms import fold_norms
from .passes.rotary import pair_columns
from .run import POSITIONS
from .site import Lowering
from .weight import Array

COLUMNS: Final = 64
"""Columns of a slice, at most."""


Phase = Literal["stream", "decode"]
"""What a run of a program takes: any number of tokens, or one behind those in the caches."""


def lower(
    model: Model,
    *,
    phase: Phase | None = None,
    element: ElementType | Literal["bf16", "f32"] = bf16,
    rows: int = 1,
    columns: int = COLUMNS,
    cache: int | None = None,
    tile: int | None = None,
    data: bool = True,
) -> tuple[Graph, dict[str, Array]]:
    """A model as a streaming tensor program.

    The program takes the model's inputs token by token, rows as tiles of f32 ``[1, width]`` and ids
    as addresses ``[1, 1]``. Its weights are tensors in off-chip memory, read anew for each tile.
    Keys and values of attention are tensors too, which a run reads and writes: the next token is a
    run on the same memory, and `fed` gives the streams that say where its rows go.

    Parameters
    ----------
    model : Model
    phase : {"stream", "decode"}, optional
        Whether a run takes any number of tokens up to the model's, or one behind those in the
        caches; by default the latter if there is attention with a cache.
    element : ElementType
        bf16 or f32: that of the factors of products; all else is f32. A circuit is for bf16.
    rows : int
        Tokens of a tile: weights are read once for so many. 1 to decode.
    columns : int
        Most columns of a tile of a linear's result, where they divide it evenly.
    cache : int, optional
        Most tokens in the caches; by default 256 or what the model takes.
    tile : int, optional
        Rows of a tile of the caches, 16 by default.
    data : bool
        Whether to give the weights.

    Returns
    -------
    graph : Graph
    weights : dict of str to array
        Contents of the tensors by name.

    Raises
    ------
    StepError
        If an operation can't be lowered, with its kind, the path of its module and the user's line.

    Examples
    --------
    >>> b = sg.frontend.Builder("one", tokens=(1, 16))
    >>> model = b.model(b.map(sg.fn.silu(), b.linear(b.input("x", 4), np.ones((4, 8)))))
    >>> graph, weights = sg.frontend.lower(model)
    >>> graph.outputs["silu"]
    <map_1.0 Stream[f32 1x8; T]>
    """
    element = as_element(element)
    if element not in (bf16, f32):
        raise StepError(f"{model.name} can be lowered to bf16 or f32, not to {element}")
    numbers = {"rows": rows, "columns": columns, "cache": cache, "tile": tile}
    for what, number in numbers.items():
        if number is not None and (type(number) is not int or number < 1):
            raise StepError(f"{model.name}: {what} must be an integer of at least 1, not {number}")
    decodes = phase_of(model, phase) == "decode"
    if decodes and rows > 1:
        raise StepError(f"{model.name}: a run decodes one token, so rows must be 1, not {rows}")
    if not decodes and (cache, tile) != (None, None):
        raise StepError(f"{model.name}: cache and tile are for phase=decode, which keeps caches")
    model = fold_norms(pair_columns(split_linears(model)))
    made = Lowering(model, Graph("model"), element, rows, columns, data)
    for op in walk(model.ops):
        wanted = op.kind.columns()
        if wanted is not None:
            made.columns_of[op.inputs[0]] = wanted
    if decodes:
        made.caches, made.places = caches.sized(model, cache, tile), caches.places(model)
    made.graph.name = made.name(model.name)
    made.names.clear()
    most = model.tokens[1]
    tokens = static(1) if decodes else dynamic(TOKENS, bound=most, positive=True)
    for name, value in model.inputs.items():
        made.values[name] = made.input(name, value, tokens)
    made.lower(model.ops)
    made.names |= {node.name for node in made.graph.nodes}  # those of operators
    for name in model.outputs:
        made.graph.output(made.result(made.values[name]), made.name(name))
    return made.graph, made.weights


def phase_of(model: Model, phase: Phase | None) -> Phase:
    """The phase of a program, by default what suits the model.

    Raises
    ------
    StepError
        If there is no such phase.
    """
    if phase is None:
        return "decode" if caches.places(model) else "stream"
    if phase not in get_args(Phase):
        raise StepError(f"{model.name}: phase must be stream or decode, not {shown(phase)}")
    return phase


def fed(
    model: Model,
    inputs: Mapping[str, Any],
    sizes: caches.Caches | None = None,
    filled: int = 0,
) -> dict[str, Array]:
    """Inputs of a model as those of its program; positions count on if they are not given.

    Parameters
    ----------
    model : Model
    inputs : mapping of str to array
        ``[T, width]`` and ``[T]``, as `Model.run` takes them.
    sizes : Caches, optional
        Those of a program that decodes, whose T is 1.
    filled : int
        Tokens that are in them.

    Raises
    ------
    StepError
        If they do not fit, an id is past a table, or the caches are full.
    """
    for name in inputs:
        if name not in model.inputs:
            raise StepError(f"{model.name} has no input {name!r}, it has {', '.join(model.inputs)}")
    found = {name: model.taken(name, given) for name, given in inputs.items()}
    counts = {name: len(array) for name, array in found.items()}
    if len({*counts.values()}) > 1:
        told = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise StepError(f"{model.name}: its inputs must have one number of rows, but {told}")
    for count in counts.values():
        model.check_tokens(count)
        if sizes is not None and count > 1:
            raise StepError(f"{model.name}: a run decodes one token, not {count}")
        if POSITIONS in model.inputs:
            found.setdefault(POSITIONS, np.arange(filled, filled + count))
    places = {} if sizes is None else caches.fed(model, sizes, filled)
    positions = model.tokens[1] if sizes is None else sizes.rows
    for placed in model.placed:
        for index, bound in placed.op.kind.bounds(placed.given, positions).items():
            name = placed.op.inputs[index]
            if name in found:
                placed.op.check_numbers(found[name], *bound)
    return {name: array.reshape(len(array), 1, -1) for name, array in found.items()} | places
