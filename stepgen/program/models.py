"""Programs of models: lowered, with weights, and inputs from a file or drawn."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..ir.errors import StepError
from ..ir.graph import Graph
from ..ir.where import placed
from ..semantics.arrays import read
from . import inputs as program_inputs
from .settings import bind
from .settings import parameters as bound

if TYPE_CHECKING:
    from ..frontend import CompileLog, Decoder
    from ..frontend.model import Model
    from ..hw.design.table import Design

SUFFIX = ".stepgen"
"""Of files with a model."""

CONFIG = "config.json"
"""How files end whose model has random weights."""


def is_model(spec: str) -> bool:
    """Whether a text names a file with a model, or with the config of one."""
    return spec.endswith((SUFFIX, CONFIG))


def is_made(made: object) -> bool:
    """Whether a function returned a model."""
    defining = sys.modules.get("stepgen.frontend.model")  # a model's own, if there is a model
    return defining is not None and isinstance(made, defining.Model)


def load(spec: str) -> Model:
    """The model of a file.

    Raises
    ------
    StepError
        If it has none.
    """
    from ..frontend import files, from_config

    return from_config(spec) if spec.endswith(CONFIG) else files.load(spec)


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
    phase: Literal["stream", "decode", "prefill"] | None = None,
    element: Literal["bf16", "f32"] = "bf16",
    rows: int | None = None,
    columns: int = 64,
    cache: int | None = None,
    tile: int | None = None,
    batch: int = 1,
    last: bool = False,
    filled: int | list[int] | None = None,
) -> dict[str, Any]:
    """The parameters of the program of a model, those of `stepgen.frontend.lower`.

    `filled` is the number of tokens in the caches before the run, or that of each request: by
    default a half of them, of chunks a multiple of their tokens.
    """
    return {
        **{"phase": phase, "element": element, "rows": rows, "columns": columns},
        **{"cache": cache, "tile": tile, "batch": batch, "last": last, "filled": filled},
    }


def settings() -> Collection[str]:
    """The names of the parameters of the program of a model."""
    return bound(parameters)


def lowered(
    model: Model,
    spec: str,
    settings: Mapping[str, str],
    inputs: Path | Mapping[str, Any] | None,
    seed: int,
    dims: Mapping[str, str],
    *,
    draw: bool,
    tensors: bool,
) -> Lowered:
    """Lower a model, and complete its inputs.

    Parameters
    ----------
    model : Model
    spec : str
        Where it is from, for messages.
    settings : mapping of str to str
        Parameters, as texts.
    inputs : Path, mapping or None
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
        If it can't be lowered, or inputs do not fit.
    """
    from ..frontend import caches, drawing, lowering
    from ..frontend.kind import TOKENS

    asked = parameters(**bind(parameters, settings, {}, spec))
    filled = asked.pop("filled")
    graph, weights = placed(spec, lambda: lowering.lower(model, **asked, data=tensors))
    sizes = lowering.sizes_of(
        model,
        **{name: asked[name] for name in ("phase", "rows", "cache", "tile", "batch", "last")},
    )
    if sizes is None and filled is not None:
        raise StepError(f"{spec} keeps no caches, so filled can't be {filled}")
    if sizes is not None and filled is None:
        filled = sizes.rows // 2 // (sizes.chunk or 1) * (sizes.chunk or 1)
    if isinstance(inputs, Path):
        arrays = read(inputs, "the inputs", f"{inputs} holds no arrays")
    else:
        arrays = dict(inputs or {})
    if not set(arrays) <= set(model.inputs):
        own = program_inputs.load(inputs, graph) if isinstance(inputs, Path) else arrays
        program_inputs.check(graph, own)
        program_inputs.extents(graph, dims, own)
        return Lowered(graph, weights | own, {})
    extents = program_inputs.extents(graph, dims, arrays)
    tokens = extents.get(TOKENS) if sizes is None else sizes.tokens
    random = drawing.drawn(model, arrays, seed, tokens) if draw else {}
    found = lowering.fed(model, {**arrays, **random}, sizes, filled or 0)
    own = {name: found.pop(name) for name in arrays}
    if sizes is not None and tensors and draw:
        found |= caches.drawn(graph, sizes, filled or 0, seed)
    given = {name: array for name, array in weights.items() if name not in found}
    return Lowered(graph, given | own, found)


def compiled(
    model: Model,
    spec: str,
    settings: Mapping[str, str],
    design_of: Callable[[Graph], Design],
) -> CompileLog:
    """What each operation of a model becomes; see `stepgen.frontend.compile_log`.

    Parameters
    ----------
    model : Model
    spec : str
        Where it is from, for messages.
    settings : mapping of str to str
        Parameters, as texts.
    design_of : callable
        Makes a circuit of a program.

    Raises
    ------
    StepError
        If it can't be lowered, or has no circuit.
    """
    from ..frontend import compiled, lowering

    asked = parameters(**bind(parameters, settings, {}, spec))
    filled = asked.pop("filled")
    made = placed(spec, lambda: lowering.lowered(model, **asked, data=False))
    return compiled.log_of(model, made, design_of(made.graph), filled)


def decoder(model: Model, spec: str, settings: Mapping[str, str], lanes: int) -> Decoder:
    """The programs of a model for a text, and their memory.

    Parameters
    ----------
    model : Model
    spec : str
        Where it is from, for messages.
    settings : mapping of str to str
        Parameters, as texts: with phase=prefill there is a program for chunks of `rows` tokens.
    lanes : int
        Lanes of a slice.

    Raises
    ------
    StepError
        If it can't be lowered, or does not decode.
    """
    from ..frontend import Decoder, lowering

    asked = parameters(**bind(parameters, settings, {}, spec))
    phase = lowering.phase_of(model, asked.pop("phase"))
    if phase == "stream":
        raise StepError(f"{spec} takes all tokens in one run: give them by --inputs, not by --ids")
    for name, alone in (("batch", 1), ("filled", None)):
        if (given := asked.pop(name)) != alone:
            raise StepError(
                f"{spec} runs one text from its first token on, so {name} can't be {given}"
            )
    sizes = lowering.sizes_of(
        model, phase, *(asked[name] for name in ("rows", "cache", "tile")), last=asked["last"]
    )
    assert sizes is not None
    del asked["rows"]
    return placed(spec, lambda: Decoder(model, **asked, chunk=sizes.chunk, lanes=lanes))
