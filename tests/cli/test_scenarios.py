"""``stepgen time --scenarios`` and `sg.time_scenarios`: many runs of one circuit."""

from __future__ import annotations

import re

import numpy as np
import pytest

import stepgen as sg
from stepgen.cosim import data_dependent
from stepgen.timing.deadlock import Deadlock

GATES = np.array([[[1], [0], [1], [1]], [[0], [0], [0], [0]], [[1], [1], [1], [1]]], bool)
CHANGES = {
    "gate": GATES,
    "latency": [16, 40, 7],
    "stall.x": [0, 0.5, 0.3],
    "depth.x": [2, 9, 4],
    "seed": [0, 5, 6],
}


def test_each_run_takes_the_cycles_that_it_takes_alone(stepgen, here) -> None:
    np.savez(here / "many.npz", **CHANGES)
    found = stepgen("time p.py:layer --scenarios many.npz --out cycles.npz --json").json
    for run in range(3):
        np.savez(here / "one.npz", gate=GATES[run])
        options = [
            f"--{name.partition('.')[0]} {name.partition('.')[2]}{'=' * ('.' in name)}{values[run]}"
            for name, values in CHANGES.items()
            if name != "gate"
        ]
        alone = stepgen(f"time p.py:layer --inputs one.npz {' '.join(options)} --json").json
        assert found["cycles"][run] == alone["cycles"]
        one = stepgen(f"time p.py:layer --scenarios many.npz --run {run} --json").json
        assert {**one, "settings": None} == {**alone, "settings": None}
        assert found["read"][run] == alone["off_chip_bytes"]["read"]
        assert found["written"][run] == alone["off_chip_bytes"]["written"]
    with np.load(here / "cycles.npz") as kept:
        assert kept["cycles"].tolist() == found["cycles"]
        assert kept["ends"].all()
    assert found["quartiles"]["least"] == int(np.argmin(found["cycles"]))
    assert found["stopped"] == {}
    shown = stepgen("time p.py:layer --scenarios many.npz")
    assert shown.code == 0
    assert "3 of 3 runs of layer end" in shown.out
    assert f"{max(found['cycles']):,}" in shown.out


def test_routings(stepgen, here) -> None:
    """The program makes its streams from them."""
    rng = np.random.default_rng(0)
    routing = np.stack([[rng.permutation(4)[:2] for _ in range(6)] for _ in range(3)])
    np.savez(here / "many.npz", routing=routing)
    sizes = " ".join(f"--set {pair}" for pair in ["tokens=6", "experts=4", "width=8", "hidden=8"])
    found = stepgen(f"time moe {sizes} --set columns=8 --scenarios many.npz --json").json["cycles"]
    for run in range(3):
        np.save(here / "one.npy", routing[run])
        line = f"time moe {sizes} --set columns=8 --routing one.npy --json"
        assert found[run] == stepgen(line).json["cycles"]
    line = f"time moe {sizes} --set columns=8 --scenarios many.npz --run 2 --timeline t.png"
    assert f"{found[2]:,} cycles" in stepgen(line).out
    assert (here / "t.png").stat().st_size > 1000


def centered() -> sg.Graph:
    """A row waits on one way until the other has its largest element."""
    g = sg.Graph("center")
    x = g.input("x", sg.int8[1, 64], (6,))
    g.output(x.map(sg.fn.sub(), x.map(sg.fn.row_max())), "y")
    return g


DEEP = {"x_to_map_1": 24}
"""With fewer beats it deadlocks."""


def test_a_run_that_stops_is_named_and_the_others_go_on() -> None:
    graph = centered()
    made = sg.time_scenarios(graph, scenarios={"depth.x_to_map_1": [2, 24]})
    assert list(made.stopped) == [0]
    assert "deadlocks in cycle 5" in made.stopped[0]
    alone = sg.time(graph, depth=DEEP)
    assert made.cycles.tolist() == [0, alone.cycles]
    assert made.arrays()["ends"].tolist() == [False, True]
    assert "1 stop" in repr(made)
    with pytest.raises(Deadlock, match=f"^{re.escape(made.stopped[0])}$"):
        made.run(0)
    assert repr(made.run(1).activity) == repr(alone.activity)
    with pytest.raises(sg.StepError, match=r"^there is no run 2: the scenarios have the runs 0"):
        made.run(2)


def test_a_run_that_takes_too_long_is_named_and_the_others_go_on() -> None:
    graph = centered()
    made = sg.time_scenarios(graph, scenarios={"stall.x": [0.9, 0]}, depth=DEEP, max_cycles=600)
    assert list(made.stopped) == [0]
    assert made.stopped[0].endswith("takes more than 600 cycles, the limit")
    assert made.cycles[1] == sg.time(graph, depth=DEEP).cycles


def test_rows_of_different_shapes_and_jobs_are_one_sentence() -> None:
    with pytest.raises(sg.StepError, match=r"^scenarios: the rows of latency have different"):
        sg.time_scenarios(centered(), scenarios={"latency": [[1], [2, 3]]})
    with pytest.raises(sg.StepError, match=r"^scenarios: latency takes an integer .* not object$"):
        sg.time_scenarios(centered(), scenarios={"latency": [8, None]})
    with pytest.raises(sg.StepError, match=r"^jobs must be at least 1, not 0$"):
        sg.time_scenarios(centered(), scenarios={"latency": [8]}, jobs=0)


