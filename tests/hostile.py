"""Values that no parameter was made for, for the walks over everything that takes some."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

import stepgen as sg


class Rude:
    """Neither its text nor its comparison can be relied on."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not comparable")

    def __index__(self) -> int:
        raise RuntimeError("no number")


def deep(levels: int) -> Any:
    """Lists in lists."""
    nested: Any = 1
    for _ in range(levels):
        nested = [nested]
    return nested


def values() -> dict[str, Any]:
    """Hostile values by a name for messages; made anew, since some are used up."""
    x = sg.Graph("elsewhere").input("x", sg.int8[1, 8], (4, 3))
    return {
        "None": None,
        "True": True,
        "False": False,
        "-1": -1,
        "0": 0,
        "1": 1,
        "3": 3,
        "1.5": 1.5,
        "2.0": 2.0,
        "nan": float("nan"),
        "inf": float("inf"),
        "999": 999,
        "-999": -999,
        "2**62": 2**62,
        "2**63": 2**63,
        "10**30": 10**30,
        "10**5000": 10**5000,
        "1e300": 1e300,
        "1j": 1j,
        "1/3": Fraction(1, 3),
        "empty text": "",
        "text": "a",
        "two words": "a b",
        "digits": "1",
        "other digits": "٣",
        "path": "../x",
        "null byte": "a\0b",
        "bytes": b"a",
        "[]": [],
        "[1]": [1],
        "(1, 2)": (1, 2),
        "[1, 2, 3]": [1, 2, 3],
        "[0, 0]": [0, 0],
        "[1, -1]": [1, -1],
        "[1, None]": [1, None],
        "deep": deep(5000),
        "{}": {},
        "{1: 2}": {1: 2},
        "object": object(),
        "rude": Rude(),
        "rudes": [Rude(), Rude()],
        "int64": np.int64(2),
        "float32": np.float32(1),
        "numpy nan": np.float64("nan"),
        "bool_": np.bool_(True),
        "array of one": np.array(1),
        "array": np.array([1, 2]),
        "floats": np.array([1.0, 2.0]),
        "objects": np.array([None, "a"]),
        "endless": itertools.count(1),
        "type": int,
        "lambda": lambda *a, **k: 1,
        "ellipsis": ...,
        "slice": slice(1),
        "stream": x,
        "streams": [x, x],
        "tensor": x.graph.tensor("t", (8, 8), sg.int8),
        "graph": x.graph,
        "dim": sg.dynamic("Q"),
        "ragged": sg.ragged("R"),
        "element": sg.int8,
        "tile": sg.int8[2, 8],
        "selector": sg.Selector(2),
        "function": sg.fn.matmul(),
        "maker": sg.fn.add,
    }
