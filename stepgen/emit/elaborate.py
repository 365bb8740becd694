"""Verilog of a design."""

from __future__ import annotations

import hashlib

from stepgen.emit.modules import kept_modules
from stepgen.hw import private
from stepgen.hw.design.table import Design
from stepgen.hw.primitives.device import GENERIC, Device
from stepgen.hw.sources import generator
from stepgen.hw.verilog import to_verilog
from stepgen.ir.versions import version
from stepgen.program.design_folder import hash_words


def verilog(
    design: Design, *, probes: bool = False, initial: bool = True, family: str = GENERIC.family
) -> str:
    """Verilog of a design, behind a line that names it; see `stepgen.hw.verilog.to_verilog`.

    The same design and the same stepgen make the same text.

    Parameters
    ----------
    design : Design
    probes : bool
        Whether the handshakes of all channels are outputs, for test benches.
    initial : bool
        Whether registers and memories have initial values; test benches simulate without.
    family : str
        Whose hard blocks are used, of `stepgen.emit.wraps.FAMILIES`; by default those that tools
        find in Verilog for any device.
    """
    text: str = to_verilog(
        design, probes=probes, initial=initial, platform=Device(family), kept=kept_modules()
    )
    made_for = "" if family == GENERIC.family else f", for {family}"
    return f"// {design.name}: stepgen {version()}, {hash_words(design.hash)}{made_for}\n{text}"


def made_by(design: Design) -> str:
    """SHA-256 of all that `verilog` depends on beside the design."""
    made = f"{generator(design)} {private.yosys().version()}"
    return hashlib.sha256(made.encode()).hexdigest()
