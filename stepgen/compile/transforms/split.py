"""Divides requests among regions before the program starts: each region has its own sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stepgen.ir.affine import last_tile
from stepgen.ir.errors import StepError
from stepgen.ir.stream import Node
from stepgen.ir.tensor import Tensor
from stepgen.ir.wire import DONE

Slice = Callable[[Mapping[str, Any]], dict[str, Any]]
"""From the old program's inputs to the inputs that replace one of them."""


def is_source(node: Node) -> bool:
    """Whether a node's output can be divided by dividing its input or tensor."""
    return not node.inputs


def rows_per_request(node: Node, tensor: Tensor, count: int) -> int:
    """How many rows of a tensor a load reads for each request.

    Raises
    ------
    StepError
        If the rows of requests are not consecutive.
    """
    (_, *extents), (step, *strides) = node.attrs["shape"], node.attrs["stride"]
    last, offset = last_tile(extents, strides), node.attrs["offset"]
    (_, across), rows = tensor.grid(node.attrs["tile"]), node.attrs["tile"][0]
    if offset or last >= step or step % across or step // across * rows * count > tensor.shape[0]:
        raise StepError(
            f"parallelize can't divide tensor {tensor.name} among regions, since the requests "
            f"that {node.name} at {node.where} reads are not consecutive blocks of rows"
        )
    return int(step // across * rows)


def of_tensor(tensor: str, rows: int, parts: Mapping[str, Sequence[int]]) -> Slice:
    """The rows of some requests, as a separate tensor for each region.

    Parameters
    ----------
    tensor : str
        Name of the old tensor.
    rows : int
        Rows of each request.
    parts : mapping of str to sequence of int
        By name of the new tensor, the requests in it.
    """

    def slices(given: Mapping[str, Any]) -> dict[str, Any]:
        if tensor not in given:
            return {}
        matrix = np.asarray(given[tensor])
        return {
            name: np.concatenate([matrix[i * rows : (i + 1) * rows] for i in chosen])
            for name, chosen in parts.items()
        }

    return slices


def of_stream(source: str, rank: int, count: int, parts: Mapping[str, Sequence[int]]) -> Slice:
    """The elements of some requests, for each region.

    Parameters
    ----------
    source : str
        Name of the old input.
    rank : int
        Of the stream.
    count : int
        Number of its requests.
    parts : mapping of str to sequence of int
        By name of the new input, the requests in it.
    """

    def slices(given: Mapping[str, Any]) -> dict[str, Any]:
        if source not in given:
            return {}
        content = given[source]
        if isinstance(content, np.ndarray):
            return {name: content[list(chosen)] for name, chosen in parts.items()}
        if content and hasattr(content[0], "stop"):
            chunks, end = _chunks(content, rank)
            return {
                name: [*(token for i in chosen for token in chunks[i]), end]
                for name, chosen in parts.items()
            }
        if len(content) != count:
            raise StepError(f"{source} has {count} requests, not {len(content)}")
        return {name: [content[i] for i in chosen] for name, chosen in parts.items()}

    return slices


def _chunks(tokens: Sequence[Any], rank: int) -> tuple[list[list[Any]], Any]:
    """The tokens of each request, and the one that ends the stream."""
    chunks: list[list[Any]] = [[]]
    for token in tokens:
        if token.kind != DONE:
            chunks[-1].append(token)
            if token.stop >= rank:
                chunks.append([])
    return chunks, tokens[-1]
