"""Programs of models: lowered, with weights, and inputs from a file or drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..ir.graph import Graph
from ..ir.where import placed
from ..semantics.arrays import read
from . import inputs as program_inputs
from .settings import bind

SUFFIX = ".stepgen"
"""Of files with a model."""


@dataclass(frozen=True)
class Lowered:
    """The program of a model.

    Attributes
    ----------
    graph : Graph
    given, drawn : dict of str to object
        Weights and inputs, and inputs that were not given.
    """

    graph: Graph
    given: dict[str, Any]
    drawn: dict[str, Any]


def parameters(
    element: Literal["bf16", "f32"] = "bf16", rows: int = 1, columns: int = 64
) -> dict[str, Any]:
    """The parameters of the program of a model, those of `stepgen.frontend.lower`."""
    return {"element": element, "rows": rows, "columns": columns}


def lowered(
    spec: str,
    settings: Mapping[str, str],
    inputs: Path | None,
    seed: int,
    dims: Mapping[str, str],
    *,
    draw: bool,
    tensors: bool,
) -> Lowered:
    """Lower the model of a file, and complete its inputs.

    Parameters
    ----------
    spec : str
        A ``.stepgen`` file.
    settings : mapping of str to str
        Parameters, as texts.
    inputs : Path or None
        Has arrays as the model takes them, ``[T, width]`` and ``[T]``, or streams and tensors as
        the program takes them.
    seed : int
        Of drawn inputs.
    dims : mapping of str to str
        Extents of dynamic dims of drawn inputs, as texts: of T.
    draw : bool
        Whether to draw those that are missing.
    tensors : bool
        Whether to read the weights.

    Raises
    ------
    StepError
        If the file has no model, the model can't be lowered, or inputs do not fit.
    """
    from ..frontend import drawing, files, lowering
    from ..frontend.kind import TOKENS

    model = files.load(spec)
    asked = parameters(**bind(parameters, settings, {}, spec))
    graph, weights = placed(spec, lambda: lowering.lower(model, **asked, data=tensors))
    arrays = {} if inputs is None else read(inputs, "the inputs", f"{inputs} holds no arrays")
    if inputs is not None and not set(arrays) <= set(model.inputs):
        own = program_inputs.load(inputs, graph)
        program_inputs.extents(graph, dims, own)
        return Lowered(graph, weights | own, {})
    extents = program_inputs.extents(graph, dims, arrays)
    random = drawing.drawn(model, arrays, seed, extents.get(TOKENS)) if draw else {}
    found = lowering.fed(model, {**arrays, **random})
    own = {name: found.pop(name) for name in arrays}
    return Lowered(graph, weights | own, found)
