"""A design as Verilog."""

import re

from amaranth.back import rtlil, verilog

from ..compile.design import Design
from .library import Library
from .system import System

__all__ = ["to_verilog", "top_name"]


def top_name(design: Design) -> str:
    """Name of the top module: the design's, made a Verilog identifier."""
    name = re.sub(r"\W", "_", design.name, flags=re.ASCII)
    return name if re.match("[A-Za-z]", name) else f"d_{name}"


def to_verilog(design: Design, *, probes: bool = False, counters: bool = True) -> str:
    """Verilog of a whole design.

    Parameters
    ----------
    design : Design
    probes : bool
        Whether the moves of all channels are led out, for test benches.
    counters : bool
        Whether the control registers count what happens on every channel.

    Returns
    -------
    str
        All modules; the top is called `top_name` and has the ports that `System` describes, beside
        ``clk`` and a synchronous ``rst``.
    """
    name = top_name(design)
    library = Library(name)
    system = System(design, counters=counters, probes=probes, part=library.instance)
    top = rtlil.convert(system, name=name, emit_src=False)
    return verilog._convert_rtlil_text(f"{library.rtlil}\n{top}")
