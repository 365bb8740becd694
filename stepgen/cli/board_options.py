"""Options of commands for a board."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stepgen.cli.groups import option
from stepgen.cli.outputs import NAME
from stepgen.commands.place import OnBoard

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
    seeds: int = option(
        "Placements that are tried, each with a seed of its own; the fastest is kept.",
        type=click.IntRange(1),
        default=1,
        metavar="N",
    )

    def board(self, *, simulated: bool = False) -> tuple[Board, bool]:
        """The board with its clock, and whether another clock will do.

        With `simulated` it may be one that is simulated, whose clock is that of its file.
        """
        on = OnBoard(board=self.name, clock=self.clock, seeds=self.seeds)
        return on.find(simulated=simulated)

    def earlier(self, program: str) -> list[Path]:
        """Where the bitstream of a design folder may be already."""
        return [Path(program) / self.name] if Path(program).is_dir() else []
