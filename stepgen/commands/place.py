"""A board to build for, with its clock."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepgen.ir.errors import StepError

if TYPE_CHECKING:
    from stepgen.board.description import Board


@dataclass(frozen=True, kw_only=True)
class OnBoard:
    """A board to build for.

    Attributes
    ----------
    board : str
        One that ``stepgen board`` lists.
    clock : float or str, optional
        Clock of the design in MHz, or ``"auto"``: the board's if that is met, else the one that is.
    seeds : int
        Placements that are tried; the fastest one is kept.
    """

    board: str
    clock: float | str | None = None
    seeds: int = 1

    def find(self, *, simulated: bool = False) -> tuple[Board, bool]:
        """The board with its clock, and whether another clock will do.

        With `simulated` it may be one that is simulated, whose clock is that of its file.
        """
        from stepgen.board.description import named
        from stepgen.board.device import VIRTUAL
        from stepgen.hw.board.uart import LEAST_CYCLES

        if self.board.startswith(VIRTUAL) and not simulated:
            real = self.board.removeprefix(VIRTUAL)
            raise StepError(
                f"{self.board} is simulated, and nothing is built for it: stepgen deploy runs on "
                f"it, --board {real} builds for the real one"
            )
        board = named(self.board.removeprefix(VIRTUAL))
        if self.clock is not None and self.board.startswith(VIRTUAL):
            raise StepError(
                f"--clock can't be given for {self.board}: no clock has to be met there"
            )
        if self.clock == "auto" and board.vivado:
            raise StepError(
                f"--clock auto can't be given for {self.board}: Vivado reports which clock is met"
            )
        if self.clock in (None, "auto"):
            return board, self.clock is not None
        try:
            mhz = float(self.clock)
        except ValueError:
            mhz = math.nan
        if not 1 <= mhz <= 1000:
            raise StepError(f"--clock takes auto or 1 to 1000 MHz, not {self.clock!r}")
        board = board.at(round(1e6 * mhz))
        if board.bit_cycles < LEAST_CYCLES:
            raise StepError(
                f"--clock {mhz:g} is too slow for the link of {self.board}: a bit of its "
                f"{board.link.baud:,} baud must last {LEAST_CYCLES} cycles or more, not "
                f"{board.bit_cycles}: give {LEAST_CYCLES * board.link.baud / 1e6:g} or more"
            )
        return board, False
