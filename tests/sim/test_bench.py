"""Both drivers run the same cases with equal cycles, and report the same mistakes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stepgen.cosim.case import Case, Refusals, load_case, write_cases
from stepgen.cosim.payload import pack
from stepgen.cosim.scoreboard import Outcome
from stepgen.cosim.testbench import run_cocotb
from stepgen.cosim.verilator import Simulation, build, run_driver
from stepgen.emit.interface import Interface, MemoryPort, StreamPort
from stepgen.hw.design.registers import counter_address
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls, stalled
from stepgen.ir.wire import BARE, DONE, VALUE, Beats

DESIGN = Path(__file__).parents[1] / "designs" / "mini.sv"
PORTS = tuple(StreamPort(name, way, 4, 8, 2, 32) for name, way in (("x", "in"), ("y", "out")))
INTERFACE = Interface("mini", PORTS, ("x", "y", "words"), MemoryPort(64, 32, ((0, 1 << 16),)))
DEPTHS = {"x": 2, "y": 4, "words": 8}
COPIED = 8 * 32
"""Bytes that the design copies to the bytes behind."""


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    return build(INTERFACE, DESIGN)


def draw(rng: np.random.Generator, number: int, *, judge: bool = False) -> Case:
    n = int(rng.integers(1, 120))
    kind = rng.choice([VALUE, VALUE, VALUE, BARE], n).astype(np.uint8)
    kind[-1] = DONE
    stop = np.where(kind == DONE, 0, rng.integers(0, 4, n)).astype(np.uint8)
    low = np.where(kind == BARE, rng.integers(1, 4, n), 0).astype(np.uint8)
    data = np.where(kind[:, None] == VALUE, rng.integers(-128, 128, (n, 4)), 0).astype(np.int8)
    payloads = pack(Beats(kind, stop, low, data), PORTS[0])
    image = rng.integers(0, 256, 2 * COPIED + 64, dtype=np.uint8)
    after = image.copy()
    after[COPIED : 2 * COPIED] = image[:COPIED]
    names = ("x", "y", *MEMORY_CHANNELS)
    stalls = Stalls(number, {c: float(rng.choice([0, 0, 0.1, 0.5, 0.9])) for c in names})
    pushes, pops = predict(n, stalls)
    return Case(
        f"case {number}",
        {"x": payloads},
        {"y": payloads},
        image,
        after,
        stalls=stalls,
        pushes=pushes,
        pops=pops,
        read_beats=COPIED // 8,
        write_beats=COPIED // 8,
        limit=20_000,
        judge=judge,
    )


def predict(n: int, stalls: Stalls) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Cycles of the stream x: source, FIFO of 2, FIFO of 4, sink, each by its rule."""
    x, y = stalls.of("x"), stalls.of("y")
    push_x: list[int] = []
    pop_x: list[int] = []
    pop_y: list[int] = []
    for i in range(n):
        offered = push_x[-1] + 1 if i else 0
        while stalled(*x, offered):
            offered += 1
        push_x.append(max(offered, pop_x[i - 2] + 1 if i >= 2 else 0))
        room = pop_y[i - 4] + 1 if i >= 4 else 0
        pop_x.append(max(push_x[i] + 1, room, pop_x[-1] + 1 if i else 0))
        taken = max(pop_x[i] + 1, pop_y[-1] + 1 if i else 0)
        while stalled(*y, taken):
            taken += 1
        pop_y.append(taken)
    a, b, c = (np.array(v, np.int64) for v in (push_x, pop_x, pop_y))
    return {"x": a, "y": b, "port:x": a, "port:y": c}, {"x": b, "y": c}


def counted(outcome: Outcome) -> np.ndarray:
    """busy, starved and full of every channel, from the cycles of its beats."""
    assert outcome.record is not None
    rows = []
    for name in INTERFACE.channels:
        went_in = np.bincount(outcome.record.pushes[name], minlength=outcome.cycles)
        came_out = np.bincount(outcome.record.pops[name], minlength=outcome.cycles)
        level = np.concatenate([[0], np.cumsum(went_in - came_out)[:-1]])
        rows.append([came_out.sum(), (level == 0).sum(), (level == DEPTHS[name]).sum()])
    return np.array(rows, np.int64)


