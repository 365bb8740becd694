"""Transformed programs, timed with short FIFOs, end and give the same results."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from same import ROUTINGS, check_same, small_moe
from seeds import one_seed_each

import stepgen as sg
from examples.attention import attention
from stepgen.compile.transforms import Transformed, parallelize, time_multiplex
from stepgen.program.tiles import simulate
from stepgen.timing.tiles.machines import SDA

SHORT = dataclasses.replace(SDA, fifo_depth=1)


def check_timed(old: sg.Graph, new: Transformed, inputs: dict[str, Any]) -> None:
    """The run ends with the same traffic; its orders of arrival replayed give the same results."""
    timed = simulate(new.graph, new.inputs(inputs), SHORT)
    assert timed.traffic == simulate(old, inputs, SHORT).traffic
    check_same(old, new, inputs, timed.choices)


@pytest.mark.parametrize(
    ("regions", "tiling", "routing"), one_seed_each((1, 2, 4), ("static", "dynamic"), ROUTINGS)
)
def test_shared_regions(routing, tiling, regions):
    old, inputs = small_moe(ROUTINGS[routing], tiling)
    check_timed(old, time_multiplex(old, regions=regions), inputs)


@pytest.mark.parametrize("regions", [1, 2, 3])
@pytest.mark.parametrize("how", ["coarse", "interleaved", "dynamic"])
def test_regions_side_by_side(how, regions):
    old, inputs = attention([3, 0, 40, 6, 1, 9, 2], rows=2, width=16, tile=8)
    check_timed(old, parallelize(old, regions=regions, how=how), inputs)


def test_a_long_request_does_not_block_requests_for_other_regions():
    lengths = np.array([2000, 60, 60, 60] * 3)
    old, inputs = attention(lengths, softmax="published", data=False)
    cycles = {}
    for how in ("interleaved", "dynamic"):
        new = parallelize(old, regions=4, how=how)
        cycles[how] = simulate(new.graph, new.inputs(inputs), SDA).cycles
    assert cycles["dynamic"] < 0.8 * cycles["interleaved"]
