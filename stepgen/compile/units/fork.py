"""Facts of fork: every beat to all outputs at once.

Ports
-----
x -> y_0, y_1, …
"""

from __future__ import annotations

from collections.abc import Mapping

from ..design import Unit
from ..sizing.pace import Extents, Part, copied


def parts(unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
    """One: a beat goes when all outputs have room."""
    return [Part(unit.inputs, unit.outputs, copied(*unit.outputs))]
