"""The static facts of a unit kind, found by its name in ``stepgen/compile/units``.

What a circuit's pipeline takes in cycles and what it holds in bits is said once, there; the
lowering, the circuit, the cycle model and the reports all ask here. A kind without a file is a
stateless one: no pipeline, no memory, no multipliers.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Any

from .design import Channel, Design, Unit
from .sizing.pace import Extents, Part, copied


@cache
def _module(kind: str) -> ModuleType | None:
    name = f"stepgen.compile.units.{kind}"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def queues(unit: Unit, design: Design) -> list[Channel]:
    """Channels inside a unit."""
    function = getattr(_module(unit.kind), "queues", None)
    return function(unit, design) if function else []


def parts(unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
    """A unit as its actors, for the sizing of FIFOs.

    Parameters
    ----------
    unit : Unit
    extents : mapping of str to Extents
        The dims of every channel of tiles, selectors or flags, and of no other.
    """
    function = getattr(_module(unit.kind), "parts", None)
    if function:
        made: list[Part] = function(unit, extents)
        return made
    inputs, outputs = (
        tuple(c for c in names if c in extents) for names in (unit.inputs, unit.outputs)
    )
    return [Part(inputs, outputs, copied(*outputs))] if inputs or outputs else []


def _fact(kind: str, fact: str, *args: Any) -> int:
    function = getattr(_module(kind), fact, None)
    return int(function(*args)) if function else 0


def delay(kind: str, params: Mapping[str, Any], lanes: int) -> int:
    """Cycles from the handshake at a unit's pipelined output until its payload is there."""
    return _fact(kind, "delay", params, lanes)


def memory_bits(unit: Unit, design: Design) -> int:
    """Bits of data that a unit holds in memories of its own, beside its queues."""
    return _fact(unit.kind, "memory_bits", unit.params, design)


def multipliers(unit: Unit, design: Design) -> int:
    """Multipliers in a unit."""
    return _fact(unit.kind, "multipliers", unit.params, design.lanes)
