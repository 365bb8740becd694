"""Figures: small ones through the engine, their tables and files, and what may be compared."""

from __future__ import annotations

import csv
import re
from functools import cache
from itertools import combinations

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Picture
from rich.console import Console
from seeds import others_slow

from stepgen.cli.app import execute
from stepgen.compile.lower import lower
from stepgen.ir.errors import StepError
from stepgen.program import program
from stepgen.study import plots, published, study
from stepgen.study.evaluate import evaluate
from stepgen.study.figure import Figure, FigureResult, Row
from stepgen.study.figures import figures, streamtensor
from stepgen.study.point import FAIR, PUBLISHED, VIEWS, Point, Trace
from stepgen.study.report import signed, view_table
from stepgen.study.tiling import tiling_row, with_distance
from stepgen.study.traces import Traces

NAMES = ["8", "9", "10", "12", "13", "14", "15", "17", "19", "20", "21", "combined"]
ON_CIRCUITS = ["rtl-attention", "rtl-decoder", "rtl-regions", "rtl-tiles"]
SMALL = Traces(small=True)


QUICK = ["8", "12", "15", "19"]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """Figures by name, from small inputs, each evaluated once."""
    folder = tmp_path_factory.mktemp("study")

    @cache
    def made(name):
        (outcome,) = study.run([figures()[name]], SMALL, folder / "out", evaluate=evaluate)
        return outcome

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEPGEN_CACHE", str(folder / "cache"))
        yield made


def numbers_of(outcome):
    return [(view, r) for view, results in outcome.results.items() for r in results]


def test_all_figures_are_there_in_order():
    assert list(figures()) == [*NAMES, *ON_CIRCUITS, "streamtensor"]
    assert [f.name for f in study.chosen("all")] == NAMES
    assert [f.name for f in study.chosen("rtl")] == ON_CIRCUITS


@pytest.mark.parametrize("name", others_slow(NAMES, QUICK))
def test_a_figure_has_files_and_sound_numbers(outcome, name):
    outcome = outcome(name)
    assert list(outcome.results) == list(VIEWS)
    for view, result in numbers_of(outcome):
        n = result.numbers
        assert result.row.point.view == view
        assert n["cycles"] > 0
        assert n["traffic"] > 0
        assert 0 < n["compute_utilization"] <= n["compute_occupancy"] <= 1
        assert 0 < n["bandwidth_utilization"] <= 1
        assert result.error("cycles") is None or name == "8"
    with outcome.files["csv"].open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(numbers_of(outcome))
    assert [int(row["cycles"]) for row in rows] == [r["cycles"] for _, r in numbers_of(outcome)]
    # Files are the same whenever and wherever they are made.
    assert "error_seconds" not in rows[0]
    assert outcome.files["png"].read_bytes().startswith(b"\x89PNG")
    assert outcome.files["pdf"].read_bytes().startswith(b"%PDF")
    assert outcome.figure.differs.endswith(".")


def test_the_fair_view_has_equal_machines_and_the_published_one_has_not():
    def machines(view):
        rows = figures()["9"].rows(SMALL, view)
        return {(r.point.machine, r.point.changes["compute.flops"]) for r in rows}

    assert machines(FAIR) == {("sda", 4096)}
    assert machines(PUBLISHED) == {("sda-published", 4096), ("sda-published", 6400)}


@pytest.mark.parametrize("name", others_slow(["9", "10", "19", "20"], QUICK))
def test_dynamic_tiles_never_move_more_than_static_ones(outcome, name):
    for view, results in outcome(name).results.items():
        for model in {r["model"] for r in results}:
            own = {r["tile"]: r["traffic"] for r in results if r["model"] == model}
            assert own["dynamic"] == min(own.values()), view


def test_sharing_regions_moves_the_same_bytes_with_less_compute(outcome):
    results = outcome("12").results[FAIR]
    for tiling in ("static", "dynamic"):
        own = [r for r in results if r["tiling"] == tiling]
        assert len({r["traffic"] for r in own}) == 1
        compute = [r["compute_allocated"] for r in own]
        assert compute == sorted(compute, reverse=True)
        assert len(set(compute)) == len(own)


def test_small_programs_do_not_fill_a_published_region_more_than_its_share(outcome):
    for result in outcome("15").results[PUBLISHED]:
        if result["schedule"] == "coarse":
            assert result.row.point.transforms[0].options["per_region"] == 16


def fake(cycles, memory, tile, view=FAIR):
    point = Point("moe_swiglu", view=view)
    numbers = {"cycles": cycles, "memory_peak": memory}
    return FigureResult(Row({"model": "m", "tile": tile}, point), numbers)


