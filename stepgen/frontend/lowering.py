"""Lowering: a model as a streaming tensor program, and its inputs as streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import numpy as np

from ..ir.dims import dynamic
from ..ir.dtypes import ElementType, bf16, f32
from ..ir.dtypes import element as as_element
from ..ir.errors import StepError
from ..ir.graph import Graph
from .kind import TOKENS
from .model import Model
from .passes.linears import split_linears
from .passes.norms import fold_norms
from .run import POSITIONS
from .site import Lowering
from .weight import Array

COLUMNS: Final = 64
"""Columns of a slice, at most."""


def lower(
    model: Model,
    *,
    element: ElementType | Literal["bf16", "f32"] = bf16,
    rows: int = 1,
    columns: int = COLUMNS,
    data: bool = True,
) -> tuple[Graph, dict[str, Array]]:
    """A model as a streaming tensor program.

    The program takes the model's inputs token by token, rows as tiles of f32 ``[1, width]`` and ids
    as addresses ``[1, 1]``, any number of tokens up to the model's. Its weights are tensors in
    off-chip memory, read anew for each tile.

    Parameters
    ----------
    model : Model
    element : ElementType
        bf16 or f32: that of the factors of products; all else is f32. A circuit is for bf16.
    rows : int
        Tokens of a tile: weights are read once for so many.
    columns : int
        Most columns of a tile of a linear's result, where they divide it evenly.
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
    for what, number in (("rows", rows), ("columns", columns)):
        if type(number) is not int or number < 1:
            raise StepError(f"{model.name}: {what} must be an integer of at least 1, not {number}")
    model = fold_norms(split_linears(model))
    made = Lowering(model, Graph("model"), element, rows, columns, data)
    made.graph.name = made.name(model.name)
    made.names.clear()
    tokens = dynamic(TOKENS, bound=model.tokens[1], positive=True)
    for name, value in model.inputs.items():
        made.values[name] = made.input(name, value, tokens)
    made.lower(model.ops)
    for name in model.outputs:
        made.graph.output(made.unpacked(made.values[name].whole().stream), made.name(name))
    return made.graph, made.weights


def fed(model: Model, inputs: Mapping[str, Any]) -> dict[str, Array]:
    """Inputs of a model as those of its program; positions count from 0 if they are not given.

    Parameters
    ----------
    model : Model
    inputs : mapping of str to array
        ``[T, width]`` and ``[T]``, as `Model.run` takes them.

    Raises
    ------
    StepError
        If they do not fit.
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
        if POSITIONS in model.inputs:
            found.setdefault(POSITIONS, np.arange(count))
    return {name: array.reshape(len(array), 1, -1) for name, array in found.items()}