def test_neither_the_order_of_runs_nor_threads_change_anything() -> None:
    """Some deadlock, some are of the circuit as it is, and of some depths there are several."""
    graph, rng, count = centered(), np.random.default_rng(0), 12
    many = {
        "depth.x_to_map_1": rng.permutation([2, 3, 24, 25] * 3),
        "latency": rng.integers(4, 60, count),
        "stall.x": rng.choice([0, 0.3], count),
        "x": rng.integers(-9, 9, (count, 6, 1, 64)),
    }
    found = sg.time_scenarios(graph, scenarios=many)
    for run in range(count):
        depth, latency, stall, x = (array[run] for array in many.values())
        more = {"depth": {"x_to_map_1": int(depth)}, "stall": {"x": float(stall)}}
        if run in found.stopped:
            with pytest.raises(Deadlock, match=f"^{re.escape(found.stopped[run])}$"):
                sg.time(graph, inputs={"x": x}, latency=int(latency), **more)
        else:
            alone = sg.time(graph, inputs={"x": x}, latency=int(latency), **more)
            assert found.cycles[run] == alone.cycles
    order = rng.permutation(count)
    others = {k: array[order] for k, array in many.items()}
    again = sg.time_scenarios(graph, scenarios=others, jobs=2)
    assert again.cycles.tolist() == found.cycles[order].tolist()
    assert [again.stopped.get(n) for n in range(count)] == [found.stopped.get(n) for n in order]
    assert 0 < len(found.stopped) < count


def chosen() -> sg.Graph:
    """Data decide which way a row goes."""
    g = sg.Graph("chosen")
    x = g.input("x", sg.int8[1, 4], (6,))
    sel = x.map(sg.fn.top_k(1))
    parts = sg.partition(x, sel, rank=0)
    g.output(sg.reassemble(parts, sel, rank=0), "y")
    return g


def test_what_data_decide_is_computed_once(monkeypatch) -> None:
    graph, runs = chosen(), []
    inputs = {"x": np.random.default_rng(0).integers(-9, 9, (6, 1, 4))}
    alone = [sg.time(graph, inputs=inputs, latency=n, stall={"x": 0.3}).cycles for n in (8, 9, 30)]
    run = data_dependent.system.run
    monkeypatch.setattr(
        data_dependent.system, "run", lambda *a, **kw: runs.append(1) or run(*a, **kw)
    )
    many = {"latency": [8, 9, 30], "stall.x": [0.3] * 3}
    assert sg.time_scenarios(graph, inputs=inputs, scenarios=many).cycles.tolist() == alone
    assert len(runs) == 1


@pytest.mark.slow
def test_processes_give_what_this_one_gives() -> None:
    """Each gets several runs at a time."""
    graph = centered()
    many = {"seed": np.arange(200), "stall.x": np.linspace(0, 0.5, 200)}
    alone, shared = (sg.time_scenarios(graph, scenarios=many, jobs=n) for n in (1, 2))
    assert alone.cycles.tolist() == shared.cycles.tolist()


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({}, "many.npz needs arrays with a row for each run: it has no array"),
        ({"latency": np.zeros(0, int)}, "latency has none"),
        ({"latency": 8}, "latency has none"),
        ({"latency": [8, 9], "seed": [1]}, "many.npz: latency is for 2 runs, and seed for 1"),
        ({"latency": [8, 9.5]}, "many.npz: latency takes an integer for each run, not float64"),
        ({"seed": ["1", "2"]}, "many.npz: seed takes an integer for each run, not str"),
        ({"depth.x": [[2], [9]]}, r"depth.x takes an integer .*, not an array of shape \(1,\)"),
        ({"stall.x": [0.5, np.nan]}, "stall.x takes a number for each run, not nan in run 1"),
        ({"stall.x": [1j]}, "stall.x takes a number for each run, not complex128"),
        ({"latancy": [8]}, "scenarios have 'latancy', and of layer may differ: x, gate, routing"),
        ({"x": np.zeros((2, 4, 1, 3), np.int8)}, "run 0 of the scenarios: .*x"),
        ({"latency": [16, -1]}, "run 1 of the scenarios: .*-1"),
        ({"stall.x": [0.5, 2]}, "run 1 of the scenarios: .*2"),
        ({"stall.no": [0.5]}, "run 0 of the scenarios: there is nothing called 'no' to stall"),
        ({"depth.no": [5]}, "run 0 of the scenarios: design layer has no channel no"),
        ({"routing": np.zeros((2, 4, 1), int)}, "run 0 of the scenarios: .*routing"),
    ],
)
def test_bad_input_is_one_sentence(stepgen, here, arrays, sentence) -> None:
    np.savez(here / "many.npz", **arrays)
    said = stepgen("time p.py:layer --scenarios many.npz --out o.npz")
    assert said.code == 2
    last = said.err.splitlines()[-1]
    assert last.startswith("stepgen: ")
    assert re.search(sentence, last), last
    assert not (here / "o.npz").exists()


def test_an_array_without_a_name(stepgen, here) -> None:
    np.save(here / "many.npy", [8, 9])
    said = stepgen("time p.py:layer --scenarios many.npy")
    assert said.code == 2
    assert "many.npy holds no scenarios: it is no .npz file" in said.err


def test_options_of_one_run_and_of_many(stepgen, here) -> None:
    np.savez(here / "many.npz", latency=[8])
    said = stepgen("time p.py:layer --scenarios many.npz --timeline t.png")
    assert said.err.endswith("--timeline is for one run, and --scenarios are many: add --run\n")
    assert "add --scenarios" in stepgen("time p.py:layer --out o.npz").err
    assert "--run is for many runs: add --scen" in stepgen("time p.py:layer --run 0").err
    line = "time p.py:layer --scenarios many.npz --run 0"
    assert "--out is not for one run, and --run shows one" in stepgen(f"{line} --out o.npz").err
    assert "there is no run 1: the" in stepgen(line.replace("--run 0", "--run 1")).err
    (here / "none.npz").write_bytes(b"PK")
    assert "holds no scenarios" in stepgen("time p.py:layer --scenarios none.npz").err
