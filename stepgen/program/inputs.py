"""Inputs of a program: checked, completed by random ones, read from files and written to them."""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from stepgen.ir.dtypes import STORED, DataType, Selector, Tile, address
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node, Stream
from stepgen.ir.system import programs
from stepgen.semantics import streamfile
from stepgen.semantics.arrays import ALONE, read
from stepgen.semantics.host import check_memory
from stepgen.semantics.inputs import to_tokens
from stepgen.semantics.memory import as_matrix
from stepgen.semantics.numbers import DTYPES
from stepgen.semantics.tokens import Token
from stepgen.tools.atomic import atomic_file

Array = npt.NDArray[Any]

CORNERS = 1 / 16
"""Share of drawn integers that are at an end of their type's range, or beside it."""


class NotDrawn(StepError):
    """An input that a program does not return has no known size."""


def names(graph: Graph) -> dict[str, Stream | None]:
    """Inputs of a program by name: its input streams, and None for tensors."""
    return {**graph.inputs, **dict.fromkeys(graph.tensors)}


def check(graph: Graph, inputs: Mapping[str, Any]) -> None:
    """Check names and contents of tensors; streams are checked when they are encoded.

    Raises
    ------
    StepError
        If the program has no input of a name or a matrix does not fit its tensor.
    """
    known = names(graph)
    for name, value in inputs.items():
        if name not in known:
            some = f"it takes {', '.join(known)}" if known else "it takes none"
            raise StepError(f"the program {graph.name} has no input {name!r}, {some}")
        if known[name] is None:
            as_matrix(graph.tensors[name], value)


def extents(graph: Graph, texts: Mapping[str, str], given: Collection[str]) -> dict[str, int]:
    """Read the extents of dynamic dims of drawn inputs.

    Parameters
    ----------
    graph : Graph
        The program.
    texts : mapping of str to str
        Extents by the names of dims.
    given : collection of str
        Names of the inputs that are not drawn.

    Returns
    -------
    dict of str to int

    Raises
    ------
    StepError
        If no input has a dim of this name, none of those that have it is drawn, or the dim can't
        have this extent.
    """
    having: dict[Expr, list[str]] = {}
    bounds: dict[Expr, int | None] = {}
    for name, stream in graph.inputs.items():
        for dim in (*stream.shape, *stream.dtype.dims):
            bounds[dim.expr] = dim.bound
            for symbol in dim.expr.free_symbols:
                having.setdefault(symbol, []).append(name)
    known = {symbol.name: symbol for symbol in having}
    found = {}
    for name, text in texts.items():
        if name not in known:
            some = f"only {', '.join(sorted(known))}" if known else "none at all"
            raise StepError(f"--dim {name}: inputs of {graph.name} have no such dim, {some}")
        symbol = known[name]
        if all(one in given for one in having[symbol]):
            some = " and ".join(dict.fromkeys(having[symbol]))
            raise StepError(f"--dim {name} is for drawn inputs, and {some} is given")
        low, high = int(symbol.positive), bounds.get(symbol)
        whole = text.isascii() and text.isdecimal() and len(text) < 20
        if not whole or int(text) < low or (high is not None and int(text) > high):
            limit = f"of at least {low}" if high is None else f"within {low}..{high}"
            raise StepError(f"--dim {name} takes an integer {limit}, not {text!r}")
        found[name] = int(text)
    return found


