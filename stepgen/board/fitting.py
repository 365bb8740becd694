"""Whether a design fits on a board, and what would make it fit."""

from __future__ import annotations

from collections.abc import Mapping

from ..hw.design.table import Design
from ..ir.errors import StepError
from ..synth.part import Part
from .description import Board

WORDS = {
    "lut": "LUTs",
    "ff": "registers",
    "multiplier": "multipliers",
    "block_ram": "block RAMs",
}
"""Names of resources in sentences."""

_LESS = {
    "lut": "fewer lanes, or experts that share regions (time_multiplex)",
    "ff": "fewer lanes, or experts that share regions (time_multiplex)",
    "multiplier": "fewer lanes (a matrix unit has lanes x lanes), or experts that share regions "
    "(time_multiplex)",
    "block_ram": "a cap on the rows of dynamic tiles (capped_tiling), or smaller tensors",
}


def available(part: Part) -> dict[str, int]:
    """What a part has, by resource."""
    return {
        "lut": part.luts,
        "ff": part.ffs or part.luts,
        "multiplier": part.multipliers,
        "block_ram": part.block_rams,
    }


def check_room(design: Design, board: Board, used: Mapping[str, int]) -> None:
    """Refuse a netlist that takes more than its part has.

    Raises
    ------
    StepError
        Which resource, by how much, and what takes less of it.
    """
    there = available(board.chip)
    over = [what for what in WORDS if used[what] > there[what]]
    if not over:
        return
    what = max(over, key=lambda name: used[name] / max(1, there[name]))
    more = 100 * used[what] / max(1, there[what]) - 100
    raise StepError(
        f"{design.name} is too large for {board.name}: it takes {used[what]:,} {WORDS[what]} of "
        f"{there[what]:,}, {more:.0f} % too many; less take {_LESS[what]}"
    )
