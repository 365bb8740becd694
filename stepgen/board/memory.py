"""The block RAM of a board as a budget of on-chip memory."""

from __future__ import annotations

from collections.abc import Callable

from stepgen.board.block_rams import taken
from stepgen.board.description import Board, boards
from stepgen.board.fitting import LESS
from stepgen.compile.budget import Budget
from stepgen.hw.board.family import family
from stepgen.hw.design.table import Channel, Design, Unit
from stepgen.ir.errors import StepError
from stepgen.synth.estimate import estimate
from stepgen.synth.toolchain import FAMILY
from stepgen.tools.waiting import Progress, quiet


class BoardMemory(Budget):
    """The block RAM of a board that is left for a design.

    Parameters
    ----------
    board : Board
    counters : str, optional
        Which channels are counted, if not those of the board's file.
    """

    unit_of = "block RAMs"

    def __init__(self, board: Board, counters: str | bool | None = None):
        self.board, self.counters = board, counters
        self.most = board.chip.block_rams
        self.blocks = family(board.chip.family).blocks

    def design(self, design: Design) -> int:
        return taken(self.board.counted(design, self.counters), self.board).total

    def unit(self, unit: Unit, design: Design) -> int:
        return self.blocks.total(self.blocks.unit(unit, design))

    def fifo(self, channel: Channel) -> int:
        return self.blocks.total(self.blocks.fifo(channel))

    def refused(self, design: Design) -> str:
        return (
            f"{design.name} is too large for {self.board.name}: with the least memory it takes "
            f"{taken(design, self.board)}"
        )

    def check(
        self, design: Design, smaller: Callable[[], Design], progress: Progress = quiet
    ) -> None:
        """Refuse a design that takes too many blocks or multipliers, before any tool does.

        Where tools choose how memories are made, or multipliers are not counted, the tools report
        it.

        Parameters
        ----------
        design : Design
        smaller : callable
            The design of the same program with this budget.
        progress : Progress

        Raises
        ------
        StepError
            How many are missing, and whether the budget makes the design fit, or what does.
        """
        if not self.blocks.instantiated:
            return
        holds, chip = self.holds(design), self.board.chip
        if holds and chip.family != FAMILY:
            return
        multipliers = estimate(design, progress=progress).total["multiplier"]
        if holds and multipliers <= chip.multipliers:
            return
        found = taken(design, self.board)
        takes = [] if holds else [str(found)]
        if multipliers > chip.multipliers:
            alike = [b for b in boards().values() if b.chip.family == chip.family]
            enough = [b.key for b in alike if b.chip.multipliers >= multipliers]
            takes.append(f"about {multipliers:,} multipliers of {chip.multipliers:,}")
            less = f"less take {LESS['multiplier']}; enough has {', '.join(enough) or 'no board'}"
        else:
            try:
                less = f"--onchip {self.board.key} makes it fit, with {self.design(smaller()):,}"
            except StepError:
                less = f"--onchip does not make it fit; less take {found.less}"
        raise StepError(
            f"{design.name} is too large for {self.board.name}: it takes {', and '.join(takes)}; "
            f"{less}"
        )
