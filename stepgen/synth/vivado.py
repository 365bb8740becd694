"""Projects for Vivado, which no package has and nobody may pass on: scripts and constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from stepgen.synth.toolchain import Target, sites
from stepgen.tools.templates import fill

BUILD, PROGRAM = "build.tcl", "program.tcl"
"""Scripts for Vivado: the first makes the bitstream, the other one loads it into the board."""


def project(
    top: str,
    board: str,
    sources: Sequence[str],
    target: Target,
    settings: Mapping[str, Any],
    leaving: Sequence[str],
    key: str,
) -> dict[str, str]:
    """The files of a project beside its sources, by name.

    Parameters
    ----------
    top : str
        Name of the top module.
    board : str
        Its name, for people.
    sources : sequence of str
        Names of the files that are compiled, the one with the top module first.
    target : Target
    settings : mapping
        Names of the ``part``, and of the ``device`` at the end of the cable; properties of the
        ``design``.
    leaving : sequence of str
        Pads that are outputs; the clock apart, the others are inputs.
    key : str
        Of all that the bitstream depends on; its first digits are in the name of the bitstream, so
        that none of another design is loaded.
    """
    ports = {pad: [port for port, _ in sites(pad, found)] for pad, found in target.pins.items()}
    pins = [
        (port, site, target.standards[pad])
        for pad, found in target.pins.items()
        for port, site in sites(pad, found)
    ]
    arriving = [pad for pad in ports if pad != target.clock and pad not in leaving]
    common = {"top": top, "board": board, "bitstream": f"{top}-{key[:8]}.bit"}
    return {
        f"{top}.xdc": fill(
            "vivado/constraints.xdc.j2",
            pins=pins,
            clock=target.clock,
            clock_port=ports[target.clock][0],  # of a pair the positive one
            period=f"{float(Fraction(10**9, target.clock_hz)):.3f}",
            arriving=[port for pad in arriving for port in ports[pad]],
            leaving=[port for pad in leaving for port in ports[pad]],
            properties=settings["design"],
            **common,
        ),
        BUILD: fill(
            "vivado/build.tcl.j2",
            part=settings["part"],
            sources=sources,
            kernels=sources[1:],
            mhz=f"{target.hz / 1e6:g}",
            **common,
        ),
        PROGRAM: fill("vivado/program.tcl.j2", device=settings["device"], **common),
    }
