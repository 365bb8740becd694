"""Programs whose tensors lie anywhere in 64 bits of address, through Verilog and all drivers."""

import numpy as np
import pytest
from seeds import some_slow

import stepgen as sg
from stepgen.cosim.driving import DRIVERS
from stepgen.cosim.experiment import Experiment
from stepgen.emit.windows import Windows
from stepgen.hw.design.table import Bus

GIB = 1 << 30
ROWS, COLS = 4, 8


@pytest.fixture(scope="module")
def program():
    """A tensor of 5 GiB of which two tiles are read, one behind it, one around 2^40, one far up."""
    g = sg.Graph("far")
    rng = np.random.default_rng(3)
    big = np.zeros((5 * GIB // 65536, 65536), np.int8)  # pages that are not accessed take no memory
    big[0, :COLS], big[-1, -COLS:] = rng.integers(-128, 128, (2, COLS))
    inputs = {"big": big}
    ends = big.size // COLS - 1
    bases = {"behind": None, "around": (1 << 40) - COLS, "up": (1 << 64) - 4096}
    tensor = g.tensor("big", big.shape, sg.int8)
    g.output(sg.linear_offchip_load(tensor, tile=(1, COLS), shape=(2,), stride=(ends,)), "y")
    for name, base in bases.items():
        tensor = g.tensor(name, (ROWS, COLS), sg.int8, base=base)
        inputs[name] = rng.integers(-128, 128, (ROWS, COLS)).astype(np.int8)
        rows = sg.linear_offchip_load(tensor, tile=(1, COLS), shape=(ROWS,), stride=(1,))
        if name == "around":
            sg.linear_offchip_store(
                rows, g.tensor("copy", (ROWS, COLS), sg.int8, base=(1 << 33) - 8)
            )
        else:
            g.output(rows, f"y_{name}")
    return g, inputs


@pytest.mark.slow
@pytest.mark.parametrize("driver", some_slow(sorted(DRIVERS, key="cocotb".__eq__), 2))
def test_tensors_anywhere(program, driver, tmp_path):
    experiment = Experiment(*program, bus=Bus(data_bits=64, burst=4))
    design = experiment.design
    assert design.regions["behind"].base == 5 * GIB
    assert design.bus.address_bits == 64
    verdict = experiment.test(tmp_path, driver=driver)
    assert verdict.good, verdict.outcome.faults
    assert np.array_equal(experiment.reference.tensors["copy"], program[1]["around"])
    assert verdict.compared["memory"] < 10_000


@pytest.mark.slow
def test_a_difference_is_reported_with_its_address(program, tmp_path):
    from dataclasses import replace

    from stepgen.cosim.case import write_cases
    from stepgen.cosim.verilator import build, run_driver
    from stepgen.emit.elaborate import verilog
    from stepgen.emit.interface import interface

    experiment = Experiment(*program, bus=Bus(data_bits=64, burst=4))
    outside, case = interface(experiment.design), experiment.case()
    spoilt = case.memory_after.copy()
    spoilt[Windows(outside.memory.windows).place((1 << 33) + 1)] ^= 1
    write_cases(tmp_path, outside, [replace(case, memory_after=spoilt)])
    simulation = build(outside, verilog(experiment.design, probes=True))
    (outcome,) = run_driver(simulation, tmp_path)
    assert outcome.faults[0].startswith(f"memory: byte 0x{(1 << 33) + 1:x} is 0x")
