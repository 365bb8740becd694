"""Lowering: a model as a streaming tensor program, and its inputs as streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args

import numpy as np

from stepgen.frontend import caches, writing
from stepgen.frontend.kind import TOKENS
from stepgen.frontend.model import Model, walk
from stepgen.frontend.orders import OUTPUT
from stepgen.frontend.passes.linears import split_linears
from stepgen.frontend.passes.norms import fold_norms
from stepgen.frontend.passes.rotary import pair_columns
from stepgen.frontend.run import POSITIONS
from stepgen.frontend.sent import ROWS, Tiling
from stepgen.frontend.sharing import Sharing
from stepgen.frontend.site import Lowering
from stepgen.frontend.weight import Array
from stepgen.ir.arguments import shown
from stepgen.ir.dims import DimLike, dynamic
from stepgen.ir.dtypes import ElementType, bf16, f32
from stepgen.ir.dtypes import element as as_element
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph

COLUMNS: Final = 64
"""Columns of a slice, at most."""


Phase = Literal["stream", "decode", "prefill", "write"]
"""What a run of a program takes.

Any number of tokens; or, behind those in the caches, one of each request, or a chunk of one's, or
any number of which it makes those that are not given.
"""


def lower(
    model: Model,
    *,
    phase: Phase | None = None,
    element: ElementType | Literal["bf16", "f32"] = bf16,
    rows: int | None = None,
    columns: int = COLUMNS,
    cache: int | None = None,
    tile: int | None = None,
    batch: int = 1,
    last: bool = False,
    apart: bool = False,
    tiling: Tiling = "address",
    expert_rows: int = ROWS,
    routed: int | None = None,
    tile_rows: int | None = None,
    tile_cols: int | None = None,
    array: Sharing = "own",
    data: bool = True,
) -> tuple[Graph, dict[str, Array]]:
    """A model as a streaming tensor program.

    The program takes the model's inputs token by token, rows as tiles of f32 ``[1, width]`` and ids
    as addresses ``[1, 1]``. Its weights are tensors in off-chip memory, read anew for each tile.
    Keys and values of attention are tensors too, which a run reads and writes: the next token is a
    run on the same memory, and `fed` gives the streams that say where its rows go. Programs of one
    model that decode and that prefill have the same memory.

    Parameters
    ----------
    model : Model
    phase : {"stream", "decode", "prefill", "write"}, optional
        Whether a run takes any number of tokens up to the model's; or one behind those in the
        caches; or a chunk of `rows`; or any number one behind the other, of which it chooses those
        that are not given. By default it decodes if there is attention with a cache.
    element : ElementType
        bf16 or f32: that of the factors of products; all else is f32. A circuit is for bf16.
    rows : int, optional
        Tokens of a tile: weights are read once for so many. By default 1, and to prefill those of
        a tile of the caches, which must have a multiple of them.
    columns : int
        Most columns of a tile of a linear's result, where they divide it evenly.
    cache : int, optional
        Most tokens in the caches; by default 256 or what the model takes.
    tile : int, optional
        Rows of a tile of the caches, 16 by default.
    batch : int
        Requests with caches of their own. A run decodes a token of each, or prefills one of them.
    last : bool
        Whether only the last token of a chunk goes on behind the last attention, for the one that
        follows.
    apart : bool
        Whether the requests of a batch are elements of the streams, one after the other, as
        `parallelize` takes them, and not rows of one tile. Not for loops of layers.
    tiling : {"address", "static", "dynamic"}
        How experts read their weights: by address for each token, or once for a tile of their
        tokens, which has a static number of rows, or all. A loop has experts by address.
    expert_rows : int
        Rows of a static tile, 16 by default.
    routed : int, optional
        Number of tokens whose experts, and what they count, are inputs, ``route`` and ``scores``.
    tile_rows, tile_cols : int, optional
        Most rows and columns of the tiles of a linear's matrix [in, out], where they divide it
        evenly. By default a linear that reads whole rows has tiles of all rows, one that reads
        slices has tiles of all columns, and no value comes in another order than it is read.
    array : {"own", "shared"}
        Whether each linear has a unit of products, or those of a loop that multiply alike share
        one, which serves them one after the other.
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
    given: dict[str, Any] = {"phase": phase, "rows": rows, "cache": cache, "tile": tile}
    given |= {"batch": batch, "last": last, "columns": columns, "data": data}
    given |= {"tiling": tiling, "expert_rows": expert_rows, "routed": routed}
    given |= {"tile_rows": tile_rows, "tile_cols": tile_cols, "array": array, "apart": apart}
    made = lowered(model, element=element, **given)
    return made.graph, made.weights


