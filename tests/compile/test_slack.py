"""Paths of different latency rejoin at one beat per cycle, with the depths that are derived."""

from __future__ import annotations

import numpy as np
import pytest
from seeds import some_slow

import stepgen as sg
from stepgen.cosim.experiment import Experiment

GROUPS, CHUNK = 24, 4
"""Shape of the inputs: enough rows for a bubble in each of them to show."""

FLOATS = [sg.fn.exp(), sg.fn.silu(), sg.fn.offset(1), sg.fn.square()]
WHOLE = [sg.fn.offset(1), sg.fn.at_least(0)]
PAIRS = [sg.fn.add(), sg.fn.maximum(), sg.fn.sub()]
ROWS = [sg.fn.row_sum(), sg.fn.row_max()]


def drawn(rng: np.random.Generator, width: int) -> tuple[sg.Graph, int]:
    """Functions of earlier streams, and the rows and chunks that results wait for."""
    element = (sg.f32, sg.int32)[rng.integers(2)]
    g = sg.Graph("drawn")
    made = [g.input("x", element[1, width], (GROUPS, CHUNK))]
    waits = 0

    def pick(choices):
        return choices[rng.integers(len(choices))]

    for _ in range(rng.integers(2, 7)):
        x, y = pick(made[-2:]), pick(made)
        kind = rng.integers(4 if element == sg.int32 else 3)
        if kind == 0:
            made.append(x.map(pick(FLOATS if element == sg.f32 else WHOLE)))
            continue
        if kind == 2:
            y, waits = y.map(pick(ROWS)), waits + 1
        if kind == 3:
            y = y.accum(sg.fn.maximum(), rank=1).promote(0).expand(count=CHUNK)
            waits += 2 * CHUNK
        made.append(x.map(pick(PAIRS), y))
    for n, stream in enumerate(made[1:]):
        g.output(stream, f"y{n}")
    return g, waits


@pytest.mark.parametrize("seed", some_slow(range(40), 12))
def test_no_bubbles(seed: int) -> None:
    """After the first results a beat in every cycle."""
    rng = np.random.default_rng(seed)
    width = int(rng.choice([8, 14, 20, 32]))
    g, waits = drawn(rng, width)
    x = rng.integers(-9, 9, (GROUPS, CHUNK, 1, width))
    experiment = Experiment(g, {"x": x}, fuse=bool(rng.integers(2)))
    beats = -(-width // experiment.lanes)
    latency = sum(channel.latency for channel in experiment.design.channels)
    most = GROUPS * CHUNK * beats + waits * beats + latency
    assert experiment.prediction.cycles <= most + 16


@pytest.mark.parametrize("width", [8, 14, 32])
def test_rows_wait_for_what_is_chosen_of_them(width: int) -> None:
    """An element is looked at in every cycle, while beats wait only as often as they come."""
    g = sg.Graph("chosen")
    x = g.input("x", sg.int8[1, width], (24,))
    for n, part in enumerate(sg.partition(x, x.map(sg.fn.top_k(2)), rank=0)):
        g.output(part, f"y{n}")
    rows = np.random.default_rng(width).integers(-9, 9, (24, 1, width))
    experiment = Experiment(g, {"x": rows})
    design, beats = experiment.design, -(-width // experiment.lanes)
    assert experiment.prediction.cycles <= 24 * width + beats + 16
    assert design.channel["x_to_partition_0"].depth <= beats + 4
