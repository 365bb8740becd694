"""The files of boards: clocks, pins, parts."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from fractions import Fraction

import pytest

import stepgen as sg
from stepgen.board.description import boards
from stepgen.board.fitting import available
from stepgen.compile.lower import lower
from stepgen.hw.board.chip import CLOCK
from stepgen.hw.board.families import ecp5
from stepgen.hw.board.family import family
from stepgen.ir.errors import StepError
from stepgen.ir.registry import modules
from stepgen.synth.toolchain import Target, toolchain
from stepgen.tools.shipped import shipped

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


def keeps_the_rules_of_an_mmcm(pll, vco: tuple[int, int], most: int, fastest: int) -> bool:
    """The data sheets' limits, from the dividers alone."""
    divider, factor, output = (pll.settings[name] for name in ("DIVCLK", "CLKFBOUT", "CLKOUT0"))
    inner = pll.source / divider
    hz = inner * factor
    return (
        1 <= divider <= 106
        and 2 <= factor <= most
        and 1 <= output <= 128
        and 10_000_000 <= inner <= 450_000_000
        and vco[0] <= hz <= vco[1]
        and hz / output <= fastest
        and (hz / output, hz) == (pll.hz, pll.vco)
    )


def keeps_the_rules_of_artix7(pll) -> bool:
    return keeps_the_rules_of_an_mmcm(pll, (600_000_000, 1_200_000_000), 64, 464_000_000)


def keeps_the_rules_of_ultrascale_plus(pll) -> bool:
    return keeps_the_rules_of_an_mmcm(pll, (800_000_000, 1_600_000_000), 128, 667_000_000)


def keeps_the_rules_of_gowin(pll) -> bool:
    """The data sheet's limits, from the dividers alone."""
    divider, factor, output = (pll.settings[name] for name in ("IDIV", "FBDIV", "ODIV"))
    hz = pll.source / divider * factor
    return (
        all(1 <= number <= 64 for number in (divider, factor))
        and output in (2, 4, 8, *range(16, 129, 16))
        and 3_000_000 <= pll.source / divider <= 500_000_000
        and 500_000_000 <= hz * output <= 1_250_000_000
        and 3_906_250 <= hz <= 625_000_000
        and (hz, hz * output) == (pll.hz, pll.vco)
    )


def keeps_the_rules_of_ice40(pll) -> bool:
    """The data sheet's limits, from the dividers alone."""
    divider, factor, output = (pll.settings[name] for name in ("DIVR", "DIVF", "DIVQ"))
    phase = pll.source / (divider + 1)
    vco = phase * (factor + 1)
    return (
        0 <= divider < 16
        and 0 <= factor < 128
        and 1 <= output <= 6
        and 10_000_000 <= phase <= 133_000_000
        and 533_000_000 <= vco <= 1_066_000_000
        and 16_000_000 <= vco / 2**output <= 275_000_000
        and (vco / 2**output, vco) == (pll.hz, pll.vco)
    )


