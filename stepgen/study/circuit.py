"""Evaluates a program on its generated circuit: exact cycles, and what the design takes.

Cycles are those of the cycle model, which are the RTL's: where it is asked for, the Verilog is
simulated besides, and everything is compared. Memory is what the circuit allocates, and logic is
estimated as ``stepgen show --design`` does.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepgen.compile.cost import on_chip_bits
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Bus
from stepgen.hw.units.matmul.params import Matmul
from stepgen.hw.units.matvec.params import Matvec
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.wire import LANES
from stepgen.synth.estimate import estimate
from stepgen.timing.drive import MAX_CYCLES

ESTIMATED = ("lut", "ff", "block_ram")
"""Resources of an ECP5 that are estimated: those of `stepgen.synth.measuring.MEASURED`."""


@dataclass(frozen=True)
class Settings:
    """A circuit and its surroundings.

    Parameters
    ----------
    lanes : int
        Lanes of a beat; a matrix unit has their square in multipliers.
    bus_bits : int
        Width of the off-chip port.
    read_interval : int
        Cycles from one word that is read to the next.
    estimate : bool
        Whether to estimate logic, which takes far longer than the cycles.
    rtl : bool
        Whether to simulate the Verilog, too.
    """

    lanes: int = LANES
    bus_bits: int = 64
    read_interval: int = 1
    estimate: bool = False
    rtl: bool = False


def experiment(
    graph: Graph, inputs: Mapping[str, Any], settings: Settings, limit: int = MAX_CYCLES
) -> Experiment:
    """The circuit of a program on a memory, ready to be predicted or simulated."""
    return Experiment(
        graph,
        inputs,
        lanes=settings.lanes,
        bus=Bus(data_bits=settings.bus_bits),
        memory=MemoryTiming(read_interval=settings.read_interval),
        max_cycles=limit,
    )


def measured(
    graph: Graph, inputs: Mapping[str, Any], changes: Mapping[str, Any], *, limit: int = MAX_CYCLES
) -> dict[str, int | float]:
    """Measure a program on its circuit.

    Parameters
    ----------
    graph : Graph
    inputs : mapping of str to array
    changes : mapping of str to bool or int
        Fields of `Settings` that differ.
    limit : int
        Cycles that the run may take.

    Returns
    -------
    dict of str to number
        ``cycles``; ``traffic``, the bytes of all bus words read and written; ``onchip_bits`` of all
        FIFOs and memories; ``multipliers`` of all units of products; ``units``, how many; and,
        where they are asked for, those of `ESTIMATED`, and ``rtl_cycles``, as many as ``cycles``.

    Raises
    ------
    StepError
        If the program has no circuit, can't be run on it, or its RTL differs.
    """
    settings = Settings(**changes)
    run = experiment(graph, inputs, settings, limit)
    design = run.design
    numbers: dict[str, int | float] = {
        "cycles": run.prediction.cycles,
        "traffic": sum(run.traffic),
        "onchip_bits": on_chip_bits(design),
        "multipliers": sum(
            unit.params.multipliers(design)
            for unit in design.units
            if isinstance(unit.params, Matmul | Matvec)
        ),
        "units": len(design.units),
    }
    if settings.estimate:
        total = estimate(design).total
        numbers |= {name: total[name] for name in ESTIMATED}
    if settings.rtl:
        numbers["rtl_cycles"] = _simulated(run)
    return numbers


def _simulated(run: Experiment) -> int:
    """Cycles of the Verilog under Verilator.

    Raises
    ------
    StepError
        At any difference in values, cycles, memory contents or counters, or without a simulator.
    """
    with tempfile.TemporaryDirectory() as folder:
        outcome = run.test(Path(folder), driver="cpp").outcome
    if not outcome.good:
        raise StepError(f"the RTL differs from reference and prediction: {outcome.faults[0]}")
    return outcome.cycles
