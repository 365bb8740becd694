"""A point: all parameters of one timing simulation, as plain data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stepgen.tools.cache import digest

Value = bool | int | float | str | list[str] | None
"""What an option of a workload, transform or machine may be."""

ORIGINS = ("published", "counts", "drawn")
"""Of a trace, the most faithful first."""

DRAWN = ORIGINS[-1]

PUBLISHED, FAIR = "published", "fair"
VIEWS = (PUBLISHED, FAIR)
"""The paper's own settings, unequal where they were unequal; and equal ones."""

CIRCUIT = "circuit"
"""View of the figures that are measured on generated circuits, and machine of their points."""


@dataclass(frozen=True)
class Trace:
    """A routing or the lengths of a batch, and their origin.

    Parameters
    ----------
    name : str
        Its name in reports.
    origin : {"published", "counts", "drawn"}
        The trace of the paper's own runs; drawn so that every expert gets as many tokens as there;
        or drawn.
    values : tuple of int, or of tuples of int
        Lengths per request, or experts per token.
    """

    name: str
    origin: str
    values: tuple[Any, ...]

    @classmethod
    def of(cls, name: str, origin: str, array: npt.NDArray[np.int64]) -> Trace:
        """Of an array of one or two dims."""
        rows = array.tolist()
        return cls(name, origin, tuple(tuple(r) if isinstance(r, list) else r for r in rows))

    @property
    def array(self) -> npt.NDArray[np.int64]:
        """The values as programs take them."""
        return np.array(self.values, np.int64)


@dataclass(frozen=True)
class Transform:
    """One step from program to program, by the name of a function of `compile.transforms`."""

    name: str
    options: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Point:
    """One run: everything that determines its result, so that any process can evaluate it.

    Parameters
    ----------
    workload : str
        An example, or ``example:function``.
    options : mapping of str to Value
        Parameters of the workload.
    traces : mapping of str to Trace
        Parameters of the workload that are arrays.
    transforms : tuple of Transform
        Applied in order.
    machine : str
        A machine of `stepgen.timing.tiles.machines`, in small letters, or ``"circuit"``.
    changes : mapping of str to Value
        Fields of the machine that differ, nested ones with dots: ``{"compute.flops": 6400}``; of a
        circuit, those of `stepgen.study.circuit.Settings`.
    view : {"published", "fair", "circuit"}
        Whose rules the settings follow.
    lowering : mapping of str to Value
        Parameters of the program of a model, where the workload is one.
    """

    workload: str
    options: Mapping[str, Value] = field(default_factory=dict)
    traces: Mapping[str, Trace] = field(default_factory=dict)
    transforms: tuple[Transform, ...] = ()
    machine: str = "sda"
    changes: Mapping[str, Value] = field(default_factory=dict)
    view: str = FAIR
    lowering: Mapping[str, Value] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The point as JSON; equal points have equal texts."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @property
    def key(self) -> str:
        """Hexadecimal hash of everything that determines the result; not of the view's name."""
        data = asdict(replace(self, traces={}))  # traces are long, and `asdict` copies them
        del data["view"]
        data["traces"] = {name: trace.values for name, trace in self.traces.items()}
        return digest(json.dumps(data, sort_keys=True))

    @property
    def name(self) -> str:
        """A short name, for messages."""
        made = "".join(f" {t.name}({_listed(t.options)})" for t in self.transforms)
        options = {**self.options, **self.lowering}
        return f"{self.workload}({_listed(options)}){made}"

    @property
    def origin(self) -> str:
        """The least faithful origin of its traces; "published" if it has no traces."""
        origins = [trace.origin for trace in self.traces.values()]
        return max(origins, key=ORIGINS.index, default=ORIGINS[0])

    @classmethod
    def parse(cls, text: str) -> Point:
        """The point that `text` was made of."""
        data = json.loads(text)
        return cls(
            data["workload"],
            data["options"],
            {
                name: Trace.of(t["name"], t["origin"], np.array(t["values"], np.int64))
                for name, t in data["traces"].items()
            },
            tuple(Transform(t["name"], t["options"]) for t in data["transforms"]),
            data["machine"],
            data["changes"],
            data["view"],
            data["lowering"],
        )


def _listed(options: Mapping[str, Value]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items())
