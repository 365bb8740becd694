"""Whether a design fits on a board, and what would make it fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stepgen.board.block_rams import alone, taken
from stepgen.board.description import Board, extent
from stepgen.hw.design.table import Design
from stepgen.ir.errors import StepError
from stepgen.synth.part import Part

WORDS = {
    "lut": "LUTs",
    "ff": "registers",
    "multiplier": "multipliers",
    "block_ram": "block RAMs",
}
"""Names of resources in sentences."""

LESS = {
    "lut": "fewer lanes, experts that share regions (time_multiplex), or fewer counters "
    "(--counters units or none)",
    "ff": "fewer lanes, experts that share regions (time_multiplex), or fewer counters "
    "(--counters units or none)",
    "multiplier": "fewer lanes (a matrix unit has lanes x lanes), or experts that share regions "
    "(time_multiplex)",
}
"""How to use less of a resource; for block RAM see `Taken.less`."""


def available(part: Part) -> dict[str, int]:
    """What a part has, by resource."""
    return {
        "lut": part.luts,
        "ff": part.ffs or part.luts,
        "multiplier": part.multipliers,
        "block_ram": part.block_rams,
    }


@dataclass(frozen=True)
class Shares:
    """What a design takes of a board, of 1, by estimate.

    Attributes
    ----------
    board : Board
    takes : dict of str to float
        By resource; ``memory`` for tensors. Block RAM with what stands around the design, all else
        without it.
    why : str
        Why it can't stand on the board, whatever it takes; else empty.
    block_rams : int
        How many it takes; those of the design alone where it can't stand on the board.
    """

    board: Board
    takes: Mapping[str, float]
    why: str
    block_rams: int

    @property
    def fits(self) -> bool:
        """Whether it takes no more than there is."""
        return not self.why and max(self.takes.values()) <= 1

    @property
    def missing(self) -> int:
        """Block RAMs that the board has too few."""
        return max(0, self.block_rams - self.board.chip.block_rams)


def shares(design: Design, board: Board, used: Mapping[str, int]) -> Shares:
    """What a design takes of a board.

    Parameters
    ----------
    design : Design
    board : Board
    used : mapping of str to int
        What it takes of any, such as the total of `stepgen.synth.estimate.estimate`; not of block
        RAM, which is counted.
    """
    there = available(board.chip)
    end, _ = extent(design)
    why, blocks = "", 0
    try:
        blocks = taken(design, board).total
    except StepError as error:
        why, blocks = str(error), alone(design, board)
    used = {**used, "memory": end, "block_ram": blocks}
    takes = {
        what: used[what] / max(1, amount)
        for what, amount in {**there, "memory": board.memory_bytes}.items()
    }
    return Shares(board, takes, why, blocks)


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
    over.sort(key=lambda name: -used[name] / max(1, there[name]))
    what, logic = over[0], [name for name in over if name in LESS]
    less = LESS[logic[0]] if logic else taken(design, board).less
    more = 100 * used[what] / max(1, there[what]) - 100
    raise StepError(
        f"{design.name} is too large for {board.name}: it takes {used[what]:,} {WORDS[what]} of "
        f"{there[what]:,}, {more:.0f} % too many; less take {less}"
    )
