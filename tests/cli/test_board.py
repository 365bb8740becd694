"""``stepgen board`` tells where a program fits."""

from __future__ import annotations

import pytest

from stepgen.board.description import boards, named

ROWS = 400
"""Of 8 bytes: more than the smallest memories hold."""


@pytest.fixture
def fits(stepgen):
    """Rows of the command, by board."""

    def rows_of(options: str):
        said = stepgen(f"board p.py:layer {options} --json")
        assert said.code == 0, said.err
        return {row["board"]: row for row in said.json["boards"]}

    return rows_of


def test_what_a_program_takes_is_its_estimate(stepgen, fits) -> None:
    estimate = stepgen("show p.py:layer --design --json").json["estimate"]["total"]
    rows = fits("")
    assert rows.keys() == boards().keys()
    for name, row in rows.items():
        chip = boards()[name].chip
        assert row["takes"]["lut"] == estimate["lut"] / chip.luts
        assert row["takes"]["multiplier"] == estimate["multiplier"] / chip.multipliers
        assert row["fits"] == (not row["why"]) == (max(row["takes"].values()) <= 1)
    assert rows["ulx3s-85f"]["fits"]


@pytest.mark.slow
def test_what_does_not_fit_is_named(stepgen, fits) -> None:
    rows = fits(f"--lanes 4 --set rows={ROWS}")
    assert "multipliers" in rows["icebreaker"]["why"]
    assert rows["alveo-u55c"]["fits"]
    assert "memory" not in rows["icepi-zero-sdram"]["why"]
    text = stepgen("board p.py:layer --lanes 8").out
    assert "not enough LUTs" in text
    assert "fits" in text


def test_boards_with_enough_memory_are_named(stepgen) -> None:
    said = stepgen("deploy p.py:layer --set rows=40000 --board virtual:ulx3s-85f")
    assert said.code == 2
    assert "has 131,072 bytes of memory for them; enough has ulx3s-85f-sdram\n" in said.err


def test_a_board_is_shown_alone(stepgen) -> None:
    every = stepgen("board --json").json["boards"]
    for row in every:
        assert stepgen(f"board {row['board']} --json").json["boards"] == [row]
        said = stepgen(f"board {row['board']}").out
        name, of = row["board"], named(row["board"])
        facts = [of.name, of.page, of.chip.name, f"{of.hz / 1e6:g} MHz", f"{row['luts']:,} LUTs"]
        facts += [f"{of.clock.hz / 1e6:g} MHz", f"{row['memory_bytes']:,} bytes", of.link.usb]
        facts += [f"{of.link.baud:,} baud", f"{row['multipliers']} multipliers"]
        facts += [f"{of.streams.beats:,} beats", f"--board virtual:{name}", row["built_by"]]
        words = " ".join(said.split())
        assert [fact for fact in facts if fact not in words] == []
        pins = [f"{pad}: {' '.join(sites)} (" for pad, sites in of.pins().items()]
        assert [pin for pin in pins if pin not in words] == []
        assert ("by openFPGALoader" in words) == (of.program is not None)
    said = stepgen(f"board {name} --lanes 8")
    assert (said.code, said.err) == (2, "stepgen: --lanes is for a program, not for a board\n")
