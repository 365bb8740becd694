"""Source: a port that a stream enters through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...design.params import UnitParams


@dataclass(frozen=True)
class Source(UnitParams):
    """A port of the design, under the unit's name, that the stream ``y`` enters through."""

    kind: ClassVar = "source"
    inputs: ClassVar = ()
    outputs: ClassVar = ("y",)
