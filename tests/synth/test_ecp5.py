"""Options of the tools for ECP5."""

from __future__ import annotations

import pytest

from stepgen.board.description import named
from stepgen.synth.toolchain import Target, toolchain


@pytest.mark.parametrize(("share", "placer"), [(0.59, "static"), (0.61, "heap")])
def test_full_parts_have_a_placer_of_their_own(share: float, placer: str) -> None:
    options = options_for(round(share * named("ulx3s-85f").chip.luts))
    assert options[options.index("--placer") + 1] == placer


@pytest.mark.parametrize(("luts", "router"), [(12_000, False), (12_001, True)])
def test_large_circuits_have_a_router_of_their_own(luts: int, router: bool) -> None:
    options = options_for(luts)
    assert ("router2" in options) == router


def options_for(luts: int) -> list[str]:
    """Of place and route on the largest ULX3S."""
    board = named("ulx3s-85f")
    target = Target(board.chip, board.speed, "clk", 25_000_000, 25_000_000, {}, {})
    return toolchain("ecp5").place("top", target, 1, {"lut": luts})
