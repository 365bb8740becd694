"""Programs of models: lowered, with weights, and inputs from a file or drawn."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.where import placed
from stepgen.program import inputs as program_inputs
from stepgen.program.routing import Routing, checked
from stepgen.program.settings import bind
from stepgen.program.settings import parameters as bound
from stepgen.program.traces import Lengths
from stepgen.semantics.arrays import read

if TYPE_CHECKING:
    from stepgen.frontend import Batch, CompileLog, Decoder, Fused
    from stepgen.frontend.model import Model
    from stepgen.hw.design.table import Design
    from stepgen.ir.lanes import Lanes

SUFFIX = ".stepgen"
"""Of files with a model."""

MORE = 8
"""Tokens that a run makes which is not asked for others, where the caches have room."""

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
    from stepgen.frontend import files, from_config

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
    phase: Literal["stream", "decode", "prefill", "write"] | None = None,
    element: Literal["bf16", "f32"] = "bf16",
    rows: int | None = None,
    columns: int = 64,
    cache: int | None = None,
    tile: int | None = None,
    batch: int = 1,
    last: bool = False,
    apart: bool = False,
    filled: int | list[int] | None = None,
    more: int | None = None,
    block: str | None = None,
    layer: int = 0,
    tiling: Literal["address", "static", "dynamic"] | None = None,
    expert_rows: int = 16,
    tile_rows: int | None = None,
    tile_cols: int | None = None,
    array: Literal["own", "shared"] = "own",
    onchip_bits: int | None = None,
    group: int | None = None,
) -> dict[str, Any]:
    """The parameters of the program of a model, those of `stepgen.frontend.lower`.

    `filled` is the number of tokens in the caches before the run, or that of each request: by
    default a half of them, of chunks a multiple of their tokens. With phase=write a run makes
    `more` tokens behind those that are given, 8 by default. `block` is the part of the model that
    the program is, of one `layer`; see `stepgen.frontend.block`. With `onchip_bits` the program is
    a `group` of operations whose memories fit; see `stepgen.frontend.fused`.
    """
    return {
        **{"phase": phase, "element": element, "rows": rows, "columns": columns},
        **{"cache": cache, "tile": tile, "batch": batch, "last": last, "filled": filled},
        **{"block": block, "layer": layer, "tiling": tiling, "expert_rows": expert_rows},
        **{"tile_rows": tile_rows, "tile_cols": tile_cols, "array": array},
        **{"onchip_bits": onchip_bits, "group": group, "apart": apart, "more": more},
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
    routing: Routing | None = None,
    lengths: Lengths | None = None,
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
    routing : int array of shape [tokens, top], optional
        The experts of each token, for a block with experts.
    lengths : int array of shape [requests], optional
        Tokens in the caches of each request, for a model with attention.
    draw : bool
        Whether to draw those that are missing.
    tensors : bool
        Whether to read the weights.

    Raises
    ------
    StepError
        If it can't be lowered, or inputs do not fit.
    """
    from stepgen.frontend import caches, drawing, lowering
    from stepgen.frontend.kind import TOKENS

    model, asked = _part(model, parameters(**bind(parameters, settings, {}, spec)))
    if lengths is not None:
        _take_lengths(model, spec, asked, lengths)
    filled, budget, number = (asked.pop(name) for name in ("filled", "onchip_bits", "group"))
    more = _more(spec, asked)
    route, scores = ({}, {}) if routing is None else _experts(model, spec, routing, seed)
    asked["tiling"] = asked["tiling"] or ("address" if routing is None else "dynamic")
    asked["routed"] = None if routing is None else len(routing)
    graph, weights = placed(spec, lambda: lowering.lower(model, **asked, data=tensors))
    sizes = lowering.sizes_of(
        model,
        **{n: asked[n] for n in ("phase", "rows", "cache", "tile", "batch", "last", "apart")},
    )
    fusion = _fusion(model, spec, asked, budget, number, data=tensors)
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
        return Lowered(graph, weights | own | route, scores)
    extents = program_inputs.extents(graph, dims, arrays)
    tokens = asked["routed"] or extents.get(TOKENS) if sizes is None else sizes.tokens
    random = drawing.drawn(model, arrays, seed, tokens) if draw else {}
    _check_count(model, spec, arrays, routing)
    taken = {**arrays, **random}
    if sizes is not None and sizes.writes and more is None:
        room = sizes.rows - int(np.max(filled)) - len(taken.get("ids", ()))
        more = max(0, min(MORE, room))
    found = lowering.fed(model, taken, sizes, filled or 0, more=more or 0)
    own = {name: found.pop(name) for name in arrays}
    if sizes is not None and tensors and draw:
        found |= caches.drawn(graph, sizes, filled or 0, seed)
    given = {name: array for name, array in weights.items() if name not in found}
    whole = Lowered(graph, given | own | route, found | scores)
    if fusion is None:
        return whole
    return _of_group(spec, fusion, number, whole, run=tensors and draw)


