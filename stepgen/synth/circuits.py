"""The circuits of which a design consists, one by one, and what is in them before synthesis."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..emit.modules import kept_modules
from ..hw import private
from ..hw.accelerator import EPILOGUE, RESTOP, Accelerator, epilogue_name, restop_name
from ..hw.design.table import Design, Unit
from ..hw.fifo import Fifo
from ..hw.library import Library
from ..hw.names import verilog_name
from ..hw.primitives import Device
from ..hw.system import System
from .contents import BLOCKS, FOREIGN, Counted, contents

FIFO = "fifo"
"""Kind of a channel's circuit."""

_KEPT = "attribute \\keep_hierarchy 1\n"
_TOP = "top"
_NUMBER = re.compile(r"\$\d+$")
_PASSES = (
    *("proc -norom", "flatten", f"hierarchy -top {_TOP}"),
    *("opt_expr", "opt_merge", "opt_dff", "opt_expr", "opt_muxtree", "opt_merge", "opt_dff"),
    *("opt_clean", "wreduce", "opt_expr", "opt_merge", "opt_dff", "opt_clean"),
)
"""What removes registers and logic without use; nothing is mapped to any device."""


@dataclass(frozen=True)
class Circuit:
    """A unit, or the FIFO of a channel.

    Attributes
    ----------
    name, kind : str
        The unit's or channel's name; the unit's kind or `FIFO`.
    text : str
        Its RTLIL, as the module ``top``.
    """

    name: str
    kind: str
    text: str


def circuits(design: Design, family: str) -> Iterator[Circuit]:
    """The units of a design, then its FIFOs, each by itself.

    Parameters
    ----------
    design : Design
    family : str
        Of the FPGA, whose hard blocks are instantiated.
    """
    device = Device(family)
    accelerator = Accelerator(design)
    private.reused(accelerator)
    for unit in design.units:
        text = private.module(accelerator.cores[unit.name], _TOP, device)
        yield Circuit(unit.name, unit.kind, text)
    for channel in design.channels:
        yield Circuit(channel.name, FIFO, private.module(Fifo(channel), _TOP, device))


def counted(design: Design, family: str) -> Counted:
    """Count what is in the circuits of a design, without synthesis.

    Parameters
    ----------
    design : Design
    family : str
        Of the FPGA, whose hard blocks are instantiated.
    """
    device = Device(family)
    library = Library("part", device, kept_modules())
    top = private.module(System(design, part=library.instance), _TOP, device)
    parts = library.rtlil
    for kind in {FIFO, EPILOGUE, RESTOP, *(unit.kind for unit in design.units)}:
        parts = parts.replace(f"\nmodule \\part_{kind}_", f"\n{_KEPT}module \\part_{kind}_")
    script = [f"read_rtlil <<rtlil\n{parts}\n{top}\nrtlil", *_PASSES, "write_json"]
    modules = json.loads(private.yosys().run(["-q", "-"], "\n".join(script)))["modules"]
    inside = {name: _whole(name, modules) for name in modules if name != _TOP}
    # Amaranth adds a number to the name of an instance that is also that of a signal.
    made = {_NUMBER.sub("", name): cell["type"] for name, cell in modules[_TOP]["cells"].items()}

    def found(instance: str) -> Counter[str]:
        return inside.get(made.get(f"accelerator.{instance}", ""), Counter())

    return Counted(
        {unit.name: sum(map(found, _names(unit)), Counter()) for unit in design.units},
        {channel.name: found(f"fifo_{channel.name}") for channel in design.channels},
        contents(modules[_TOP]),
    )


def _names(unit: Unit) -> list[str]:
    """The instances that belong to a unit."""
    behind = [restop_name(unit, port) for port in unit.outputs]
    return [verilog_name(unit.name), epilogue_name(unit), *behind]


def _whole(name: str, modules: Mapping[str, Any]) -> Counter[str]:
    """What is in a module and in those within it."""
    found = contents(modules[name])
    for cell in modules[name]["cells"].values():
        if cell["type"] in modules:
            found += _whole(cell["type"], modules)
        elif not cell["type"].startswith("$") and cell["type"] not in BLOCKS:
            found[FOREIGN] += 1
    return found
