"""Source: an input stream port of the design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stepgen.hw.design.params import UnitParams


@dataclass(frozen=True)
class Source(UnitParams):
    """An input port of the design, under the unit's name, for the stream ``y``."""

    kind: ClassVar = "source"
    inputs: ClassVar = ()
    outputs: ClassVar = ("y",)
    per_run: ClassVar = True
