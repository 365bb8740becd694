"""The demo, on a layer small enough to build quickly."""

from __future__ import annotations

import pytest

TINY = "demo --set tokens=6 --set experts=2 --set width=8 --set hidden=16 --set columns=8"


@pytest.fixture
def data(stepgen, here):
    (here / "r.csv").write_text("\n".join(["0,1"] * 6))
    said = stepgen(f"{TINY} --driver cpp --routing r.csv -o out --json")
    assert said.code == 0, said.err
    return said.json


@pytest.mark.slow
def test_the_demo(data, stepgen, here):
    assert data["good"]
    board = data["board"]
    assert board["good"]
    assert board["cycles"]["predicted"] == board["cycles"]["board"] > 0
    assert all(board["compared"][what] for what in ("memory", "counters"))
    for tiling, run in data["runs"].items():
        assert run["cycles_predicted"] == run["cycles_rtl"] > 0, tiling
        assert run["off_chip_bytes_symbolic"] == run["off_chip_bytes_bus"] > 0
        assert run["on_chip_bits_predicted"] == run["on_chip_bits_allocated"] > 0
        assert 0 < run["matrix_occupancy"] <= 1
        assert run["matrix_units"] == 2
        assert all(run["compared"][what] for what in ("cycles", "memory", "counters"))
    # 6 tokens per expert take two tiles of 4 rows, so static tiles read every weight twice.
    off_chip = {t: run["off_chip_bytes_symbolic"] for t, run in data["runs"].items()}
    assert off_chip["static"] - off_chip["dynamic"] == 2 * 8 * 16
    for path in data["files"].values():
        assert (here / path).stat().st_size > 0
    assert "Beside another design" in (here / "out" / "dynamic.html").read_text()
    assert "module moe_dynamic" in (here / "out" / "dynamic" / "moe_dynamic.v").read_text()
    assert stepgen("show out/dynamic").out.startswith("graph moe_dynamic\n")


def test_its_table():
    from rich.console import Console

    from stepgen.report import console

    column = {
        "cycles_predicted": 1234,
        "cycles_rtl": 1234,
        "off_chip_bytes_symbolic": 56,
        "off_chip_bytes_bus": 56,
        "on_chip_bits_predicted": 78,
        "on_chip_bits_allocated": 78,
        "matrix_occupancy": 0.5,
        "matrix_units": 2,
        "compared": {"values": 0, "cycles": 9, "memory": 9, "counters": 9},
    }
    paper = Console(width=100, record=True, quiet=False)
    with paper.capture() as said:
        columns = [{**column, "good": True}, {**column, "good": False}]
        paper.print(console.demo_table(("static", "dynamic"), columns))
    text = said.get()
    assert "1,234" in text
    assert "50.0 %" in text
    assert "everything agrees" in text
    assert "differs" in text
