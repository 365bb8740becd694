"""Modules of a design are counted one by one, each once."""

from pathlib import Path
from typing import Any

import pytest

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.emit.modules import Modules
from stepgen.hw.design.table import Design
from stepgen.synth import counting
from stepgen.synth.counting import counted
from stepgen.synth.toolchain import FAMILY


def sums(*depths: int) -> Design:
    """Rows are summed, in one branch for each depth of a FIFO."""
    g = sg.Graph("sums")
    x = g.input("x", sg.int8[1, 8], (4,))
    for number, depth in enumerate(depths):
        g.output(x.fifo(depth).map(sg.fn.row_sum()), f"y{number}")
    return lower(g, lanes=8)


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Modules that Yosys gets, by batch; one small batch follows the other."""
    found: list[list[str]] = []
    run = counting._run

    def noted(batch: list[Any]) -> Any:
        found.append([one.name for one in batch])
        return run(batch)

    monkeypatch.setattr(counting, "_run", noted)
    monkeypatch.setattr(counting, "BATCH", 40_000)
    return found


def test_equal_modules_are_counted_once(tmp_path: Path, batches: list[list[str]]) -> None:
    first, second = sums(20, 20), sums(30, 20)
    kept = Modules(tmp_path / "kept")
    shown: list[float] = []
    found = counted(first, FAMILY, kept=kept, progress=lambda what, share: shown.append(share))
    assert len(batches) > 2, "several batches, the top behind them"
    assert batches[-1] == ["top"]
    assert shown == sorted(shown)
    assert 0 <= shown[0] < counting.ELABORATED <= shown[-1] < 1
    names = [name for batch in batches for name in batch]
    assert len(names) == len(set(names)) < len(first.units) + len(first.channels) + 1

    batches.clear()
    assert counted(first, FAMILY, kept=kept) == found
    assert not batches

    other = counted(second, FAMILY, kept=kept)
    new = [name for batch in batches for name in batch]
    assert new[-1] == "top"
    assert len(new) < len(names), "units and most FIFOs are those of the first design"
    assert other == counted(second, FAMILY), "as if nothing was kept"


def test_damaged_counts_are_made_again(tmp_path: Path, batches: list[list[str]]) -> None:
    design, kept = sums(20), Modules(tmp_path / "kept")
    found = counted(design, FAMILY, kept=kept)
    (damaged, *_) = sorted(kept.folder.glob("*.json"))
    damaged.write_text(damaged.read_text()[:-3])
    batches.clear()
    assert counted(design, FAMILY, kept=kept) == found
    assert sum(map(len, batches)) == 1
    assert not [place for place in kept.folder.iterdir() if place.suffix != ".json"]