def lowered(
    model: Model,
    *,
    phase: Phase | None = None,
    element: ElementType | Literal["bf16", "f32"] = bf16,
    rows: int | None = None,
    columns: int = COLUMNS,
    cache: int | None = None,
    tile: int | None = None,
    batch: int = 1,
    last: bool = False,
    apart: bool = False,
    tiling: Tiling = "address",
    expert_rows: int = ROWS,
    routed: int | None = None,
    tile_rows: int | None = None,
    tile_cols: int | None = None,
    array: Sharing = "own",
    data: bool = True,
) -> Lowering:
    """As `lower`, with what each operation became."""
    element = as_element(element)
    if element not in (bf16, f32):
        raise StepError(f"{model.name} can be lowered to bf16 or f32, not to {element}")
    numbers = {"rows": rows, "columns": columns, "cache": cache, "tile": tile, "batch": batch}
    numbers |= {"expert_rows": expert_rows, "routed": routed}
    numbers |= {"tile_rows": tile_rows, "tile_cols": tile_cols}
    for what, number in numbers.items():
        if number is not None and (type(number) is not int or number < 1):
            raise StepError(f"{model.name}: {what} must be an integer of at least 1, not {number}")
    if tiling not in get_args(Tiling):
        raise StepError(
            f"{model.name}: tiling must be address, static or dynamic, not {shown(tiling)}"
        )
    if array not in get_args(Sharing):
        raise StepError(f"{model.name}: array must be own or shared, not {shown(array)}")
    sizes = sizes_of(model, phase, rows, cache, tile, batch, last=last, apart=apart)
    if routed is not None and (sizes is not None or (rows or 1) > 1):
        raise StepError(
            f"{model.name}: experts are given of tokens one by one, without caches: take a block "
            "of experts alone, such as block=mlp, and rows=1"
        )
    model = fold_norms(pair_columns(split_linears(model)))
    together = (rows or 1) if sizes is None else 1 if sizes.apart else sizes.tokens
    made = Lowering(model, Graph("model"), element, together, columns, data)
    for op in walk(model.ops):
        wanted = op.kind.columns()
        if wanted is not None:
            made.columns_of[op.inputs[0]] = wanted
    dims: tuple[DimLike, ...] = (1,) if together == 1 else (1, together)
    made.tiling, made.expert_rows, made.routed = tiling, expert_rows, routed is not None
    made.tile_rows, made.tile_cols, made.array = tile_rows, tile_cols, array
    if sizes is None:
        dims = (routed or dynamic(TOKENS, bound=model.tokens[1], positive=True),)
    else:
        made.caches, made.places = sizes, caches.places(model)
        dims = (sizes.requests,) if sizes.apart else dims
    made.dims = dims
    made.graph.name = made.name(model.name)
    made.names.clear()
    if sizes is not None and sizes.writes:
        made.tokens = writing.Tokens.begun(made, sizes)
        made.dims = made.tokens.ids.shape
        made.values |= made.tokens.values(model)
    for name, value in model.inputs.items():
        if name in made.values:
            continue
        if len(value.shape) > 2 and together > 1:
            raise StepError(
                f"{model.name}: the input {name} is {value}, and heads go in with one token in a "
                "tile: leave rows and batch out, or make apart=true"
            )
        made.values[name] = made.input(name, value, dims)
    behind = caches.behind(model) if sizes is not None and sizes.last else len(model.ops)
    made.lower(model.ops[:behind])
    if sizes is not None and sizes.last:
        later = {name for op in model.ops[behind:] for name in op.inputs}
        made.keep_last([n for n in made.values if n in later or n in model.outputs])
        made.lower(model.ops[behind:])
    if array == "shared" and not made.arrays:
        raise StepError(
            f"{model.name}: array=shared changes nothing here: an array serves two or more linears "
            "that multiply alike in a loop of layers; leave it out"
        )
    made.names |= {node.name for node in made.graph.nodes}  # those of operators
    if made.tokens is not None:
        made.tokens.end(model, made)
        return made
    for name in model.outputs:
        made.graph.output(made.result(made.noted(name, OUTPUT)), made.name(name))
    return made


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
        raise StepError(
            f"{model.name}: phase must be stream, decode, prefill or write, not {shown(phase)}"
        )
    return phase