def _more(spec: str, asked: dict[str, Any]) -> int | None:
    """How many tokens a run is asked to make."""
    more: int | None = asked.pop("more")
    if more is not None and asked["phase"] != "write":
        raise StepError(f"{spec}: more={more} is for phase=write, whose runs make tokens")
    if more is not None and more < 0:
        raise StepError(f"{spec}: more must be at least 0, not {more}")
    return more


def _fusion(
    model: Model,
    spec: str,
    asked: Mapping[str, Any],
    budget: int | None,
    number: int | None,
    *,
    data: bool = False,
) -> Fused | None:
    """The groups of a program, if a budget is given."""
    from stepgen.frontend.fusing import fused

    if budget is None:
        if number is not None:
            raise StepError(f"{spec}: group={number} is one of a budget: add onchip_bits=...")
        return None
    return placed(spec, lambda: fused(model, budget, **asked, data=data))


def _of_group(
    spec: str, fusion: Fused, number: int | None, whole: Lowered, *, run: bool
) -> Lowered:
    """The program of a group, with what earlier ones make of the inputs."""
    last = len(fusion.groups) - 1
    if number is None and last:
        raise StepError(
            f"{spec} has {last + 1} groups under {fusion.onchip_bits:,} onchip_bits, each a "
            f"program: group=0 to group={last} names one, and show --compiled lists them"
        )
    if not 0 <= (number or 0) <= last:
        raise StepError(f"{spec} has groups 0 to {last}, so group can't be {number}")
    group = fusion.groups[number or 0]
    known = {*group.graph.inputs, *group.graph.tensors}
    drawn = {name: array for name, array in whole.drawn.items() if name in known}
    if not run:
        return Lowered(group.graph, {n: a for n, a in whole.given.items() if n in known}, drawn)
    contents = fusion.inputs(number or 0, whole.given | whole.drawn)
    return Lowered(group.graph, {n: a for n, a in contents.items() if n not in drawn}, drawn)


def _part(model: Model, asked: dict[str, Any]) -> tuple[Model, dict[str, Any]]:
    """The block that is asked for, and the other parameters."""
    from stepgen.frontend.passes.blocks import block

    left = {name: value for name, value in asked.items() if name not in ("block", "layer")}
    if asked["block"] is not None:
        return block(model, asked["block"], asked["layer"]), left
    if asked["layer"]:
        raise StepError(f"{model.name}: layer={asked['layer']} is that of a block: add block=...")
    return model, left


def _take_lengths(model: Model, spec: str, asked: dict[str, Any], lengths: Lengths) -> None:
    """Parameters of a batch of requests with so many tokens in their caches."""
    from stepgen.frontend import caches

    if not caches.places(model):
        raise StepError(f"{spec} has no attention, whose caches --lengths fills")
    for name in ("batch", "filled"):
        if asked[name] != parameters()[name]:
            raise StepError(f"{spec} is given {name} twice, by --lengths and by --set {name}")
    asked |= {"batch": len(lengths), "filled": [int(n) for n in lengths]}
    if len(lengths) == 1:
        asked["filled"] = int(lengths[0])
    rows, most = int(lengths.max()) + 1, model.tokens[1]
    if rows > most:
        raise StepError(
            f"{spec} takes {most} tokens at most, and request {int(lengths.argmax())} of --lengths "
            f"has {rows} with the next one"
        )
    asked["cache"] = asked["cache"] or rows


