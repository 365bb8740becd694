"""``stepgen deploy --selftest``: whether a board is as described, with a file to send."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from stepgen.board.description import Board
    from stepgen.board.device import Device
    from stepgen.board.selftest import Found, SelfTestStep
    from stepgen.cli.board_options import BoardOptions
    from stepgen.hw.design.table import Design
    from stepgen.tools.waiting import Progress

FOLDER = Path("build/selftest")
"""Where reports go that no other place is given for."""


def report_of(name: str) -> Path:
    """The file of a board's report."""
    return FOLDER / f"{name.replace(':', '-')}.json"


def run(where: BoardOptions, port: str | None, *, quiet: bool) -> tuple[dict[str, Any], Design]:
    """Test a board.

    Returns
    -------
    document : dict
        What was found, for ``--json``.
    design : Design
        What was on the board.
    """
    from stepgen.board import selftest
    from stepgen.board.device import VIRTUAL, Device
    from stepgen.cosim.experiment import Experiment
    from stepgen.ir.errors import StepError
    from stepgen.tools import waiting

    board, auto = where.board(simulated=True)
    simulated = where.name.startswith(VIRTUAL)
    graph, inputs = selftest.program()
    design = Experiment(graph, inputs, lanes=selftest.LANES).design
    if board.vivado and not simulated:
        raise StepError(
            f"{board.name} has to be built with Vivado, which --selftest does not run: "
            f"--selftest {VIRTUAL}{board.key} tests the simulated one"
        )
    steps: list[SelfTestStep] = []
    names = [*([] if simulated else BUILDING), *selftest.STEPS]
    with ExitStack() as opened, waiting.progress(quiet=quiet) as progress:
        target: str | Board = where.name
        if not simulated:
            made: list[Board] = []
            steps += _building(design, board, auto, made, progress)
            target = made[0] if made else board

        def opening() -> Device:
            return opened.enter_context(
                Device(
                    target,
                    graph,
                    built=design,
                    port=port,
                    past_link=False if simulated else None,
                    progress=progress,
                )
            )

        if all(step.good for step in steps):
            steps += selftest.examine(opening, inputs, progress)
    return document(where.name, steps, names), design


BUILDING = ("bitstream", "programming")
"""Steps before those of `stepgen.board.selftest.examine`, of a real board."""


def _building(
    design: Design, board: Board, auto: bool, made: list[Board], progress: Progress
) -> Iterator[SelfTestStep]:
    """Build the bitstream and load it; `made` gets the board as it is then."""
    from stepgen.board import programming
    from stepgen.board.build import Bitstream, build, check_clock
    from stepgen.board.selftest import timed
    from stepgen.tools import external

    files: list[Bitstream] = []

    def building() -> Found:
        external.find(programming.LOADER)  # before the minutes of place and route
        one = build(design, board, auto=auto, progress=progress)
        check_clock(design, one)
        files.append(one)
        made.append(one.board)
        return "", {"hz": one.board.hz, "file": str(one.folder / one.file)}

    def loading() -> Found:
        progress("programming the board", 0.0)
        programming.load(files[0].board, files[0].folder / files[0].file)
        return "", {}

    yield timed(BUILDING[0], building)
    if files:
        yield timed(BUILDING[1], loading)


def document(board: str, steps: Sequence[SelfTestStep], names: Sequence[str]) -> dict[str, Any]:
    """What was found, for ``--json``."""
    taken = {step.name for step in steps}
    return {
        "good": all(step.good for step in steps),
        "board": board,
        "steps": [{"good": step.good, **asdict(step)} for step in steps],
        "not_reached": [name for name in names if name not in taken],
    }


def lines(data: dict[str, Any], place: Path) -> Iterator[RenderableType]:
    """What `document` says, for people."""
    from stepgen.report import console

    rows = {
        step["name"]: step["fault"] or ", ".join(_facts(step["found"])) or "good"
        for step in data["steps"]
    }
    rows |= dict.fromkeys(data["not_reached"], "not reached")
    yield console.pairs_table(rows)
    yield console.verdict(data["good"])
    yield f"written to {place}" + ("" if data["good"] else ": send it to the authors")


def _facts(found: dict[str, Any]) -> Iterator[str]:
    """What was measured, in words."""
    for name, value in found.items():
        if isinstance(value, dict):
            yield f"{', '.join(f'{n:,} {what}' for what, n in value.items())} compared"
        else:
            shown = value if isinstance(value, str) else f"{value:,}"
            yield f"{name.replace('_', ' ')} {shown}"