def sizes_of(
    model: Model,
    phase: Phase | None = None,
    rows: int | None = None,
    cache: int | None = None,
    tile: int | None = None,
    batch: int = 1,
    *,
    last: bool = False,
    apart: bool = False,
) -> caches.Caches | None:
    """The caches of a program, None if it keeps none; parameters are those of `lower`.

    Raises
    ------
    StepError
        If they do not fit together.
    """
    phase = phase_of(model, phase)
    if phase == "decode" and (rows or 1) > 1:
        raise StepError(
            f"{model.name}: a run decodes one token of a request, so rows must be 1, not {rows}; "
            "chunks are for phase=prefill"
        )
    if last and phase != "prefill":
        raise StepError(f"{model.name}: last is for phase=prefill, whose runs take many tokens")
    if phase == "write":
        if (rows or 1, batch) != (1, 1):
            raise StepError(
                f"{model.name}: phase=write is for one request, token by token: leave rows and "
                "batch out"
            )
        writing.check(model)
    if apart and (phase != "decode" or any(op.kind.loop() for op in model.ops)):
        raise StepError(
            f"{model.name}: apart is for phase=decode without a loop of layers: take a block of "
            "one layer, such as block=self_attn"
        )
    if phase == "stream":
        if (cache, tile, batch) != (None, None, 1):
            raise StepError(
                f"{model.name}: cache, tile and batch are for phase=decode and phase=prefill, "
                "which keep caches"
            )
        return None
    writes = phase == "write"
    sizes = caches.sized(model, cache, tile, requests=batch, last=last, apart=apart, writes=writes)
    if phase in ("decode", "write"):
        return sizes
    return caches.sized(model, cache, tile, requests=batch, chunk=rows or sizes.tile, last=last)


