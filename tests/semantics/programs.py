"""Small programs for the semantics tests: one operator, streams whose every dim may be empty."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import stepgen as sg
from semantics.drawn import nested
from stepgen.semantics.executor import Result, run
from stepgen.semantics.shapes import measure
from stepgen.semantics.tokens import validate

SCALAR = sg.int8[1, 1]


def shape(rank: int, prefix: str = "A") -> tuple[sg.Dim, ...]:
    """A count that is decided at run time, and ragged dims within."""
    inner = (sg.ragged(f"{prefix}{k}") for k in range(rank - 1, -1, -1))
    return (sg.dynamic(f"{prefix}{rank}"), *inner)


def scalars(rank: int, longest: int = 3) -> st.SearchStrategy[list[Any]]:
    """Contents of a stream of small numbers."""
    return nested(rank, st.integers(-5, 5), longest)


def execute(graph: sg.Graph, inputs: dict[str, Any], **options: Any) -> Result:
    """Run a program; check that its streams are canonical and that its types fit the run."""
    result = run(graph, inputs, **options)
    for name, tokens in result.streams.items():
        validate(tokens, result.types[name].rank, name)
    measure(graph, result)
    return result


def numbers_of(result: Result, name: str) -> Any:
    """A stream of scalars as nested lists of numbers."""

    def walk(item: Any) -> Any:
        if isinstance(item, list):
            return [walk(part) for part in item]
        if isinstance(item, tuple):
            return tuple(walk(part) for part in item)
        assert isinstance(item, np.ndarray)
        assert item.size == 1
        return item.item()

    return walk(result.nested(name))
