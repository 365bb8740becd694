"""The files in which circuits are written, and their hashes."""

import hashlib
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

from stepgen.hw.design.table import Design
from stepgen.hw.verilog_kernel.params import sources_of

__all__ = ["circuits", "generator", "sources"]

_PACKAGE = Path(__file__).parents[1]


def sources() -> list[Path]:
    """The files in which stepgen's circuits are written."""
    found = (p for room in ("ir", "hw") for p in (_PACKAGE / room).rglob("*.py"))
    return sorted(path for path in found if path.name != "model.py")


def circuits(design: Design) -> str:
    """SHA-256 of the descriptions of a design's circuits, hexadecimal.

    These are stepgen's, those of the design's units from elsewhere, and Verilog kernels.
    """
    h = _described(design, sources())
    h.update(json.dumps(sorted(sources_of(design).items())).encode())
    return h.hexdigest()


def generator(design: Design) -> str:
    """SHA-256 of all that a design's RTLIL depends on beside the design, hexadecimal.

    These are stepgen's circuits, those of the design's units from elsewhere, and Amaranth.
    """
    own = sources()
    h = _described(design, own)
    h.update(version("amaranth").encode())
    if None in _others(design, own):  # a unit of a notebook may be another next time
        h.update(os.urandom(16))
    return h.hexdigest()


def _described(design: Design, own: list[Path]):
    """Hash of the files in Python that describe a design's circuits."""
    h = hashlib.sha256()
    for path in [*own, *sorted(filter(None, _others(design, own)))]:
        h.update(path.read_bytes())
    return h


def _others(design: Design, own: list[Path]) -> set[Path | None]:
    """Files that describe units from elsewhere; None for one without a file."""
    found: set[Path | None] = set()
    for kind in {type(unit.params) for unit in design.units}:
        described = _file(sys.modules[kind.__module__])
        if described not in own:  # the circuits of the others need Amaranth, which loads slowly
            found |= {described, _file(kind.module("rtl"))}
    return found - {*own}


def _file(module) -> Path | None:
    path = getattr(module, "__file__", None)
    return path and Path(path)
