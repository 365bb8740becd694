"""Verilog of a design."""

from __future__ import annotations

import hashlib

from ..hw import private
from ..hw.design.table import Design
from ..hw.sources import generator
from ..hw.verilog import to_verilog
from ..ir.versions import version
from ..program.design_folder import hash_words
from .modules import kept_modules


def verilog(design: Design, *, probes: bool = False, initial: bool = True) -> str:
    """Verilog of a design, behind a line that names it; see `stepgen.hw.verilog.to_verilog`.

    The same design and the same stepgen make the same text.

    Parameters
    ----------
    design : Design
    probes : bool
        Whether the handshakes of all channels are outputs, for test benches.
    initial : bool
        Whether registers and memories have initial values; test benches simulate without.
    """
    text: str = to_verilog(design, probes=probes, initial=initial, kept=kept_modules())
    return f"// {design.name}: stepgen {version()}, {hash_words(design.hash)}\n{text}"


def made_by(design: Design) -> str:
    """SHA-256 of all that `verilog` depends on beside the design."""
    made = f"{generator(design)} {private.yosys().version()}"
    return hashlib.sha256(made.encode()).hexdigest()
