"""What benches of wrapped designs read: payloads that enter, and those that are to leave."""

from __future__ import annotations

import numpy as np

from stepgen.cosim.experiment import Experiment
from stepgen.cosim.payload import pack
from stepgen.emit.interface import interface
from stepgen.ir.wire import DONE


def integers(rows: np.ndarray) -> np.ndarray:
    return np.array([int.from_bytes(row.tobytes(), "little") for row in rows], np.uint64)


def of_streams(experiment: Experiment) -> dict[str, np.ndarray]:
    """Payloads of inputs by name; of outputs as ``<name>/expected``, and ``<name>/last``."""
    case = experiment.case()
    outside, reference = interface(experiment.design), experiment.reference
    arrays = {}
    for port in outside.sources:
        arrays[port.name] = integers(case.sources[port.name])
    for port in outside.sinks:
        beats = reference.beats(port.name, experiment.lanes)
        arrays[f"{port.name}/expected"] = integers(pack(beats, port))
        outermost = beats.stop.max()
        ends = (beats.kind == DONE) | (beats.stop == outermost)
        arrays[f"{port.name}/last"] = np.flatnonzero(ends)
    return arrays