def test_both_drivers_as_predicted(simulation: Simulation, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    cases = [draw(rng, i) for i in range(12)]
    write_cases(tmp_path, INTERFACE, cases)
    fast = run_driver(simulation, tmp_path, cases=len(cases))
    assert [o.faults for o in fast] == [[]] * len(cases)

    # what the driver saw on the third channel, and the counters, is what cocotb must see
    more = []
    for case, outcome in zip(cases, fast, strict=True):
        assert outcome.record is not None
        more.append(
            replace(
                case,
                pushes=outcome.record.pushes,
                pops=outcome.record.pops,
                cycles=outcome.cycles,
                counters=counted(outcome),
            )
        )
    write_cases(tmp_path, INTERFACE, more)
    slow = run_cocotb(simulation, tmp_path)
    assert [o.faults for o in slow] == [[]] * len(cases)
    assert [o.registers for o in slow] == [o.registers for o in fast]


@pytest.mark.slow
def test_the_judge_agrees(simulation: Simulation, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    cases = [draw(rng, i, judge=True) for i in range(4)]
    write_cases(tmp_path, INTERFACE, cases)
    outcomes = run_cocotb(simulation, tmp_path)
    assert [o.faults for o in outcomes] == [[]] * len(cases)
    spoilt = cases[0].memory_after.copy()  # type: ignore[union-attr]
    spoilt[COPIED + 3] ^= 255
    write_cases(tmp_path, INTERFACE, [replace(cases[0], memory_after=spoilt)])
    (outcome,) = run_cocotb(simulation, tmp_path)
    assert outcome.faults[0].startswith(f"memory: byte 0x{COPIED + 3:x} is 0x")


def test_faults_name_channel_beat_and_cycles(simulation: Simulation, tmp_path: Path) -> None:
    case = draw(np.random.default_rng(2), 0)
    late = {**case.pushes, "y": case.pushes["y"] + (np.arange(len(case.pushes["y"])) >= 5)}
    short = {**case.pops, "x": case.pops["x"][:-1]}
    values = case.expected["y"].copy()
    values[7, 3] ^= 0x10
    counters = np.zeros((3, 3), np.int64)
    write_cases(
        tmp_path,
        INTERFACE,
        [
            replace(case, pushes=late),
            replace(case, pops=short),
            replace(case, expected={"y": values}),
            replace(case, expected={"y": case.expected["y"][:-1]}),
            replace(case, cycles=1, read_beats=7, counters=counters),
        ],
    )
    outcomes = run_driver(simulation, tmp_path, cases=5)
    n, p, c = len(values), case.pushes["y"][5], case.pushes["port:y"][7]
    assert outcomes[0].faults == [
        f"channel y: beat 5 was pushed in cycle {p}, predicted {p + 1} "
        f"({n - 5} of {n} beats differ)"
    ]
    assert outcomes[1].faults == [
        f"channel x: {n} beats were popped, predicted {n - 1}; the first too many, beat {n - 1}, "
        f"came in cycle {case.pops['x'][-1]}"
    ]
    assert outcomes[2].faults[0].startswith(f"port y: beat 7 in cycle {c} is ")
    assert outcomes[3].faults == [f"port y: {n} beats came, {n - 1} were expected"]
    cycles = outcomes[4].cycles
    assert f"the run took {cycles} cycles, predicted 1" in outcomes[4].faults
    assert "32 read beats were counted, predicted 7" in outcomes[4].faults
    busy = outcomes[4].registers[counter_address(2, 0)]
    assert f"channel words: {busy} cycles busy were counted, predicted 0" in outcomes[4].faults


@pytest.mark.parametrize("cocotb", [False, True])
def test_a_hang_ends_at_the_limit(simulation: Simulation, tmp_path: Path, cocotb: bool) -> None:
    case = draw(np.random.default_rng(3), 0)
    hangs = replace(case, sources={"x": case.sources["x"][:-1]}, limit=900)
    write_cases(tmp_path, INTERFACE, [hangs, case])
    run = run_cocotb if cocotb else lambda s, f: run_driver(s, f, cases=2)
    first, second = run(simulation, tmp_path)
    assert (first.status, first.cycles) == ("hang", 900)
    assert first.record is not None
    last = max(int(c[-1]) for c in first.record.pops.values() if len(c))
    assert first.faults[0].startswith("the run did not end within 900 cycles; the last beat moved ")
    assert first.faults[0].endswith("; beats waiting: none")
    assert last < 900
    assert second.faults == []


def test_without_a_record_values_are_still_checked(simulation: Simulation, tmp_path: Path) -> None:
    case = draw(np.random.default_rng(4), 0)
    values = case.expected["y"].copy()
    values[0, 2] ^= 1
    write_cases(tmp_path, INTERFACE, [replace(case, expected={"y": values})])
    (outcome,) = run_driver(simulation, tmp_path, record=False)
    assert outcome.record is None
    assert outcome.faults[0].startswith("port y: beat 0 is ")


def test_a_case_comes_back_from_its_folder(tmp_path: Path) -> None:
    case = replace(
        draw(np.random.default_rng(5), 3),
        cycles=17,
        counters=np.zeros((3, 3), int),
        stalls=Stalls(3, {"y": 0.5}, {"y": 9}),
        refusals=Refusals(read=2, response="DECERR"),
        error=1,
    )
    write_cases(tmp_path, INTERFACE, [case])
    again = load_case(tmp_path / "0")
    names = ("name", "timing", "stalls", "cycles", "limit", "read_beats", "judge", "refusals")
    for name in (*names, "error"):
        assert getattr(again, name) == getattr(case, name)
    for group in ("sources", "expected", "pushes", "pops"):
        ours, theirs = getattr(case, group), getattr(again, group)
        assert ours.keys() == theirs.keys()
        assert all(np.array_equal(ours[k], theirs[k]) for k in ours)
    for name in ("memory", "memory_after", "counters"):
        assert np.array_equal(getattr(again, name), getattr(case, name))


def test_a_waveform_needs_a_simulation_that_can_write_it(
    simulation: Simulation, tmp_path: Path
) -> None:
    write_cases(tmp_path, INTERFACE, [draw(np.random.default_rng(6), 0)])
    with pytest.raises(StepError, match="built without waveforms"):
        run_driver(simulation, tmp_path, vcd=tmp_path / "a.vcd")
    with pytest.raises(StepError, match="built with trace=True"):
        run_cocotb(simulation, tmp_path, vcd=tmp_path / "a.vcd")


@pytest.mark.slow
def test_waveforms(tmp_path: Path) -> None:
    traced = build(INTERFACE, DESIGN, trace=True)
    write_cases(tmp_path, INTERFACE, [draw(np.random.default_rng(7), 0)])
    run_driver(traced, tmp_path, vcd=tmp_path / "driver.vcd")
    run_cocotb(traced, tmp_path, vcd=tmp_path / "cocotb.vcd")
    for name in ("driver.vcd", "cocotb.vcd"):
        text = (tmp_path / name).read_text()
        assert "probe_push" in text
        assert text.count("\n#") > 100
