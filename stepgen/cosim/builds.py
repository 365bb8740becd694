"""The simulation of a design: written, built, and kept for many runs."""

from __future__ import annotations

from stepgen.cosim import icarus
from stepgen.cosim.building import FAST_BUILD
from stepgen.cosim.icarus import FourState
from stepgen.cosim.idle import noisy
from stepgen.cosim.simulators import Simulator
from stepgen.cosim.verilator import Simulation, build
from stepgen.emit.elaborate import verilog
from stepgen.emit.families import models
from stepgen.emit.interface import interface
from stepgen.emit.kernels import kernel_files
from stepgen.hw.design.table import Design
from stepgen.hw.primitives.device import GENERIC
from stepgen.hw.units.split_lanes.params import SplitLanes
from stepgen.tools.waiting import Progress, quiet


def built(
    design: Design,
    *,
    simulator: Simulator = "verilator",
    junk: bool = False,
    trace: bool = False,
    family: str = GENERIC.family,
    opt: str = FAST_BUILD,
    progress: Progress = quiet,
) -> Simulation | FourState:
    """Write the Verilog of a design and build its simulation, or find it in the cache.

    Parameters
    ----------
    design : Design
    simulator : "verilator" or "icarus"
    junk : bool
        Whether empty FIFOs can show junk.
    trace : bool
        Whether the simulation can write waveforms.
    family : str
        Whose Verilog is simulated; with models of its blocks where it is one of
        `stepgen.emit.wraps.FAMILIES`.
    opt : str
        One of those of `stepgen.cosim.verilator.build`.
    progress : Progress

    Raises
    ------
    StepError
        Where a tool is missing or rejects the design.
    """
    progress("writing Verilog", 0.0)
    outside = interface(design)
    text = verilog(design, probes=True, initial=False, family=family)
    if junk:
        text = noisy(text)
    if family != GENERIC.family:
        text += models(family)
    kernels = kernel_files(design, text)
    if simulator == "icarus":
        return icarus.build(
            outside,
            text,
            design.channels,
            counted=[unit.inputs["x"] for unit in design.of_kind(SplitLanes)],
            kernels=kernels,
            opt=opt,
            progress=progress,
        )
    return build(
        outside,
        text,
        design.channels,
        kernels=kernels,
        opt=opt,
        trace=trace,
        progress=progress,
    )