def fed(
    model: Model,
    inputs: Mapping[str, Any],
    sizes: caches.Caches | None = None,
    filled: int | Sequence[int] = 0,
    which: int = 0,
    more: int = 0,
) -> dict[str, Array]:
    """Inputs of a model as those of its program; positions count on if they are not given.

    Parameters
    ----------
    model : Model
    inputs : mapping of str to array
        ``[T, width]`` and ``[T]``, as `Model.run` takes them; of several requests a token of each.
    sizes : Caches, optional
        Those of a program that keeps them.
    filled : int or sequence of int
        Tokens that are in them, by request.
    which : int
        The number of the request, if a chunk is prefilled.
    more : int
        How many tokens follow those that are given, of a run that writes.

    Raises
    ------
    StepError
        If they do not fit, an id is past a table, or the caches are full.
    """
    for name in inputs:
        if name not in model.inputs:
            raise StepError(f"{model.name} has no input {name!r}, it has {', '.join(model.inputs)}")
    found = {name: model.taken(name, given) for name, given in inputs.items()}
    if sizes is not None and sizes.writes:
        if not found:
            return {}
        if {*found} != {writing.IDS}:
            raise StepError(
                f"{model.name}: a run that writes takes {writing.IDS} alone, and counts positions "
                f"itself; it is given {', '.join(found)}"
            )
        _check_numbers(model, found, sizes.rows)
        (behind_all,) = _behind(model, sizes, filled)
        return writing.fed(model, sizes, found[writing.IDS], more, int(behind_all))
    if more:
        raise StepError(f"{model.name}: more={more} is for a program that writes: phase=write")
    counts = {name: len(array) for name, array in found.items()}
    if len({*counts.values()}) > 1:
        each = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise StepError(f"{model.name}: its inputs must have one number of rows, but {each}")
    behind = _behind(model, sizes, filled)
    for count in counts.values():
        _check_count(model, count, sizes)
        if POSITIONS in model.inputs:
            apart = 0 if sizes is not None and sizes.chunk is None else np.arange(count)
            found.setdefault(POSITIONS, behind + apart)
    places: dict[str, Array] = {}
    if sizes is not None:
        requests = np.arange(sizes.requests) if sizes.chunk is None else np.array([which])
        count = 1 if sizes.chunk is None else max(counts.values(), default=sizes.tokens)
        places = caches.fed(model, sizes, behind, requests, count)
    positions = model.tokens[1] if sizes is None else sizes.rows
    _check_numbers(model, found, positions)
    if sizes is None or sizes.apart:
        return {name: _tiles(array) for name, array in found.items()} | places
    if not found:
        return places
    # A chunk is filled up; later tokens take the rows of those that fill it.
    fill, dims = sizes.tokens - len(next(iter(found.values()))), (1,) * (1 + (sizes.tokens > 1))
    padded = {n: np.pad(x, [(0, fill), *[(0, 0)] * (x.ndim - 1)], "edge") for n, x in found.items()}
    made = {name: _tiles(array) for name, array in padded.items()}
    return {n: x.reshape(*dims[1:], *x.shape) for n, x in made.items()} | places


def _behind(model: Model, sizes: caches.Caches | None, filled: int | Sequence[int]) -> Array:
    """How many tokens are there, of each request of a run; one number is that of all."""
    behind = np.array(filled).reshape(-1)
    requests = 1 if sizes is None or sizes.chunk is not None else sizes.requests
    if len(behind) not in (1, requests):
        raise StepError(
            f"{model.name}: filled must be one number, or one for each request of a run, here "
            f"{requests}, not {len(behind)} numbers"
        )
    if behind.min() < 0:
        raise StepError(f"{model.name}: filled must be at least 0, not {behind.min()}")
    return np.broadcast_to(behind, requests)


def _check_numbers(model: Model, found: Mapping[str, Array], positions: int) -> None:
    """Check that ids and positions are rows of their tables."""
    for placed in model.placed:
        for index, bound in placed.op.kind.bounds(placed.given, positions).items():
            name = placed.op.inputs[index]
            if name in found:
                placed.op.check_numbers(found[name], *bound)


def _tiles(array: Array) -> Array:
    """Ids, rows or heads of tokens as tiles."""
    count, *heads, width = (*array.shape, 1)[: max(2, array.ndim)]
    return array.reshape(count, *(n for n in heads if n != 1), 1, width)


def _check_count(model: Model, count: int, sizes: caches.Caches | None) -> None:
    """Check that a run takes so many tokens."""
    if sizes is None or sizes.chunk is not None:
        model.check_tokens(count)
    if sizes is None or (count <= sizes.tokens if sizes.chunk else count == sizes.tokens):
        return
    if sizes.chunk is None and sizes.requests > 1:
        raise StepError(
            f"{model.name}: a run takes a token of each of {sizes.requests} requests, not {count}"
        )
    takes = "decodes one token" if sizes.chunk is None else f"takes {sizes.chunk} tokens at most"
    raise StepError(f"{model.name}: a run {takes}, not {count}")
