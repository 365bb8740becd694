"""Sink: an output stream port of the design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stepgen.hw.design.params import UnitParams


@dataclass(frozen=True)
class Sink(UnitParams):
    """An output port of the design, under the unit's name, for the stream ``x``."""

    kind: ClassVar = "sink"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ()
    per_run: ClassVar = True
