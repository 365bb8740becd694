"""Lengths from files, and what is drawn against the statistics that were asked for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from seeds import some_slow

from stepgen.ir.errors import StepError
from stepgen.program import routing, traces


def write(path: Path, content: Any) -> Path:
    if path.suffix == ".csv":
        path.write_text(content)
    elif path.suffix == ".npz":
        np.savez(path, **content)
    else:
        np.save(path, content)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("n.npy", np.array([5, 0, 77])),
        ("n.npz", {"data": np.array([5.0, 0.0, 77.0]), "other": np.zeros(2)}),
        ("n.csv", "length\n5\n0\n77\n"),
        ("n.csv", "5, 0, 77\n"),
    ],
)
def test_lengths_from_a_file(tmp_path: Path, name: str, content: Any) -> None:
    lengths = traces.load_lengths(write(tmp_path / name, content))
    assert (lengths.dtype, lengths.tolist()) == (np.int64, [5, 0, 77])


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            np.ones((2, 3)),
            "is not a list of lengths: it must have the shape [requests], not [2, 3]",
        ),
        (np.zeros(0), "is not a list of lengths: it must have the shape [requests], not [0]"),
        (np.array([1.5]), "is not a list of lengths: they must be integers, not 1.5 in row 1"),
        (np.array([3, -1]), "is not a list of lengths: request 1 has -1"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: Any, sentence: str) -> None:
    path = write(tmp_path / "n.npy", content)
    with pytest.raises(StepError, match=re.escape(f"{path} {sentence}")):
        traces.load_lengths(path)


def test_a_routing_from_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "r.npz", {"data": np.array([[3, 1], [0, 2]])})
    assert routing.read(path).tolist() == [[3, 1], [0, 2]]


@pytest.mark.parametrize(
    ("model", "experts", "top", "deviation", "unused"),
    [("mixtral", 8, 2, (0.2, 0.45), (0, 0)), ("qwen", 128, 8, (1.5, 2.2), (60, 76))],
)
def test_drawn_routings_are_as_skewed_as_those_of_the_model(
    model: str, experts: int, top: int, deviation: tuple[float, float], unused: tuple[int, int]
) -> None:
    spread, idle = traces.SKEWS[model]
    counts = []
    for seed in range(20):
        drawn = traces.draw_routing(64, experts, top, spread=spread, idle=idle, seed=seed)
        assert drawn.shape == (64, top)
        assert all(len(set(row)) == top for row in drawn.tolist())
        counts.append(np.bincount(drawn.ravel(), minlength=experts))
    assert deviation[0] < np.mean([c.std() / c.mean() for c in counts]) < deviation[1]
    assert unused[0] <= np.mean([(c == 0).sum() for c in counts]) <= unused[1]
    again = traces.draw_routing(64, experts, top, spread=spread, idle=idle, seed=19)
    assert (again == drawn).all()


@pytest.mark.parametrize("batch", [16, 64])
@pytest.mark.parametrize(
    ("mean", "stdev"), some_slow([(700, 480), (1300, 990), (1700, 1456), (50, 0)], 2)
)
def test_drawn_lengths_have_the_statistics(batch: int, mean: float, stdev: float) -> None:
    for seed in range(5):
        lengths = traces.draw_lengths(batch, mean, stdev, most=6000, seed=seed)
        assert lengths.shape == (batch,)
        assert 1 <= lengths.min() <= lengths.max() <= 6000
        assert lengths.mean() == pytest.approx(mean, abs=0.5)
        assert lengths.std(ddof=1) == pytest.approx(stdev, abs=1)


def test_a_batch_of_one_has_no_deviation() -> None:
    assert traces.draw_lengths(1, 300, 0).tolist() == [300]
    with pytest.raises(StepError, match="1 lengths within 1 and 4096 can't have the mean 300 and"):
        traces.draw_lengths(1, 300, 5)


def test_impossible_statistics_are_named() -> None:
    with pytest.raises(
        StepError, match=r"of mean 50 have a standard deviation of at most \d+, not"
    ):
        traces.draw_lengths(16, 50, 60, most=99)
    with pytest.raises(StepError, match="1 to 2 of its 2 experts for each, not tokens=4 and top=3"):
        traces.draw_routing(4, 2, 3)
