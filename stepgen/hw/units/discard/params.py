"""Discard: consumes an unused stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...design.params import UnitParams


@dataclass(frozen=True)
class Discard(UnitParams):
    """Consumes the stream ``x`` and drops it."""

    kind: ClassVar = "discard"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ()