def test_the_distance_from_the_frontier_is_that_of_the_nearest_point():
    static = [fake(800, 10, 8), fake(400, 20, 16), fake(200, 50, 32)]
    best = with_distance([*static, fake(200, 25, "dynamic")])[-1]
    assert best["pareto_distance"] == 2.0
    same = with_distance([*static, fake(400, 20, "dynamic")])[-1]
    assert same["pareto_distance"] == 1.0
    worse = with_distance([*static, fake(800, 40, "dynamic")])[-1]
    assert worse["pareto_distance"] == 0.5


def results_of(origin, view):
    trace = Trace("r", origin, ((0, 1),))
    point = Point("moe_swiglu", traces={"routing": trace}, view=view)
    return [FigureResult(Row({"tile": 8, "model": "m"}, point, {"cycles": 200}), {"cycles": 210})]


@pytest.mark.parametrize(
    ("ours", "said"),
    [(200, "="), (210, "+5.0 %"), (199.99, "-0.005 %"), (200.08, "+0.04 %"), (200.12, "+0.1 %")],
)
def test_only_what_is_equal_reads_as_equal(ours, said):
    assert signed(ours / 200 - 1) == said


def test_a_folder_that_cannot_be_written_is_reported_before_the_work(tmp_path):
    (tmp_path / "file").touch()

    def evaluate(_):
        pytest.fail("work was begun")

    with pytest.raises(StepError, match=r"can't write .*file/out: .*file is a file"):
        study.run(study.chosen("8"), SMALL, tmp_path / "file" / "out", evaluate=evaluate)


@pytest.mark.parametrize("groups", [2, 5])
def test_numbers_above_bars_stay_apart_and_inside(groups):
    series = {str(i): [1.0, 0.97 + 0.01 * i, 1.6] for i in range(groups)}
    picture = Picture(figsize=(6, 3.8))
    axes = picture.subplots()
    plots.bars(axes, ["a", "b", "c"], series, published={"0": [1.1, None, 1.6]}, numbers="%.2f")
    FigureCanvasAgg(picture).draw()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) == 3 * groups
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert all(axes.bbox.containsy(y) for box in boxes for y in (box.y0, box.y1))


@pytest.mark.parametrize("ratio", [1.5, 5, 30])
def test_logarithmic_axes_have_numbers_that_stay_apart(ratio):
    picture = Picture(figsize=(4, 3.6))
    axes = picture.subplots()
    plots.frontier(axes, [(2e7, 3e6, "8"), (2e7 * ratio, 3e6 * ratio, "64")])
    FigureCanvasAgg(picture).draw()
    low, high = axes.get_xlim()
    places = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    boxes = [text.get_window_extent() for x, text in places if low <= x <= high]
    assert len(boxes) >= 2
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert all(axes.bbox.containsx(t.get_window_extent().x1) for t in axes.texts)


@pytest.mark.parametrize(
    ("origin", "view", "error"),
    [
        ("published", PUBLISHED, "+5.0 %"),
        ("counts", PUBLISHED, "+5.0 %"),
        ("drawn", PUBLISHED, None),
        ("published", FAIR, None),
    ],
)
def test_only_the_same_input_and_settings_are_compared(origin, view, error):
    figure = Figure("9", "Title", "Differs.", lambda *_: [], lambda *_: None, ("cycles",))
    results = results_of(origin, view)
    console = Console(width=200)
    with console.capture() as capture:
        console.print(view_table(figure, view, results))
    text = capture.get()
    assert (error in text) if error else ("%" not in text)
    assert ("published " in text.splitlines()[2]) == (view == PUBLISHED)
    assert "210" in text
    document = results[0].document()
    assert (document["published_cycles"], document["input"]) == (200, origin)
    assert (document["error_cycles"] is None) == (error is None)


def test_published_memory_follows_its_formula():
    """Section 6.1's tiles counted 4 bytes, weight tiles 2: E(6*64*D + 12*t*D) + 10*D + 2."""
    sizes = {"mixtral": (8, 4096), "qwen": (128, 2048)}
    for (model, _, tile), known in published.MOE.items():
        experts, width = sizes[model]
        if isinstance(tile, int) and "memory_allocated" in known:
            each = 6 * 64 * width + 12 * tile * width
            assert known["memory_allocated"] == experts * each + 10 * width + 2


