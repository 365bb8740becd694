"""Sink: a port that a stream leaves through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...design.params import UnitParams


@dataclass(frozen=True)
class Sink(UnitParams):
    """A port of the design, under the unit's name, that the stream ``x`` leaves through."""

    kind: ClassVar = "sink"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ()
