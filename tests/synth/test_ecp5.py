"""Options of the tools for ECP5."""

from __future__ import annotations

import pytest

from stepgen.board.description import named
from stepgen.synth.toolchain import Target, toolchain


@pytest.mark.parametrize(("share", "placer"), [(0.59, "static"), (0.61, "heap")])
def test_full_parts_have_a_placer_of_their_own(share: float, placer: str) -> None:
    board = named("ulx3s-85f")
    target = Target(board.chip, board.speed, "clk", 25_000_000, 25_000_000, {}, {})
    used = {"lut": round(share * board.chip.luts)}
    options = toolchain("ecp5").place("top", target, 1, used)
    assert options[options.index("--placer") + 1] == placer
