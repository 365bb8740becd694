"""Options of commands for a board."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from stepgen.cli.groups import option
from stepgen.cli.outputs import NAME

if TYPE_CHECKING:
    from stepgen.board.description import Board


@dataclass(frozen=True)
class BoardOptions:
    """A board to build for."""

    name: str = option(
        "A board that stepgen board lists.",
        "--board",
        required=True,
        unless="selftest",
        type=NAME,
        metavar="BOARD",
    )
    clock: str | None = option(
        "Clock of the design in MHz, or auto: the board's if that is met, else the one that is.",
        metavar="MHZ|auto",
    )
    counters: bool | None = option(
        "Count, and compare, the cycles of each channel; by default what the board's file says.",
        "--counters/--no-counters",
        default=None,
    )

    def board(self, *, simulated: bool = False) -> tuple[Board, bool]:
        """The board with its clock, and whether another clock will do.

        With `simulated` it may be one that is simulated, whose clock is that of its file.
        """
        from stepgen.board.description import named
        from stepgen.board.device import VIRTUAL
        from stepgen.hw.board.uart import LEAST_CYCLES
        from stepgen.ir.errors import StepError

        if self.name.startswith(VIRTUAL) and not simulated:
            real = self.name.removeprefix(VIRTUAL)
            raise StepError(
                f"{self.name} is simulated, and nothing is built for it: stepgen deploy runs on "
                f"it, --board {real} builds for the real one"
            )
        board = named(self.name.removeprefix(VIRTUAL))
        if self.counters is not None:
            board = replace(board, counters=self.counters)
        if self.clock is not None and self.name.startswith(VIRTUAL):
            raise StepError(f"--clock can't be given for {self.name}: no clock has to be met there")
        if self.clock == "auto" and board.vivado:
            raise StepError(
                f"--clock auto can't be given for {self.name}: Vivado tells which clock is met"
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
                f"--clock {mhz:g} is too slow for the link of {self.name}: a bit of its "
                f"{board.link.baud:,} baud must last {LEAST_CYCLES} cycles or more, not "
                f"{board.bit_cycles}: give {LEAST_CYCLES * board.link.baud / 1e6:g} or more"
            )
        return board, False

    def earlier(self, program: str) -> list[Path]:
        """Where the bitstream of a design folder may be already."""
        return [Path(program) / self.name] if Path(program).is_dir() else []
