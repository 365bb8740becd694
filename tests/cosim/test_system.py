"""Several designs in one system: reference, cycle model and circuit agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator
from harness import check, pack
from icarus import needs_icarus
from seeds import some_slow
from systems import chosen, drawn, stored, stored_inputs

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.hw.accelerator import Accelerator
from stepgen.hw.design.table import Design
from stepgen.hw.units.link.params import Link
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls
from stepgen.timing.deadlock import Deadlock


def agrees(seed: int) -> Experiment:
    """The circuit of a drawn pair does what reference and cycle model say."""
    system, inputs = drawn(seed)
    rng = np.random.default_rng([seed, 1])
    shares = {name: float(rng.choice([0.0, 0.0, 0.3, 0.7])) for name in system.ports}
    stalls = Stalls(seed, shares)
    early = tuple(name for name in system.inputs if rng.random() < 0.3)
    experiment = system.experiment(inputs, stalls=stalls, early=early)
    reference, lanes_at = experiment.reference, experiment.design.lanes_at
    sinks = {name: reference.beats(name, lanes_at(name)) for name in system.outputs}
    aborts = rng.integers(experiment.prediction.cycles, size=rng.integers(2)).tolist()
    check(experiment.design, experiment.beats, sinks, stalls, early=early, aborts=aborts)
    return experiment


@pytest.mark.parametrize("seed", some_slow([1, 3, 0, 2, *range(4, 8)], 2))
def test_drawn_pairs_do_what_is_predicted(seed: int) -> None:
    agrees(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 100))
def test_more_drawn_pairs_do_what_is_predicted(seed: int) -> None:
    agrees(seed)


def test_the_drawn_pairs_differ() -> None:
    """They have links of all sorts, so that what the others show is no matter of one."""
    sorts = set()
    for seed in range(8):
        system, _ = drawn(seed)
        first, second = system.lanes["first"], system.lanes["second"]
        sorts.add((first > second) - (first < second))
    assert sorts == {-1, 0, 1}


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [(8, 2), (1, 4)])
def test_the_verilog_of_a_system(first: int, second: int, tmp_path: Path) -> None:
    """Both parts use the memory; every cycle, all counters, what is stored, runs aborted before."""
    system = stored({"first": first, "second": second})
    made = []
    for seed, share in enumerate((0.0, 0.3)):
        names = (*system.ports, *MEMORY_CHANNELS)
        made.append(
            system.experiment(
                stored_inputs(seed),
                memory=MemoryTiming(1 + 30 * seed),
                stalls=Stalls(seed, dict.fromkeys(names, share)),
                early=("first_x",)[:seed],
                aborts=(25,) * seed,
                junk=True,
            )
        )
    for verdict in simulate(made, tmp_path, driver="cpp", opt=LEAST_BUILD):
        assert verdict.good, verdict.outcome.faults
        assert min(verdict.compared.values()) > 0


@pytest.mark.slow
def test_what_data_and_time_decide_goes_from_part_to_part(tmp_path: Path) -> None:
    """Selectors, an order of arrival behind them, and addresses."""
    system, rng, made = chosen(), np.random.default_rng(1), []
    for seed in range(2):
        inputs = {
            "a_x": rng.integers(-60, 60, (9, 1, 4)).astype(np.int8),
            "a_at": np.eye(4, dtype=bool)[rng.integers(4, size=9)],
            "c_table": rng.integers(-60, 60, (8, 4)).astype(np.int8),
        }
        stalls = Stalls(seed, dict.fromkeys(system.ports, 0.4 * seed))
        made.append(system.experiment(inputs, stalls=stalls))
    orders = [one.prediction.choices["b_eager_merge_0"] for one in made]
    assert orders[0] != orders[1]
    for verdict in simulate(made, tmp_path, driver="cpp", opt=LEAST_BUILD):
        assert verdict.good, verdict.outcome.faults


def test_the_reference_is_that_of_the_parts_in_turn() -> None:
    inputs = stored_inputs(3)
    result = stored({"first": 4, "second": 2}).run(inputs)
    rows = inputs["first_x"] + inputs["first_w"]
    assert np.array_equal(result.tensors["second_kept"], rows[:, 0])
    sums = rows.astype(np.int32).sum(axis=2, keepdims=True)
    assert np.array_equal(result.nested("second_y"), sums)


def test_a_system_of_one_part_is_its_design() -> None:
    """Under other names: same units, depths and cycles."""
    graph, inputs = chunked(), {"x": np.zeros((3, CHUNK, 1, 6), np.int8)}
    alone = Experiment(graph, inputs)
    wrapped = sg.System({"only": graph}, {}).experiment({"only_x": inputs["x"]})
    assert shape(wrapped.design) == shape(alone.design)
    assert wrapped.prediction.cycles == alone.prediction.cycles
    for name, cycles in alone.prediction.pushes.items():
        assert np.array_equal(wrapped.prediction.pushes[f"only_{name}"], cycles)


def shape(design: Design) -> list[object]:
    return [
        *((unit.kind, unit.params) for unit in design.units),
        *((c.depth, c.latency, c.width) for c in design.channels),
    ]


CHUNK = 24


def chunked() -> sg.Graph:
    """Rows, and the largest of each chunk of them."""
    g = sg.Graph("chunked")
    x = g.input("x", sg.int8[1, 6], (3, CHUNK))
    g.output(x, "rows")
    g.output(x.accum(sg.fn.maximum(), rank=1), "largest")
    return g


def offset() -> sg.Graph:
    """Rows, to each of which that of its chunk is added."""
    g = sg.Graph("offset")
    rows = g.input("rows", sg.int8[1, 6], (3, CHUNK))
    one = g.input("one", sg.int8[1, 6], (3,))
    g.output(rows.map(sg.fn.add(), one.promote(0).expand(count=CHUNK)), "y")
    return g


def meeting(**lanes: int) -> sg.System:
    """Two streams between the same parts, one of which waits for all of a chunk of the other."""
    links = {"first_rows": "second_rows", "first_largest": "second_one"}
    return sg.System({"first": chunked(), "second": offset()}, links, lanes=lanes)


def test_depths_are_those_of_the_whole_system() -> None:
    """Neither part alone would have to hold a chunk."""
    system, rng = meeting(first=2, second=8), np.random.default_rng(0)
    inputs = {"first_x": rng.integers(-50, 50, (3, CHUNK, 1, 6)).astype(np.int8)}
    experiment = system.experiment(inputs)
    deep = {c.name: c.depth for c in experiment.design.channels if c.depth >= CHUNK}
    assert deep
    assert max(c.depth for c in Experiment(offset(), {}).design.channels) < CHUNK
    rows = inputs["first_x"]
    sums = rows + rows.max(axis=1, keepdims=True)
    assert np.array_equal(experiment.reference.nested("second_y"), sums)
    sinks = {"second_y": experiment.reference.beats("second_y", 8)}
    check(experiment.design, experiment.beats, sinks)
    shallow = dict.fromkeys(deep, 4)
    with pytest.raises(Deadlock, match=r"^design system deadlocks in cycle .* frees it$") as raised:
        system.time(inputs, depths=shallow)
    assert any(name in str(raised.value) for name in deep)


def test_parts_that_nothing_joins_run_side_by_side() -> None:
    """They start in one cycle, and the system ends with the last of them."""
    graph = chunked()
    system = sg.System({"one": graph, "other": graph}, {}, lanes={"one": 1, "other": 8})
    inputs = {f"{part}_x": np.zeros((3, CHUNK, 1, 6), np.int8) for part in ("one", "other")}
    alone = [Experiment(graph, {"x": inputs["one_x"]}, lanes=n).prediction for n in (1, 8)]
    prediction = system.time(inputs)
    assert prediction.cycles == max(one.cycles for one in alone)
    for part, own in zip(("one", "other"), alone, strict=True):
        for name, cycles in own.pushes.items():
            assert np.array_equal(prediction.pushes[f"{part}_{name}"], cycles)


def test_an_option_that_is_none() -> None:
    with pytest.raises(sg.StepError, match="there is no option 'lane', those are bus, depths, "):
        meeting().time({}, lane=4)


@needs_icarus
def test_nothing_in_a_system_is_undefined(tmp_path: Path) -> None:
    """With four states: what a link keeps of a row before it is written, and padding."""
    for first, second in ((1, 4), (8, 2)):
        system = stored({"first": first, "second": second}, columns=9, rows=4)
        inputs = stored_inputs(first, columns=9, rows=4)
        verdict = system.experiment(inputs, aborts=(20,)).test(
            tmp_path / str(first), simulator="icarus"
        )
        assert verdict.good, verdict.outcome.faults


@pytest.mark.parametrize("seed", range(3))
def test_a_link_of_equal_lanes_is_two_designs_side_by_side(seed: int) -> None:
    """Each lowered for itself, their ports connected as `docs/contracts.md` says."""
    rng = np.random.default_rng(seed)
    rows, columns, lanes = int(rng.integers(1, 9)), int(rng.choice([4, 10])), 4
    x = rng.integers(-128, 128, (rows, 1, columns)).astype(np.int8)
    one, two = sg.Graph("one"), sg.Graph("two")
    shifted = one.input("x", sg.int8[1, columns], (rows,)).map(sg.fn.offset(3))
    one.output(shifted, "y")
    given = two.input("x", sg.int8[1, columns], (rows,))
    two.output(given.map(sg.fn.row_sum()), "y")
    programs = {"first": one, "second": two}
    system = sg.System(programs, {"first_y": "second_x"}, lanes=lanes)
    experiment = system.experiment({"first_x": x})
    assert [*experiment.design.of_kind(Link)]
    apart = {name: lower(graph, lanes=lanes) for name, graph in programs.items()}
    first, second = (Accelerator(design) for design in apart.values())
    m = Module()
    m.submodules += [first, second]
    wiring.connect(m, first.y, second.x)
    words = pack(apart["first"].channel["x"], experiment.beats["first_x"])
    pushes: dict[str, list[int]] = {}

    async def bench(ctx) -> None:
        waiting = words[::-1]
        for dut in (first, second):
            ctx.set(dut.start, 1)
        ctx.set(second.y.ready, 1)
        await ctx.tick()
        for dut in (first, second):
            ctx.set(dut.start, 0)
        cycle = 0
        while ctx.get(first.running) or ctx.get(second.running):
            ctx.set(first.x.valid, bool(waiting))
            ctx.set(first.x.payload.as_value(), waiting[-1] if waiting else 0)
            for name, dut in (("first", first), ("second", second)):
                for k, channel in enumerate(dut.design.channels):
                    moved = pushes.setdefault(f"{name}_{channel.name}", [])
                    if ctx.get(dut.moves_in) >> k & 1:
                        moved.append(cycle)
            if waiting and ctx.get(first.x.ready):
                waiting.pop()
            await ctx.tick()
            cycle += 1
        assert cycle == experiment.prediction.cycles

    sim = Simulator(m)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()
    assert pushes == {n: times.tolist() for n, times in experiment.prediction.pushes.items()}
