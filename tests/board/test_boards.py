"""The files of boards: clocks, pins, parts."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from stepgen.board.description import boards
from stepgen.hw.board.chip import CLOCK
from stepgen.hw.board.families import ecp5
from stepgen.hw.board.family import family
from stepgen.ir.errors import StepError
from stepgen.ir.registry import modules
from stepgen.synth.toolchain import toolchain

BOARDS = boards()


def keeps_the_rules_of_ecp5(pll) -> bool:
    """The data sheet's limits, from the dividers alone."""
    numbers = [pll.settings[name] for name in ("CLKI_DIV", "CLKFB_DIV", "CLKOP_DIV")]
    inner, feedback, output = numbers
    phase = pll.source / inner
    hz = phase * feedback  # the loop makes the divided output equal to the divided input
    return (
        all(1 <= number <= 128 for number in numbers)
        and 8_000_000 <= pll.source <= 400_000_000
        and 3_125_000 <= phase <= 400_000_000
        and 400_000_000 <= hz * output <= 800_000_000
        and 3_125_000 <= hz <= 400_000_000
        and (hz, hz * output) == (pll.hz, pll.vco)
    )


RULES = {"ecp5": keeps_the_rules_of_ecp5}


@pytest.mark.parametrize("seed", range(20))
def test_a_pll_of_ecp5_keeps_all_rules(seed: int) -> None:
    """For drawn clocks; and no other setting within the rules is nearer from below."""
    rng = random.Random(seed)
    source = rng.choice([8_000_000, 12_000_000, 25_000_000, 27_000_000, 50_000_000, 100_000_000])
    source += rng.choice([0, rng.randrange(1_000_000)])
    asked = rng.randrange(5_000_000, 250_000_000)
    pll = family("ecp5").pll(source, asked)
    assert keeps_the_rules_of_ecp5(pll)
    assert int(pll.hz) <= asked
    for inner in range(1, 129):
        feedback = min(128, int(Fraction(asked * inner, source)))
        if source / inner < 3_125_000 or feedback < 1:
            continue
        hz = Fraction(source * feedback, inner)
        outputs = [k for k in range(1, 129) if 400_000_000 <= hz * k <= 800_000_000]
        if outputs and hz >= 3_125_000:
            assert hz <= pll.hz


def test_clocks_that_no_pll_makes_are_refused() -> None:
    for source, asked in ((5_000_000, 50_000_000), (25_000_000, 3_000_000)):
        with pytest.raises(StepError, match=r"no PLL of the family ecp5 makes a clock of at most"):
            family("ecp5").pll(source, asked)
    assert min(ecp5.VCO_HZ) == 400_000_000


@pytest.mark.parametrize("name", BOARDS)
def test_a_board_makes_the_clock_of_its_file(name: str) -> None:
    board = BOARDS[name]
    assert board.hz == board.clock["design_hz"] == board.pll.hz
    assert RULES[board.chip.family](board.pll)
    baud = board.hz / board.bit_cycles
    assert abs(baud / board.link["baud"] - 1) < 0.02
    for hz in (board.hz - 1, 41_100_000, 33_333_333):
        slower = board.at(hz)
        assert 0.9 * hz < slower.hz <= hz
        assert slower.at(slower.hz) == slower


@pytest.mark.parametrize("name", BOARDS)
def test_pins_of_a_board(name: str) -> None:
    board = BOARDS[name]
    sites = [site for pins in board.pins().values() for site in pins]
    assert len(set(sites)) == len(sites)
    assert {CLOCK, "rx", "tx"} <= board.pins(memory=False).keys()
    assert board.speed in board.chip.speed_grades
    assert set(toolchain(board.chip.family).bels) == {"lut", "ff", "multiplier", "block_ram"}


def test_a_family_has_hard_blocks_and_tools() -> None:
    names = {board.chip.family for board in BOARDS.values()}
    assert names == set(modules("stepgen.hw.board.families"))
    assert names == set(modules("stepgen.synth.toolchains"))


def test_an_unknown_family_is_named() -> None:
    with pytest.raises(StepError, match="there is no family of parts 'abacus', only ecp5"):
        family("abacus")