def test_published_points_are_compared_under_published_settings_only():
    row = tiling_row(Traces(), PUBLISHED, "mixtral", 1024, "dynamic")
    assert row.known["cycles"] == 7942058
    assert row.point.origin == "counts"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("figure 11", "there is no figure '11', only 8, 9, 10, 12, 13, 14, 15, 17, 19, 20, 21, "),
        ("figure 9 --view fairer", "there is no view 'fairer', only published, fair and both"),
        (
            "figure 9 -j 2 --dask x:1",
            "work is done by 2 processes or by the cluster at x:1, not by both",
        ),
        ("figure 9 --data nix", "there is no folder nix of routings and KV lengths"),
        ("figure", "Missing argument 'FIGURE'."),
        ("figure 9 -j 0", "Invalid value for '-j' / '--jobs': "),
    ],
)
def test_mistakes_on_the_command_line_are_one_sentence(
    line, sentence, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert execute(line.split()) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"stepgen: {sentence}")
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_command_writes_a_figure(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("STEPGEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("STEPGEN_DATA", raising=False)
    out = tmp_path / "out"
    assert execute(["figure", "8", "--out", str(out), "--view", "published"]) == 0
    said = capsys.readouterr().out
    assert "Figure 8, as published" in said
    assert "Figure 8, fair" not in said
    assert {p.name for p in out.iterdir()} == {"figure8.csv", "figure8.png", "figure8.pdf"}


def test_a_view_that_does_not_exist_is_named():
    with pytest.raises(StepError, match="there is no view"):
        study.views("odd")


@pytest.mark.parametrize("tiles", published.SWIGLU, ids=str)
def test_figure_8_moves_and_holds_the_published_bytes(tiles):
    rows = figures()["8"].rows(Traces(), PUBLISHED)
    row = next(r for r in rows if tuple(r.labels.values()) == tiles)
    result = FigureResult(row, evaluate(row.point))
    assert {n: result.error(n) for n in ("traffic", "memory_allocated")} == {
        "traffic": 0, "memory_allocated": 0,
    }  # fmt: skip


def test_figure_10_has_both_depths_of_fifos():
    """The public tables were made with FIFOs of 2, the plot of one model with unbounded ones."""
    rows = figures()["10"].rows(Traces(), PUBLISHED)
    deep = [r for r in rows if r.point.changes["fifo_depth"] == "unbounded"]
    assert [(r.labels["model"], r.labels["FIFOs"], r.labels["tile"]) for r in deep] == [
        ("Qwen3-30B-A3B", "unbounded", tile)
        for tile in (16, 32, 64, 128, 256, 512, 1024, "dynamic")
    ]
    assert not any("cycles" in r.known for r in deep)
    assert sum("memory_allocated" in r.known for r in deep) == 3
    others = [*figures()["10"].rows(Traces(), FAIR), *figures()["20"].rows(Traces(), PUBLISHED)]
    assert {r.point.changes["fifo_depth"] for r in others} == {2}


def test_a_dynamic_point_is_compared_with_static_ones_of_the_same_fifos():
    results = [fake(800, 10, 8), fake(200, 10, "dynamic")]
    deep = [
        FigureResult(
            Row({**r.row.labels, "FIFOs": "unbounded"}, r.row.point), {**r.numbers, "cycles": n}
        )
        for r, n in zip(results, (300, 100), strict=True)
    ]
    made = with_distance([*results, *deep])
    assert [r["pareto_distance"] for r in made if r["tile"] == "dynamic"] == [4.0, 3.0]


def test_seconds_to_a_design_stand_beside_the_published_ones():
    """The design is made; how long that takes is not looked at."""
    (line, *others) = streamtensor._seconds(small=True)
    assert len(others) == len(streamtensor.SMALL) - 1
    loaded = program.load("models:gpt2", {"phase": "decode", "cache": "16"}, draw=False)
    units = len(lower(loaded.graph).units)
    assert re.fullmatch(
        rf"- GPT-2, small, from the model to the design table of a token, {units} units with the "
        r"depths of their FIFOs: \d+\.\d s of one CPU; published, .* 27 to 63 s\.",
        line,
    )


def test_times_of_language_models_follow_from_a_prompt_and_a_token(faked):
    (results,) = [views for figure, views in faked if figure.name == "streamtensor"]
    assert list(results) == list(VIEWS)
    for r in results[PUBLISHED]:
        output = int(r["tokens"].split(":")[1])
        assert r["latency_ms"] == pytest.approx(
            r["first_ms"] + 1e3 * output / r["tokens_per_second"]
        )
        assert r["tokens_per_second"] <= r["roofline"]
        known = r["model"] == "GPT-2 medium" and output in (32, 256) and r["arrays"] == "split"
        assert (r.published("latency_ms") is not None) == known
    for found in published.STREAMTENSOR.values():
        behind = found["latency_ms"] - found["first_ms"]
        assert found["tokens_per_second"] * behind / 1e3 in (
            pytest.approx(32, 1e-3),
            pytest.approx(256, 1e-3),
        )
    wide, narrow = (
        {r.row.point.changes.get("memory.channels") for r in results[view]} for view in VIEWS[::-1]
    )
    assert (wide, narrow) == ({None}, {4 * 29})
