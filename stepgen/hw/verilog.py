"""Verilog of a design."""

import re
from collections.abc import Callable

from stepgen.hw import private
from stepgen.hw.design.table import Design
from stepgen.hw.explicit import explicit
from stepgen.hw.library import Kept, Library
from stepgen.hw.names import top_name
from stepgen.hw.primitives import GENERIC, Device
from stepgen.hw.system import System
from stepgen.ir.garbage import no_searches

__all__ = ["pins_written", "to_verilog", "written"]

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
    platform: Device = GENERIC,
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
    platform : Device
        Whose hard blocks are used. Then memories have no initial values, but for constants.
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
        contents=platform == GENERIC,
        platform=platform,
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

    logic = [text for name, text in library.texts.items() if name not in library.netlists]
    netlists = [library.texts[name] for name in library.netlists]

    def make() -> str:
        made = explicit(_yosys("\n".join([*logic, top]), *removed, *_PASSES, "write_rtlil"))
        return _last("\n".join([made, *netlists]))

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
    return _kept(kept, text, lambda: _last(text, *_PASSES))


def _kept(kept: Kept | None, rtlil: str, make: Callable[[], str], *how: str) -> str:
    """Verilog of a circuit; most of the time to write it is Yosys's, which starts several times."""
    if kept is None:
        return make()
    return kept.text(f"{private.yosys().version()} {how}\n{rtlil}", make)


def _last(rtlil: str, *commands: str) -> str:
    """Verilog with initial values apart from declarations, which linters ask for."""
    text = _yosys(rtlil, *commands, "write_verilog -norename -simple-lhs")
    return _INITIAL.sub(r"  reg \1\2;\n  initial \2= \3;", text)


def _yosys(rtlil: str, *commands: str) -> str:
    script = [f"read_rtlil <<rtlil\n{rtlil}\nrtlil", *commands]
    return private.yosys().run(["-q", "-"], "\n".join(script))
