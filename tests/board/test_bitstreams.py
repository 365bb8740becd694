"""Real bitstreams, by the real tools: minutes for each."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.bitstreams import layer
from stepgen.board import build as builder
from stepgen.board.build import build
from stepgen.board.description import boards
from stepgen.board.output_folder import saving

BOARDS = {name: board for name, board in boards().items() if not board.vivado}


CLOCK = {
    "ecp5": "Derived frequency constraint of {:.1f} MHz",
    "gowin": "(PASS at {:.2f} MHz)",
    "ice40": "(PASS at {:.2f} MHz)",
}
"""What place and route says of the clock that the design has."""

LUTS = {"ecp5": (0, 0.15), "gowin": (-0.1, 0.2), "ice40": (0, 0.6)}
"""What placement may add to those of the netlist, as a share: ends of carry chains, and such; on
iCE40, registers by themselves."""


@pytest.mark.slow
@pytest.mark.parametrize("name", BOARDS)
def test_a_layer_on_every_board(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fits, meets its clock, and its PLL makes the clock that the link counts on."""
    chip = BOARDS[name].chip
    monkeypatch.setattr(builder, "cache_folder", lambda: tmp_path / "cache")
    made = build(layer(chip.family), BOARDS[name])
    assert made.met, made.placed.path
    with saving(made, tmp_path) as place:
        pass
    assert (place / made.file).stat().st_size > 10_000
    log = next(place.glob("*.nextpnr.log")).read_text()
    assert CLOCK[chip.family].format(made.board.hz / 1e6) in log
    lanes = 1 if chip.family == "ice40" else 4
    assert sum(takes["multiplier"] for takes in made.groups.values()) == lanes**2
    whole = {what: sum(takes[what] for takes in made.groups.values()) for what in made.placed.used}
    assert whole["ff"] == made.placed.used["ff"]
    assert whole["block_ram"] == made.placed.used["block_ram"]
    low, high = LUTS[chip.family]
    assert low <= made.placed.used["lut"] / whole["lut"] - 1 < high
