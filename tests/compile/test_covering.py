"""Loads move a word in every cycle, with the depths that are derived."""

from __future__ import annotations

import numpy as np
import pytest

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Bus
from stepgen.ir.memory_timing import MemoryTiming

WORDS = 512


@pytest.mark.parametrize("loads", [1, 2, 3])
@pytest.mark.parametrize("latency", [4, 16, 40, 90])
def test_no_word_is_late(loads: int, latency: int) -> None:
    """However few loads there are, and however long the memory takes to answer."""
    rng = np.random.default_rng(latency)
    reads = rng.multinomial(WORDS - loads, [1 / loads] * loads) + 1 if latency % 8 else None
    sizes = [WORDS // loads] * loads if reads is None else [int(n) for n in reads]
    g = sg.Graph("loads")
    for name, words in enumerate(sizes):
        x = g.tensor(f"x{name}", (words, 8), sg.int8)
        g.output(sg.linear_offchip_load(x, tile=(words, 8), shape=(1,), stride=(1,)), f"y{name}")
    inputs = {name: np.zeros((t.shape[0], 8)) for name, t in g.tensors.items()}
    bus = Bus(data_bits=64, latency=latency)
    timing = MemoryTiming(read_latency=latency)
    experiment = Experiment(g, inputs, lanes=8, bus=bus, memory=timing)
    assert experiment.prediction.cycles <= sum(sizes) + 2 * latency + 64


def test_few_words_take_few_slots() -> None:
    """A load has no more slots than words to read."""
    g = sg.Graph("few")
    x = g.tensor("x", (8, 8), sg.int8)
    g.output(sg.linear_offchip_load(x, tile=(8, 8), shape=(1,), stride=(1,), name="x_load"), "y")
    design = Experiment(g, {}, lanes=8, bus=Bus(data_bits=64, latency=400)).design
    assert design.channel["x_load_data"].depth == 2 * design.bus.burst
