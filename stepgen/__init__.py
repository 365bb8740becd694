"""stepgen: streaming tensor programs as proven hardware.

``import stepgen as sg``, then build a `Graph`. Every operator is a function here under its own
name (``sg.partition``) and a method of `Stream`; functions for Map and Accum are in ``sg.fn``.
"""

from __future__ import annotations

from typing import Any

from stepgen.ir.dims import Dim, dynamic, ragged, static
from stepgen.ir.dtypes import (
    FLAG,
    Buffer,
    ElementType,
    Selector,
    Tile,
    TupleType,
    address,
    bf16,
    bool_,
    f32,
    int8,
    int32,
)
from stepgen.ir.errors import StepError
from stepgen.ir.feedback import Feedback
from stepgen.ir.function import Function, fn
from stepgen.ir.function import home as _home
from stepgen.ir.graph import Graph, Tensor
from stepgen.ir.metrics import Metrics, metrics, selector_counts
from stepgen.ir.operator import functions as _functions
from stepgen.ir.stream import Node, Stream, StreamType
from stepgen.ir.text import load, save

_home("stepgen.functions")

__all__ = [
    "FLAG",
    "Buffer",
    "Dim",
    "ElementType",
    "Feedback",
    "Function",
    "Graph",
    "Metrics",
    "Node",
    "Selector",
    "StepError",
    "Stream",
    "StreamType",
    "Tensor",
    "Tile",
    "TupleType",
    "address",
    "bf16",
    "bool_",
    "dynamic",
    "f32",
    "fn",
    "int8",
    "int32",
    "load",
    "metrics",
    "ragged",
    "save",
    "selector_counts",
    "static",
]


def __getattr__(name: str) -> Any:
    """Every operator by its name."""
    if name.startswith("_") or name not in _functions():
        raise AttributeError(f"module 'stepgen' has no attribute {name!r}")
    return _functions()[name]


def __dir__() -> list[str]:
    return sorted([*__all__, *_functions()])
