"""Programs as users write them, against expressions of numpy: reference, model and circuit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls

WIDTHS = [pytest.param(1, marks=pytest.mark.slow), 4, pytest.param(8, marks=pytest.mark.slow)]
"""Lanes."""


def holds(
    g: sg.Graph, inputs: Mapping[str, Any], wanted: Mapping[str, Any], lanes: int, folder: Path
) -> None:
    """Compare a program's reference with arrays, and its circuit, under stalls, with both.

    Parameters
    ----------
    g : Graph
    inputs : mapping of str to array
    wanted : mapping of str to array
        By output or stored tensor, all of its numbers in order.
    lanes : int
    folder : Path
        Where the circuit is built.
    """
    ports = [n.name for n in g.nodes if n.op in ("source", "output")]
    stalls = Stalls(lanes, dict.fromkeys((*ports, *MEMORY_CHANNELS), 0.3))
    one = Experiment(g, inputs, lanes=lanes, stalls=stalls)
    for name, array in wanted.items():
        found = one.reference.tensors[name] if name in g.tensors else one.reference.nested(name)
        assert flat(found).tolist() == np.ravel(array).tolist(), name
    verdict = one.test(folder, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults


def flat(nested: Any) -> Any:
    """The numbers of nested lists of arrays, in order."""
    if isinstance(nested, np.ndarray):
        return np.ravel(nested)
    return np.concatenate([flat(item) for item in nested]) if len(nested) else np.zeros(0)