def _experts(
    model: Model, spec: str, routing: Routing, seed: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The input streams of the experts of tokens, and of drawn scores."""
    from stepgen.frontend.kinds.experts import Experts
    from stepgen.frontend.sent import ROUTE, SCORES

    found = [placed for placed in model.placed if isinstance(placed.op.kind, Experts)]
    if len(found) != 1 or found[0].depth:
        has = "has no experts" if not found else "has experts in several layers"
        raise StepError(
            f"{spec} {has}, and --routing is of one layer's: name a block with experts, as in "
            "--set block=mlp"
        )
    kind, experts = found[0].op.kind, found[0].given.weights["gate"][0]
    assert isinstance(kind, Experts)
    checked(spec, routing, tokens=len(routing), experts=experts, top=kind.top)
    model.check_tokens(len(routing))
    route = np.zeros((len(routing), experts), np.bool_)
    np.put_along_axis(route, routing, True, axis=1)
    rng = np.random.default_rng([seed, len(routing)])
    scores = rng.dirichlet(np.full(kind.top, 4.0), (len(routing), 1)).astype(np.float32)
    return {ROUTE: route}, {SCORES: scores}


def _check_count(
    model: Model, spec: str, arrays: Mapping[str, Any], routing: Routing | None
) -> None:
    """Check that inputs have as many tokens as a routing."""
    for name, array in arrays.items():
        if routing is not None and len(model.taken(name, array)) != len(routing):
            raise StepError(
                f"{spec}: --routing has {len(routing)} tokens, and {name} has {len(array)}"
            )


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
    from stepgen.frontend import compiled, lowering

    model, asked = _part(model, parameters(**bind(parameters, settings, {}, spec)))
    filled = asked.pop("filled")
    _more(spec, asked)
    del asked["onchip_bits"], asked["group"]  # the log is that of the whole
    asked["tiling"] = asked["tiling"] or "address"
    made = placed(spec, lambda: lowering.lowered(model, **asked, data=False))
    return compiled.log_of(model, made, design_of(made.graph), filled)


def fusion(model: Model, spec: str, settings: Mapping[str, str]) -> Fused | None:
    """The groups of a model's operations, if settings have a budget; parameters as of `compiled`.

    Raises
    ------
    StepError
        If an operation does not fit alone.
    """
    model, asked = _part(model, parameters(**bind(parameters, settings, {}, spec)))
    budget, number = asked.pop("onchip_bits"), asked.pop("group")
    del asked["filled"], asked["more"]
    asked["tiling"] = asked["tiling"] or "address"
    return _fusion(model, spec, asked, budget, number)


def activations(model: Model, **settings: Any) -> tuple[int, int]:
    """Bytes of a layer's values; see `stepgen.frontend.fusing.activations`."""
    from stepgen.frontend import fusing

    return fusing.activations(model, **settings)


def decoder(model: Model, spec: str, settings: Mapping[str, str], lanes: Lanes) -> Decoder:
    """The programs of a model for a text, and their memory.

    Parameters
    ----------
    model : Model
    spec : str
        Where it is from, for messages.
    settings : mapping of str to str
        Parameters, as texts: with phase=prefill there is a program for chunks of `rows` tokens,
        with phase=write one that makes tokens.
    lanes : int or mapping of str to int
        Lanes of a slice.

    Raises
    ------
    StepError
        If it can't be lowered, or does not decode.
    """
    from stepgen.frontend import Decoder, lowering

    model, asked = _part(model, parameters(**bind(parameters, settings, {}, spec)))
    phase = lowering.phase_of(model, asked.pop("phase"))
    if phase == "stream":
        raise StepError(f"{spec} takes all tokens in one run: give them by --inputs, not by --ids")
    if asked.pop("more") is not None:
        raise StepError(f"{spec} goes on behind a text by --more, so leave more out of --set")
    others = ("batch", "filled", "onchip_bits", "group", "tiling", "expert_rows", "apart")
    alone = parameters()
    for name in others:  # experts of texts are read by address
        if (given := asked.pop(name)) != alone[name]:
            raise StepError(
                f"{spec} runs one text from its first token on, so {name} can't be {given}"
            )
    sizes = lowering.sizes_of(
        model, phase, *(asked[name] for name in ("rows", "cache", "tile")), last=asked["last"]
    )
    assert sizes is not None
    del asked["rows"]
    asked |= {"chunk": sizes.chunk, "writes": sizes.writes}
    return placed(spec, lambda: Decoder(model, **asked, lanes=lanes))


def batch(
    model: Model, spec: str, settings: Mapping[str, str], lanes: Lanes, requests: int
) -> Batch:
    """The program of a model for several texts, and its memory.

    Parameters
    ----------
    model : Model
    spec : str
        Where it is from, for messages.
    settings : mapping of str to str
        Parameters, as texts: with phase=prefill there is a program for chunks of `rows` tokens.
    lanes : int or mapping of str to int
        Lanes of a slice.
    requests : int
        Texts, which all run at a time if `batch` does not say how many do.

    Raises
    ------
    StepError
        If it can't be lowered, or does not decode.
    """
    from stepgen.frontend import Batch, lowering

    asked = parameters(**bind(parameters, settings, {}, spec))
    phase = lowering.phase_of(model, asked["phase"])
    if phase == "stream":
        raise StepError(f"{spec} takes all tokens in one run: give them by --inputs, not by --ids")
    alone = parameters()
    whole = ("filled", "more", "last", "block", "layer", "tiling", "expert_rows", "apart")
    for name in (*whole, "onchip_bits", "group"):
        if asked[name] != alone[name]:
            raise StepError(
                f"{spec} runs {requests} texts from their first tokens on, so {name} can't be "
                f"{asked[name]}"
            )
    sizes = lowering.sizes_of(model, phase, *(asked[name] for name in ("rows", "cache", "tile")))
    assert sizes is not None
    if sizes.writes:
        raise StepError(f"{spec} writes one text at a time: leave phase=write out for {requests}")
    names = ("element", "columns", "cache", "tile", "tile_rows", "tile_cols", "array")
    given = {name: asked[name] for name in names}
    given |= {"requests": asked["batch"] if "batch" in settings else requests}
    return placed(spec, lambda: Batch(model, chunk=sizes.chunk, lanes=lanes, **given))
