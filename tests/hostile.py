"""Invalid values of all kinds, for tests of all parameters."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np

import stepgen as sg
from stepgen.ir.dims import product_bound
from stepgen.ir.text import dumps, loads
from stepgen.program.inputs import complete
from stepgen.semantics import executor

MOST_ELEMENTS = 5000
"""Elements of a stream up to which a program is run; larger ones are only written and read."""


class Rude:
    """An object that raises when it is printed, compared or used as a number."""

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
        "endless text": "x" * 100_000,
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


def refused(error: sg.StepError, *vague: str) -> None:
    """A refusal is one sentence, and says more than `vague` ones."""
    said = str(error)
    assert not any(words in said for words in vague), said
    assert "\n" not in said
    assert len(said) <= 800
    assert " at 0x" not in said


def works(graph: sg.Graph) -> None:
    """A program that was accepted can be shown, costed, written, read and run."""
    for node in list(graph.nodes):
        for stream in node.outputs:
            if not graph.consumers(stream) and not isinstance(stream.dtype, sg.Buffer):
                graph.output(stream, f"out_{node.name}_{stream.port}")
    try:
        graph.check()
    except sg.StepError as error:
        refused(error)
        return
    assert str(graph)
    text = dumps(graph)
    assert loads(text) == graph
    sg.metrics(graph)
    sizes = [product_bound((*s.shape, *s.dtype.dims)) for n in graph.nodes for s in n.outputs]
    tensors = [math.prod(t.shape) for t in graph.tensors.values()]
    if any(size is None or size > MOST_ELEMENTS for size in (*sizes, *tensors)):
        return
    try:
        executor.run(graph, complete(graph, {}))
    except sg.StepError as error:
        refused(error)  # what only the data decide, such as an address past the end
