"""Key figures of one experiment, for reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stepgen.compile.cost import hardware, on_chip_bits
from stepgen.cosim.experiment import Experiment
from stepgen.hw.units.matmul.params import Matmul
from stepgen.ir.system import SystemGraph
from stepgen.program import values
from stepgen.program.program import Program
from stepgen.report.timeline import main_activities
from stepgen.timing.activity import Activity
from stepgen.timing.model import Prediction


def units(prediction: Prediction, *, every: bool = False) -> list[dict[str, Any]]:
    """How each actor spent a run.

    Parameters
    ----------
    prediction : Prediction
    every : bool
        Include forks and stop units, which follow the others beat by beat.

    Returns
    -------
    list of dict
        ``unit``, ``does``, and for each of ``busy``, ``starved`` and ``full`` its cycles and its
        share.
    """
    cycles = max(1, prediction.cycles)
    chosen = prediction.activities if every else main_activities(prediction)
    kinds = {u.name: u.kind for u in prediction.design.units}
    return [
        {
            "unit": a.unit,
            "kind": kinds[a.unit],
            "does": a.name,
            "busy": a.busy,
            "starved": a.starved,
            "full": a.full,
            "busy_share": a.busy / cycles,
            "starved_share": a.starved / cycles,
            "full_share": a.full / cycles,
        }
        for a in chosen
    ]


def outline(prediction: Prediction) -> tuple[Activity, ...]:
    """One actor of each unit that computes, routes or moves data."""
    main = {u.name: u.params.main for u in prediction.design.units}
    return tuple(a for a in prediction.activities if main[a.unit] == a.name)


def symbolic_traffic(
    program: Program, experiment: Experiment, with_data: Callable[[], Program] | None = None
) -> int | None:
    """Off-chip bytes by formula; None for a system, or if inputs do not determine all dims.

    Parameters
    ----------
    program : Program
    experiment : Experiment
        The same program as a circuit.
    with_data : callable, optional
        Builds the program with the contents of its tensors, where `program` was loaded without;
        called only if dims depend on a run of the reference.
    """
    if isinstance(program.graph, SystemGraph):  # dims of its parts have no common names
        return None
    traffic = hardware(program.graph, experiment.design).traffic
    symbols = traffic.free_symbols
    known = values.dims(program, symbols, run=False)
    if len(known) < len(symbols):
        known = values.dims(with_data() if with_data else program, symbols)
    if len(known) < len(symbols):
        return None
    return int(traffic.evaluate(known))


def occupancy(prediction: Prediction) -> float | None:
    """Share of cycles in which a matrix unit multiplies, on average; None without matrix units."""
    units = {u.name for u in prediction.design.of_kind(Matmul)}
    busy = [a.busy for a in outline(prediction) if a.unit in units]
    if not busy or not prediction.cycles:
        return None
    return sum(busy) / (len(busy) * prediction.cycles)


def memory_bits(experiment: Experiment) -> tuple[int, int]:
    """On-chip bits: by the design table, and allocated by the circuit."""
    from stepgen.hw.accelerator import Accelerator
    from stepgen.hw.inventory import allocated_bits

    design = experiment.design
    return on_chip_bits(design), allocated_bits(Accelerator(design))
