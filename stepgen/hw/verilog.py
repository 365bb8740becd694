"""Verilog of a design."""

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from ..ir.garbage import no_searches
from . import private
from .design.table import Design
from .explicit import explicit
from .library import Kept, Library
from .names import verilog_name
from .primitives import GENERIC, Device
from .system import System
from .verilog_kernel.params import sources_of

__all__ = ["circuits", "generator", "pins_written", "to_verilog", "top_name", "written"]

_PACKAGE = Path(__file__).parents[1]


def top_name(design: Design) -> str:
    """Name of the top module: the design's, as it stands in Verilog."""
    return verilog_name(design.name)


_PASSES = (
    "proc -norom",
    "attrmap -remove full_case -remove parallel_case",
    "memory_collect",
    "clean_zerowidth",
    "opt_clean -purge",
)
_INITIAL = re.compile(r"^  reg (\[\d+:\d+\] )?(\S+ ) *= (.*);$", re.MULTILINE)
_NO_VALUES, _NO_CONTENTS = ("attrmap -remove init",), ("delete t:$meminit_v2",)
"""Take initial values of registers away, and contents of memories."""


def to_verilog(
    design: Design,
    *,
    probes: bool = False,
    initial: bool = True,
    kept: Kept | None = None,
) -> str:
    """Verilog of a design, all modules in one text.

    Parameters
    ----------
    design : Design
    probes : bool
        Whether pushes and pops of all channels are output ports, for test benches.
    initial : bool
        Whether registers and memories have initial values. Without them only the reset defines
        registers, and memories are undefined: a circuit that works then does not depend on initial
        values, which many devices don't have.
    kept : Kept, optional
        Modules and Verilog of earlier designs.

    Returns
    -------
    str
        All modules; the top is called `top_name` and has the ports that `System` describes, beside
        ``clk`` and a synchronous ``rst``.
    """
    name = top_name(design)
    return written(
        name,
        lambda part: System(design, probes=probes, part=part),
        initial=initial,
        kept=kept,
    )


def written(
    name: str,
    circuit,
    *,
    initial: bool = True,
    contents: bool = True,
    platform: Device = GENERIC,
    kept: Kept | None = None,
) -> str:
    """Verilog of a circuit that is made of units and FIFOs, each of which is written once.

    Parameters
    ----------
    name : str
        Of the top module; the names of others begin with it.
    circuit : function
        Makes the circuit, given what `Accelerator` takes as `part`.
    initial : bool
        As for `to_verilog`.
    contents : bool
        Whether memories have initial values where registers have; a line for each row.
    platform : Device
        Whose hard blocks are used.
    kept : Kept, optional
        Modules and Verilog of earlier designs.
    """
    library = Library(name, platform, kept)
    with no_searches():
        top = private.module(circuit(library.instance), name, platform)
    removed = () if initial and contents else _NO_CONTENTS
    removed = removed if initial else (*_NO_VALUES, *removed)

    def make(rtlil: str) -> str:
        return _last(explicit(_yosys(rtlil, *removed, *_PASSES, "write_rtlil")))

    return _kept(kept, f"{library.rtlil}\n{top}", make, *removed)


def pins_written(name: str, circuit, platform, *, kept: Kept | None = None) -> str:
    """Verilog of a circuit between pins, which instantiates modules that are written apart.

    Parameters
    ----------
    name : str
        Of its module.
    circuit : Elaboratable
        Has ``pins``, a list of IOPort.
    platform : Device
    kept : Kept, optional
        Verilog of earlier designs.
    """
    text = private.module(circuit, name, platform, circuit.pins)
    return _kept(kept, text, lambda rtlil: _last(rtlil, *_PASSES))


def _kept(kept: Kept | None, rtlil: str, make: Callable[[str], str], *how: str) -> str:
    """Verilog of a circuit; most of the time to write it is Yosys's, which starts several times."""
    if kept is None:
        return make(rtlil)
    return kept.text(f"{private.yosys().version()} {how}\n{rtlil}", lambda: make(rtlil))


def _last(rtlil: str, *commands: str) -> str:
    """Verilog with initial values apart from declarations, which linters ask for."""
    text = _yosys(rtlil, *commands, "write_verilog -norename -simple-lhs")
    return _INITIAL.sub(r"  reg \1\2;\n  initial \2= \3;", text)


def sources() -> list[Path]:
    """The files in which stepgen's circuits are written."""
    found = (p for room in ("ir", "hw") for p in (_PACKAGE / room).rglob("*.py"))
    return sorted(path for path in found if path.name != "model.py")


def circuits(design: Design) -> str:
    """SHA-256 of the descriptions of a design's circuits, hexadecimal.

    These are stepgen's, those of the design's units from elsewhere, and Verilog kernels.
    """
    h = _described(design)
    h.update(json.dumps(sorted(sources_of(design).items())).encode())
    return h.hexdigest()


def generator(design: Design) -> str:
    """SHA-256 of all that `to_verilog` depends on beside the design, hexadecimal.

    These are stepgen's circuits, those of the design's units from elsewhere, Amaranth and Yosys.
    """
    h = _described(design)
    h.update(f"{version('amaranth')} {private.yosys().version()}".encode())
    if None in _others(design):  # a unit of a notebook may be another next time
        h.update(os.urandom(16))
    return h.hexdigest()


def _described(design: Design):
    """Hash of the files in Python that describe a design's circuits."""
    h = hashlib.sha256()
    for path in [*sources(), *sorted(filter(None, _others(design)))]:
        h.update(path.read_bytes())
    return h


def _others(design: Design) -> set[Path | None]:
    """Files that describe units from elsewhere; None for one without a file."""
    kinds = {type(unit.params) for unit in design.units}
    modules = {sys.modules[k.__module__] for k in kinds} | {k.module("rtl") for k in kinds}
    found = {getattr(module, "__file__", None) for module in modules}
    return {path and Path(path) for path in found} - set(sources())


def _yosys(rtlil: str, *commands: str) -> str:
    script = [f"read_rtlil <<rtlil\n{rtlil}\nrtlil", *commands]
    return private.yosys().run(["-q", "-"], "\n".join(script))
