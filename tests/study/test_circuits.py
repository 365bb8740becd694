"""Figures on circuits: small ones end to end, gains and ratios worked out by hand, and the RTL."""

from __future__ import annotations

import csv
from functools import cache

import numpy as np
import pytest
from seeds import some_slow

from stepgen.cli.app import execute
from stepgen.compile import transforms
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.hw.units.matmul.params import Matmul
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.program.program import find
from stepgen.study import circuit, experts, study
from stepgen.study.evaluate import build, evaluate
from stepgen.study.figure import FigureResult, Row
from stepgen.study.figures import figures
from stepgen.study.figures.rtl_attention import balanced
from stepgen.study.figures.rtl_tiles import with_gains
from stepgen.study.point import CIRCUIT, VIEWS, Point, Trace
from stepgen.study.traces import Traces

SMALL = Traces(small=True)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Small figures by name: the outcome and the results of its view, evaluated once."""
    folder = tmp_path_factory.mktemp("circuits")

    @cache
    def made(name):
        (outcome,) = study.run([figures()[name]], SMALL, folder / "out", evaluate=evaluate)
        ((view, results),) = outcome.results.items()
        assert view == CIRCUIT
        return outcome, results

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEPGEN_CACHE", str(folder / "cache"))
        yield made


@pytest.mark.parametrize("name", some_slow(["rtl-regions", "rtl-tiles"], 1))
def test_a_figure_on_circuits_has_its_files(results, name):
    outcome, found = results(name)
    assert all(r["cycles"] > 0 and r["onchip_bits"] > 0 for r in found)
    with outcome.files["csv"].open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["cycles"]) for row in rows] == [r["cycles"] for r in found]
    assert outcome.files["png"].read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_dynamic_tiles_read_least_and_need_no_other_multipliers(results):
    _, found = results("rtl-tiles")
    for layer in {r["layer"] for r in found}:
        own = [r for r in found if r["layer"] == layer]
        assert len({r["multipliers"] for r in own}) == 1
        least = min(r["traffic"] for r in own)
        assert {r["traffic"] for r in own if r["tiles"] == "dynamic"} == {least}


def test_multipliers_fall_with_the_regions_and_their_use_is_a_share(results):
    for r in results("rtl-regions")[1]:
        assert 0 < r["matrix_utilization"] <= 1
        assert r["multipliers"] == r["regions"] * r["lanes"] ** 2


def test_numbers_are_those_of_the_circuit(results):
    one = results("rtl-regions")[1][1]
    graph, inputs = build(one.row.point)
    run = Experiment(graph, inputs)
    assert one["cycles"] == run.prediction.cycles
    assert experts.products(one.row.point) == 8 * 2 * 16 * 16


def fake(tiles, routed, bits, cycles):
    row = Row({"layer": "l", "bus": 64, "tiles": tiles, "routed": routed}, Point("moe"))
    return FigureResult(row, {"cycles": cycles, "onchip_bits": bits})


def test_gains_compare_with_static_tiles_that_need_no_more():
    static = [
        fake("static", "rows", 100, 800),
        fake("static", "rows", 200, 500),
        fake("static", "references", 150, 600),
    ]
    dynamic = [fake("capped", "rows", 199, 400), fake("dynamic", "rows", 90, 700)]
    first, second = with_gains([*static, *dynamic])[-2:]
    assert first["gain"] == first["gain_over_rows"] == 500 / 400
    assert first["pareto_distance"] == 500 / 400
    assert "gain" not in second.numbers
    assert second["pareto_distance"] == 800 / 700
    assert second["pareto_distance_over_rows"] == 800 / 700


@pytest.mark.parametrize("seed", range(5))
def test_balanced_requests_are_the_same_in_quarters_of_about_the_same_work(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 300, 16)
    made = balanced(Trace.of("l", "drawn", lengths))
    assert sorted(made) == sorted(lengths)
    sums = made.reshape(4, 4).sum(axis=1)
    assert max(sums) - min(sums) <= max(lengths)


@pytest.mark.parametrize("seed", some_slow(range(3), 1))
def test_a_decoder_takes_all_three_transforms_together(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 30, int(rng.integers(3, 7)))
    sizes = {"experts": 4, "top": 2, "width": 8, "inner": 8, "columns": 8, "head": 4}
    graph, inputs = find("decoder")(
        lengths=lengths, cache_tile=4, kv_heads=1, tiling="dynamic", **sizes, seed=seed
    )
    requests = [*(f"{x}_of_request0" for x in "qkv"), "span", "place", "filled"]
    new = transforms.parallelize(
        graph, regions=2, requests=requests, until=["attended0"], done="attended0"
    )
    new = transforms.time_multiplex(new, regions=2)
    run = Experiment(new.graph, new.inputs(inputs))
    stored = run.reference.stored["y"]
    assert run.prediction.cycles > 0
    assert stored.all()


def test_an_rtl_that_differs_is_reported(monkeypatch):
    point = Point("moe", {"tokens": 2, "experts": 2, "top": 1, "width": 4, "hidden": 4})
    graph, inputs = find("moe")(**point.options, columns=4)

    class Outcome:
        good, faults, cycles = False, ["channel y: cycle 3"], 3

    class Verdict:
        outcome = Outcome

    monkeypatch.setattr(Experiment, "test", lambda *_, **__: Verdict)
    with pytest.raises(StepError, match=r"the RTL differs .*: channel y: cycle 3"):
        circuit.measured(graph, inputs, {"rtl": True})


def test_only_samples_are_simulated():
    figure = figures()["rtl-tiles"]
    rows = [figure.sampled(row) for row in figure.rows(SMALL, CIRCUIT)]
    assert any(row.sample for row in rows)
    assert all(row.sample == row.point.changes.get("rtl", False) for row in rows)


def test_small_programs_take_no_folder(tmp_path, capsys):
    assert execute(["figure", "9", "--small", "--data", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said == f"stepgen: small programs have drawn traces, none from the folder {tmp_path}\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", [figure.name for figure in study.chosen("rtl")])
def test_samples_agree_with_their_rtl(name, tmp_path, monkeypatch):
    monkeypatch.setenv("STEPGEN_CACHE", str(tmp_path / "cache"))
    ((_, views),) = study.measured([figures()[name]], SMALL, views=VIEWS, rtl=True)
    simulated = [r for r in views[CIRCUIT] if r.row.sample]
    assert simulated
    assert all(r["rtl_cycles"] == r["cycles"] for r in simulated)


def qwen_like(seed):
    """64 tokens, 8 of 128 experts each: 60 of them are chosen, the most popular some 40 times."""
    rng, used = np.random.default_rng(seed), 60
    share = np.arange(1.0, used + 1) ** -0.7
    names = rng.permutation(128)[:used]
    chosen = [rng.choice(names, 8, replace=False, p=share / share.sum()) for _ in range(64)]
    counts = np.bincount(np.ravel(chosen), minlength=128)
    assert 30 < counts.max() < 50
    assert 50 < (counts > 0).sum() <= used
    return np.sort(chosen)


@pytest.mark.slow
@pytest.mark.parametrize(("regions", "tiling"), [(4, "static"), (8, "capped")])
def test_128_experts_on_few_regions_in_rtl(regions, tiling, tmp_path):
    """Values, the cycle of every beat, memory and counters, with stalls."""
    graph, inputs = find("moe")(
        *(64, 128, 8),
        routing=qwen_like(regions),
        **{"width": 16, "hidden": 8, "columns": 8, "tile": 8, "tiling": tiling},
    )
    new = transforms.time_multiplex(graph, regions=regions)
    stalls = Stalls(regions, {"x": 0.1, "y": 0.1, "mem.r": 0.1})
    run = Experiment(new.graph, new.inputs(inputs), stalls=stalls)
    verdict = run.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults
    assert len(list(run.design.rows_of(Matmul))) == regions
    assert verdict.outcome.cycles == run.prediction.cycles
    assert run.reference.stored["y"].all()