def complete(
    graph: Graph,
    inputs: Mapping[str, Any],
    seed: int = 0,
    *,
    tensors: bool = True,
    dims: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Draw missing inputs.

    Parameters
    ----------
    graph : Graph
        The program.
    inputs : mapping of str to object
        The given inputs.
    seed : int
        Seed of the drawn inputs. Each input has its own generator, so the others stay the same if
        one is given.
    tensors : bool
        Whether to draw the contents of tensors; those of addresses are always drawn.
    dims : mapping of str to int, optional
        Extents of dynamic dims of drawn streams, by name.

    Returns
    -------
    dict of str to object
        Given and drawn inputs, without tensors that are only written.

    Raises
    ------
    StepError
        If a stream is missing with a dynamic dim that has no extent.
    """
    check(graph, inputs)
    found = dict(inputs)
    uses: dict[str, list[Node]] = {}
    for begin, one in programs(graph).items():
        for node in one.nodes:
            if "tensor" in node.attrs:
                uses.setdefault(begin + node.attrs["tensor"], []).append(node)
    for name, stream in names(graph).items():
        if name in found:
            continue
        rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
        if stream is not None:
            found[name] = _stream(rng, name, stream, dims or {})
        elif (
            (tensors or graph.tensors[name].element == address)
            and uses.get(name)
            and not any(node.face.writes for node in uses[name])
        ):
            tensor = graph.tensors[name]
            found[name] = _numbers(rng, name, tensor.shape, tensor.element.name)
    return found


def _stream(
    rng: np.random.Generator, name: str, stream: Stream, extents: Mapping[str, int]
) -> Array:
    dtype = stream.dtype
    exprs = [d.expr for d in (*stream.shape, *dtype.dims)]
    symbols = sorted({s for expr in exprs for s in expr.free_symbols}, key=str)
    if missing := [s.name for s in symbols if s.name not in extents]:
        options = " ".join(f"--dim {dim}=..." for dim in missing)
        raise NotDrawn(
            f"the input {name} is {stream}, which can't be drawn: say how large it is with "
            f"{options}, return it from the program, or give it in a file with --inputs"
        )
    shape = [int(expr.evaluate(extents)) for expr in exprs]
    assert isinstance(dtype, Tile | Selector)
    if isinstance(dtype, Selector):
        check_memory(8 * dtype.n * math.prod(shape), f"drawing {name}, {stream},")
        return _masks(rng, shape, dtype)
    return _numbers(rng, name, tuple(shape), dtype.element.name)


def _masks(rng: np.random.Generator, shape: Sequence[int], dtype: Selector) -> Array:
    order = rng.random((*shape, dtype.n)).argsort(axis=-1)
    hot = rng.integers(0, dtype.n + 1, (*shape, 1)) if dtype.hot is None else dtype.hot
    return np.asarray(order < hot)


def _numbers(rng: np.random.Generator, name: str, shape: tuple[int, ...], element: str) -> Array:
    check_memory(16 * math.prod(shape), f"drawing {name} of {'x'.join(map(str, shape))} numbers")
    if element == "bool":
        return rng.random(shape) < 0.5
    if element in ("bf16", "f32"):
        values = rng.uniform(-1, 1, shape).astype(np.float32)
        return values.astype(ml_dtypes.bfloat16) if element == "bf16" else values
    if element == "address":
        return np.zeros(shape, np.int64)
    # Small numbers, so that products of them do not all saturate.
    low, high = STORED[element].limits or (0, 0)
    most = min(high, 16 if element == "int8" else 1000)
    whole: Array = rng.integers(-most, most + 1, shape).astype(DTYPES[STORED[element].on_chip.name])
    at = np.flatnonzero(rng.random(shape) < CORNERS)
    whole.flat[at] = rng.choice([low, low + 1, high - 1, high], len(at))
    return whole


def load(path: Path, graph: Graph) -> dict[str, Any]:
    """Read inputs from an ``.npz`` file, as ``docs/file-formats.md`` says.

    Parameters
    ----------
    path : Path
        Holds matrices by the names of tensors; streams of static shape as one array by their
        name; any stream as ``name/stops``, ``name/values``, ... A file of one stream alone is
        the program's only input stream.
    graph : Graph
        The program that the inputs are for.

    Raises
    ------
    StepError
        If the file can't be read, or holds something that the program does not take.
    """
    none = f"{path} holds no inputs: it is no .npz file of plain arrays"
    arrays = read(path, "the inputs", none)
    if ALONE in arrays:
        raise StepError(none)
    known = names(graph)
    if "stops" in arrays and "stops" not in known:
        streams = [name for name, stream in known.items() if stream is not None]
        if len(streams) != 1:
            raise StepError(
                f"{path} holds one stream without a name, but the program {graph.name} has "
                f"{len(streams)} input streams"
            )
        arrays = {f"{streams[0]}/{key}": array for key, array in arrays.items()}
    found: dict[str, Any] = {}
    groups: dict[str, dict[str, Array]] = {}
    for key, array in arrays.items():
        name, slash, part = key.rpartition("/")
        if slash:
            groups.setdefault(name, {})[part] = array
        else:
            found[key] = array
    for name, group in groups.items():
        stream = known.get(name)
        if stream is None:
            some = f"its streams are {', '.join(n for n, s in known.items() if s is not None)}"
            raise StepError(
                f"{path}: the program {graph.name} has no input stream {name!r}, {some}"
            )
        found[name] = streamfile.unpack(
            group, f"{path}: {name}", stream.rank, _element(stream.dtype)
        )
    check(graph, found)
    return found


def _element(dtype: DataType) -> str | None:
    if isinstance(dtype, Selector):
        return "bool"
    return dtype.element.name if isinstance(dtype, Tile) else None


def save_given(path: Path, graph: Graph, inputs: Mapping[str, Any]) -> None:
    """Write inputs in any of their forms into one ``.npz`` file that `load` reads.

    Parameters
    ----------
    path : Path
        Written whole or not at all.
    graph : Graph
        The program that the inputs are for.
    inputs : mapping of str to object
        By the name of an input stream or tensor.
    """
    streams, tensors = {}, {}
    for name, stream in names(graph).items():
        if name in inputs and stream is None:
            tensors[name] = as_matrix(graph.tensors[name], inputs[name])
        elif name in inputs and stream is not None:
            streams[name] = (to_tokens(inputs[name], stream.type, name), stream.rank)
    save(path, streams, tensors)


def save(
    path: Path,
    streams: Mapping[str, tuple[list[Token], int]],
    tensors: Mapping[str, Array],
) -> None:
    """Write streams and matrices into one ``.npz`` file that `load` reads.

    Parameters
    ----------
    path : Path
        Written atomically.
    streams : mapping of str to (list of Token, int)
        Tokens and rank by name.
    tensors : mapping of str to array
        Matrices by name.
    """
    arrays: dict[str, Any] = {}
    for name, (tokens, rank) in streams.items():
        for key, array in streamfile.pack(tokens, rank, f"{path}: {name}").items():
            arrays[f"{name}/{key}"] = array
    for name, matrix in tensors.items():
        bf16 = matrix.dtype == ml_dtypes.bfloat16
        arrays[name] = matrix.astype(np.float32) if bf16 else matrix
    with atomic_file(path) as place, open(place, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
