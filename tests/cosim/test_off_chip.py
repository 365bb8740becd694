"""Loads and stores in Verilator, with the simulated memory that the cycle model predicts."""

import numpy as np
import pytest
from drawn import Draw
from off_chip import OffChip

from stepgen.cosim.case import Case, write_cases
from stepgen.cosim.payload import pack
from stepgen.cosim.testbench import run_cocotb
from stepgen.cosim.verilator import build, run_driver
from stepgen.emit.elaborate import verilog
from stepgen.emit.interface import interface
from stepgen.emit.windows import Windows
from stepgen.hw.design.table import Bus, Channel
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import Stalls
from stepgen.timing.model import predict


@pytest.fixture(scope="module")
def built():
    draw = Draw(5)
    made = OffChip(draw, Bus(64, 32, 4, 3))
    ref = draw.nested([(2,), (3,), (0, 1, 2)], lambda: draw.tile(2, 1))
    _, nested, dtype = made.load("y0", ref, 2, 4)
    made.sink("y0", nested, dtype)
    made.store("t1", *made.load("y1"))
    rows = [[[draw.beat() for _ in range(3)] for _ in range(r)] for r in (1, 0, 7, 2)]
    made.source("x", Channel("x", 2, 8, 2), rows)
    made.store("t2", Channel("x", 2, 8, 2), rows, np.int8)
    design = made.design()
    outside, text = interface(design), verilog(design, probes=True, initial=False)
    return draw, made, design, outside, build(outside, text)


def image(made: OffChip, outside, data: bytearray) -> np.ndarray:
    """The memory image: the contents of the windows in which tensors may lie."""
    (low, size), (high, _) = made.windows.windows
    held = np.frombuffer(data, np.uint8)
    return Windows(outside.memory.windows).image([(low, held[:size]), (high, held[size:])])


def case(made: OffChip, design, outside, timing, stalls, judge=False, aborts=0) -> Case:
    early = made.early()
    predicted = predict(design, made.inputs, memory=timing, stalls=stalls, early=early)
    counters = [list(predicted.counters(c.name).values()) for c in design.channels]
    ports = {p.name: p for p in outside.ports}
    return Case(
        name="drawn",
        sources={name: pack(beats, ports[name]) for name, beats in made.inputs.items()},
        expected={name: pack(beats, ports[name]) for name, beats in made.expected.items()},
        memory=image(made, outside, made.before),
        memory_after=image(made, outside, made.after),
        timing=timing,
        stalls=stalls,
        pushes=predicted.pushes,
        pops=predicted.pops,
        cycles=predicted.cycles,
        counters=np.array(counters),
        read_beats=len(predicted.pushes["mem_r"]),
        write_beats=len(predicted.pops["mem_w"]),
        judge=judge,
        early=tuple(early),
        aborts=tuple(int(made.draw.rng.integers(predicted.cycles + 20)) for _ in range(aborts)),
    )


def test_to_the_cycle(built, tmp_path):
    _, made, design, outside, simulation = built
    settings = [(MemoryTiming(), Stalls())]
    settings += [(made.timing(), made.stalls()) for _ in range(12)]
    cases = [case(made, design, outside, timing, stalls) for timing, stalls in settings]
    assert len({c.cycles for c in cases}) > 6
    write_cases(tmp_path / "run", outside, cases)
    for seed in range(3):
        outcomes = run_driver(simulation, tmp_path / "run", cases=len(cases), seed=seed)
        for outcome in outcomes:
            assert outcome.good, outcome.faults
            assert len(outcome.record.pushes["y0"]) == len(made.expected["d_y0"])


@pytest.mark.parametrize("driver", ["cocotb", "cpp"])
def test_aborted_runs(built, driver, tmp_path):
    """In drawn cycles, the bus stalled or not; what follows is exact, with no reset between."""
    _, made, design, outside, simulation = built
    cases = [
        case(made, design, outside, made.timing(), made.stalls(), aborts=6)
        for _ in range(3 if driver == "cocotb" else 12)
    ]
    assert any(c.early for c in cases)
    assert any(a < c.cycles for c in cases for a in c.aborts)
    write_cases(tmp_path / "run", outside, cases)
    if driver == "cpp":
        outcomes = run_driver(simulation, tmp_path / "run", cases=len(cases))
    else:
        outcomes = run_cocotb(simulation, tmp_path / "run")
    assert [o.faults for o in outcomes] == [[]] * len(cases)


def test_judged(built, tmp_path):
    _, made, design, outside, simulation = built
    judged = case(made, design, outside, MemoryTiming(), Stalls(), judge=True, aborts=4)
    write_cases(tmp_path / "run", outside, [judged])
    (outcome,) = run_cocotb(simulation, tmp_path / "run")
    assert outcome.good, outcome.faults
