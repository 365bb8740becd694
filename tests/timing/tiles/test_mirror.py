"""Programs rank alike on tiles and cycle by cycle, when the machine mirrors the hardware."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from seeds import others_slow

from examples.moe import draw_routing, moe
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Bus
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.study.mirror import depths, mirror, mirrored

TOKENS, EXPERTS, TOP = 64, 8, 2
SCHEDULES: tuple[dict[str, Any], ...] = (
    *({"tiling": "static", "tile": tile} for tile in (2, 4, 8, 16)),
    {"tiling": "dynamic"},
)
NEAR = 0.1
"""Schedules whose exact cycles are closer may change places."""
ERROR = 0.12
"""No prediction is further from the exact cycles."""


def routings() -> dict[str, npt.NDArray[np.int64]]:
    rng = np.random.default_rng(1)
    turns = np.arange(TOKENS)[:, None] * TOP + np.arange(TOP)
    drawn = {
        f"skew {skew}": draw_routing(rng, TOKENS, EXPERTS, TOP, skew) for skew in (0.5, 1.0, 2.0)
    }
    return {
        "balanced": turns % EXPERTS,
        **drawn,
        "half idle": draw_routing(rng, TOKENS, EXPERTS // 2, TOP, 0.5),
        "two experts": np.tile(np.arange(TOP), (TOKENS, 1)),
    }


ROUTINGS = routings()


def both(routing: npt.NDArray[np.int64], **schedule: Any) -> tuple[int, int]:
    """Exact cycles, and those on the mirror."""
    program = moe(TOKENS, EXPERTS, TOP, routing=routing, **schedule)
    experiment = Experiment(*program)
    run = mirrored(experiment)
    assert run.traffic == sum(experiment.traffic)
    return experiment.prediction.cycles, run.cycles


@pytest.mark.parametrize("name", others_slow(ROUTINGS, ("skew 1.0",)))
def test_schedules_rank_alike(name: str) -> None:
    found = [both(ROUTINGS[name], **schedule) for schedule in SCHEDULES]
    for exact, mirror_cycles in found:
        assert abs(mirror_cycles / exact - 1) < ERROR
    for (e1, m1), (e2, m2) in combinations(found, 2):
        if abs(e1 - e2) > NEAR * min(e1, e2):
            assert (e1 < e2) == (m1 < m2)


def test_a_mirror_has_the_design_s_lanes_and_bus() -> None:
    experiment = Experiment(*moe(), lanes=8, bus=Bus(128), memory=MemoryTiming(read_interval=2))
    machine = mirror(experiment)
    assert machine.stream_elements == 8
    assert machine.compute.of("matmul") == 128
    assert machine.memory.peak == 8  # 16 bytes in two cycles


def test_fifos_hold_tiles_of_as_many_beats() -> None:
    graph, inputs = moe(width=64, tiling="static")
    held = depths(graph, Experiment(graph, inputs).design)
    assert held["flatten_0.0"] == 1024 * 4 // 64
    weights = {n.inputs[1].name for n in graph.nodes if n.op == "map" and len(n.inputs) == 2}
    assert {held[name] for name in weights} == {2}