RULES = {
    "ice40": keeps_the_rules_of_ice40,
    "ecp5": keeps_the_rules_of_ecp5,
    "gowin": keeps_the_rules_of_gowin,
    "artix7": keeps_the_rules_of_artix7,
    "ultrascale_plus": keeps_the_rules_of_ultrascale_plus,
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["artix7", "ultrascale_plus"])
def test_an_mmcm_keeps_all_rules(name: str, seed: int) -> None:
    """For drawn clocks; and no other setting within the rules is nearer from below."""
    rng = random.Random(seed)
    source = rng.choice([25_000_000, 100_000_000, 125_000_000, 300_000_000])
    source += rng.choice([0, rng.randrange(1_000_000)])
    asked = rng.randrange(7_000_000, 400_000_000)
    blocks = family(name)
    pll = blocks.pll(source, asked)
    assert RULES[name](pll)
    assert int(pll.hz) <= asked
    for divider in range(1, source // 10_000_000 + 1):
        for factor in range(2, blocks.most_factor + 1):
            hz = Fraction(source * factor, divider)
            if blocks.vco_hz[0] <= hz <= blocks.vco_hz[1] and Fraction(source, divider) <= 450e6:
                output = -(-hz // asked)
                assert output > 128 or hz / output <= pll.hz


@pytest.mark.parametrize("seed", range(5))
def test_a_pll_of_gowin_keeps_all_rules(seed: int) -> None:
    """For drawn clocks; and no other setting within the rules is nearer from below."""
    rng = random.Random(seed)
    source = rng.choice([12_000_000, 27_000_000, 50_000_000]) + rng.randrange(1_000_000)
    asked = rng.randrange(5_000_000, 300_000_000)
    pll = family("gowin").pll(source, asked)
    assert keeps_the_rules_of_gowin(pll)
    assert int(pll.hz) <= asked
    for divider in range(1, source // 3_000_000 + 1):
        for factor in range(1, 65):
            hz = Fraction(source * factor, divider)
            fits = any(500e6 <= hz * n <= 1250e6 for n in (2, 4, 8, *range(16, 129, 16)))
            assert hz <= pll.hz or int(hz) > asked or not fits


@pytest.mark.parametrize("seed", range(5))
def test_a_pll_of_ice40_keeps_all_rules(seed: int) -> None:
    """For drawn clocks; and no other setting within the rules is nearer from below."""
    rng = random.Random(seed)
    source = rng.choice([12_000_000, 25_000_000, 48_000_000]) + rng.randrange(1_000_000)
    asked = rng.randrange(17_000_000, 270_000_000)
    pll = family("ice40").pll(source, asked)
    assert keeps_the_rules_of_ice40(pll)
    assert int(pll.hz) <= asked
    for divider in range(1, source // 10_000_000 + 1):
        for factor in range(1, 129):
            vco = Fraction(source * factor, divider)
            if 533e6 <= vco <= 1066e6:
                made = [vco / 2**k for k in range(1, 7) if 16e6 <= vco / 2**k <= 275e6]
                assert all(hz <= pll.hz or int(hz) > asked for hz in made)


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
    assert board.hz == board.clock.design_hz == board.pll.hz
    assert RULES[board.chip.family](board.pll)
    baud = board.hz / board.bit_cycles
    assert abs(baud / board.link.baud - 1) < 0.02
    for hz in (board.hz - 1, 41_100_000, 33_333_333, 22_222_222):
        if hz >= board.hz:
            continue
        slower = board.at(hz)
        assert 0.9 * hz < slower.hz <= hz
        assert slower.at(slower.hz) == slower


def test_the_page_lists_all_boards() -> None:
    page = (shipped("docs") / "boards.md").read_text()
    rows = re.findall(r"^\| (`.*?) \|.*\| (.*?) \|$", page, re.MULTILINE)
    built = {name: by for names, by in rows for name in re.findall(r"`([\w-]+)`", names)}
    wanted = {name: "Vivado" if b.vivado else "open tools" for name, b in BOARDS.items()}
    assert {name: built.get(name) for name in BOARDS} == wanted


@pytest.mark.parametrize("name", BOARDS)
def test_pins_of_a_board(name: str) -> None:
    board = BOARDS[name]
    sites = [site for pins in board.pins().values() for site in pins]
    assert len(set(sites)) == len(sites)
    assert {CLOCK, "rx", "tx"} <= board.pins(memory=False).keys()
    assert board.speed in board.chip.speed_grades
    assert set(board.standards_of(board.pins())) == set(board.pins())
    assert set(board.standards) <= set(board.pins())
    if not board.vivado:
        assert set(toolchain(board.chip.family).bels) == {"lut", "ff", "multiplier", "block_ram"}


def test_what_stands_around_a_design_is_the_same_on_every_board() -> None:
    """With block RAM: so the simulated board shows what is behind the pins of all of them."""
    graph = sg.Graph("small")
    weights = graph.tensor("w", (4, 8), sg.int8)
    loaded = sg.linear_offchip_load(weights, tile=(4, 8), shape=(1,), stride=(1,))
    graph.output(loaded, "y")
    design = lower(graph, lanes=4)
    block = [board for board in BOARDS.values() if board.memory.kind == "block"]
    found = {board.key: board.around(design) for board in block}
    same = {replace(around, clock=1_000_000, bit_cycles=10) for around in found.values()}
    assert len(same) == 1


def test_constraints_of_gowin() -> None:
    board, tools = BOARDS["tang-nano-20k"], toolchain("gowin")
    pins = {CLOCK: ["4"], "bus": ["70", "69"]}
    standards = {CLOCK: "LVCMOS33", "bus": "LVCMOS18"}
    target = Target(board.chip, 8, CLOCK, board.clock.hz, board.hz, pins, standards)
    assert tools.constraints_text(target).splitlines() == [
        *('IO_LOC "clock" 4;', 'IO_PORT "clock" IO_TYPE=LVCMOS33;'),
        *('IO_LOC "bus[0]" 70;', 'IO_PORT "bus[0]" IO_TYPE=LVCMOS18;'),
        *('IO_LOC "bus[1]" 69;', 'IO_PORT "bus[1]" IO_TYPE=LVCMOS18;'),
    ]
    options = tools.place("top", target, 1, {})
    assert options[options.index("--freq") + 1] == "81"
    assert options[options.index("--device") + 1] == "GW2AR-LV18QN88C8/I7"
    assert available(board.chip)["ff"] == 15552


def test_a_family_has_hard_blocks_and_tools() -> None:
    names = {board.chip.family for board in BOARDS.values()}
    assert names == set(modules("stepgen.hw.board.families"))
    placed = {board.chip.family for board in BOARDS.values() if not board.vivado}
    assert placed == set(modules("stepgen.synth.toolchains"))
    message = f"no open tools place parts of artix7, only those of {', '.join(sorted(placed))}"
    with pytest.raises(StepError, match=message):
        toolchain("artix7")


def test_an_unknown_family_is_named() -> None:
    with pytest.raises(StepError, match="there is no family of parts 'abacus', only artix7, "):
        family("abacus")
