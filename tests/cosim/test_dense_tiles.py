"""Memory holds no padding: rows end within a beat there, and tiles within a word."""

import numpy as np
import pytest

import stepgen as sg
from stepgen.compile.cost import hardware
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Bus
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls
from stepgen.semantics.numbers import DTYPES

SHARES = dict.fromkeys(MEMORY_CHANNELS, 0.2)


def experiment(lanes: int, bus: Bus, seed: int) -> Experiment:
    """Tensors of every element type, read in part and in another order, and written whole."""
    g, inputs = sg.Graph("dense"), {}
    rng = np.random.default_rng(seed)
    ranges = {sg.bool_: (0, 2), sg.int4: (-8, 8)}
    tiles = {sg.bf16: (1, 1), sg.int8: (3, 5), sg.int32: (2, lanes + 1), sg.bool_: (1, 3)}
    tiles |= {sg.int4: (3, 6), sg.address: (1, 3)}
    for element, (rows, width) in tiles.items():
        source = g.tensor(f"x_{element.name}", (6 * rows, 2 * width), element)
        x = sg.linear_offchip_load(
            source, tile=(rows, width), shape=(3, 2, 2), stride=(2, int(rng.integers(6)), 1)
        )
        sg.linear_offchip_store(
            x, g.tensor(f"y_{element.name}", (12 * rows, width), x.tile.element)
        )
        low, high = ranges.get(element, (0, 100))
        drawn = rng.integers(low, high, source.shape)
        inputs[source.name] = drawn.astype(DTYPES[x.tile.element.name])
    return Experiment(g, inputs, lanes=lanes, bus=bus, stalls=Stalls(seed, SHARES))


@pytest.mark.slow
@pytest.mark.parametrize(("lanes", "data_bits"), [(2, 128), (1, 32), (8, 32)])
def test_they_are_read_and_written_to_the_byte(tmp_path, lanes, data_bits):
    one = experiment(lanes, Bus(data_bits=data_bits, burst=4), lanes)
    verdict = one.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults
    assert hardware(one.graph, one.design).traffic == sum(one.traffic)


def by_address(lanes: int, seed: int) -> Experiment:
    """Tiles of int4, also of odd bytes, and rows of addresses, by drawn addresses."""
    g, inputs = sg.Graph("packed"), {}
    rng = np.random.default_rng(seed)
    for n, (rows, width) in enumerate([(1, 2), (3, 6), (2, 2 * lanes + 2)]):
        source = g.tensor(f"w{n}", (8 * rows, width), sg.int4)
        at = g.input(f"at{n}", sg.address[1, 1], (10,))
        g.output(sg.random_offchip_load(at, source, tile=(rows, width)), f"y{n}")
        inputs[source.name] = rng.integers(-8, 8, source.shape).astype(np.int8)
        inputs[f"at{n}"] = rng.integers(0, 8, (10, 1, 1))
    kept = g.tensor("kept", (20, 3), sg.address)
    rows = g.input("rows", sg.address[1, 3], (10,))
    to = g.input("to", sg.address[1, 1], (10,))
    g.output(sg.random_offchip_store(to, rows, kept, tile=(1, 3)), "written")
    inputs["rows"] = rng.integers(0, 1 << 30, (10, 1, 3))
    inputs["to"] = rng.permutation(20)[:10].reshape(10, 1, 1)
    return Experiment(g, inputs, lanes=lanes, bus=Bus(data_bits=32), stalls=Stalls(seed, SHARES))


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 4])
def test_two_elements_of_a_byte_are_two_lanes(tmp_path, lanes):
    verdict = by_address(lanes, lanes).test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults
