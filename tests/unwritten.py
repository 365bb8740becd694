"""Elements of memory that nobody wrote, with anything in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import stepgen as sg
from stepgen.ir.dtypes import STORED
from stepgen.semantics.memory import as_matrix
from stepgen.semantics.numbers import DTYPES

Unwritten = Mapping[str, npt.NDArray[np.bool_]]
"""By tensor, which elements hold nothing that anybody wrote."""

CONSTANTS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
KINDS = ("bits", *CONSTANTS)
"""What is there: a number that is none, or any bits."""


def tensors_only_written(graph: sg.Graph, inputs: Mapping[str, Any]) -> Unwritten:
    """All elements of the tensors that have no contents before a run."""
    return {n: np.ones(t.shape, bool) for n, t in graph.tensors.items() if n not in inputs}


def behind(graph: sg.Graph, lengths: npt.NDArray[np.int64]) -> Unwritten:
    """What lies behind the requests in the caches of attention, whose names begin so."""
    found = {}
    for name, tensor in graph.tensors.items():
        if name.startswith(("keys", "values")):
            rows = np.arange(tensor.shape[0] // len(lengths))
            empty = (rows >= np.asarray(lengths)[:, None]).reshape(-1, 1)
            found[name] = np.broadcast_to(empty, tensor.shape)
    return found


def junk(rng: np.random.Generator, kind: str, tensor: sg.Tensor) -> npt.NDArray[Any]:
    """A matrix of this kind, or drawn numbers where elements are integers."""
    name = tensor.element.name
    dtype = np.dtype(DTYPES[STORED[name].on_chip.name])
    if name in ("bf16", "f32") and kind in CONSTANTS:
        return np.full(tensor.shape, CONSTANTS[kind], dtype)
    if name in ("int4", "bool"):
        return rng.integers(0, 2, tensor.shape).astype(dtype)
    bits = rng.bytes(tensor.shape[0] * tensor.shape[1] * dtype.itemsize)
    return as_matrix(tensor, np.frombuffer(bits, dtype).reshape(tensor.shape))


def filled(
    graph: sg.Graph,
    inputs: Mapping[str, Any],
    unwritten: Unwritten,
    rng: np.random.Generator,
    kind: str | None,
) -> dict[str, Any]:
    """The inputs with junk of a kind where nobody wrote, or without a kind zeros."""
    found = dict(inputs)
    for name, where in unwritten.items():
        there = junk(rng, kind or "bits", graph.tensors[name])
        there = there if kind else np.zeros_like(there)
        given = np.asarray(inputs.get(name, there))
        found[name] = np.where(where, there, given.astype(there.dtype))
    return found


def same(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Where two matrices agree bit for bit."""
    bits = (np.ascontiguousarray(x).view(f"u{x.itemsize}") for x in (a, b))
    return np.equal(*bits)
