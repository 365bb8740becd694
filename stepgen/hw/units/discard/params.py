"""Discard: accepts all beats of a stream that nothing else reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stepgen.hw.design.params import UnitParams


@dataclass(frozen=True)
class Discard(UnitParams):
    """Accepts every beat of the stream ``x``, which ends there."""

    kind: ClassVar = "discard"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ()
