"""``stepgen board``: the boards, which are plugged in, and on which a program fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stepgen.cli.config import show_json
from stepgen.cli.groups import argument, check_unused, grouped
from stepgen.cli.options import HardwareOptions, ProgramOptions, json_option
from stepgen.cli.outputs import NAME

if TYPE_CHECKING:
    from stepgen.board.description import Board
    from stepgen.board.fitting import Shares


@dataclass(frozen=True)
class MaybeProgram(ProgramOptions):
    """A program, or none."""

    program: str | None = argument(  # type: ignore[assignment]
        type=NAME,
        required=False,
        help="A board, which is shown alone, or a program, whose estimated share of each board is "
        "shown: path.py:function, the name of a shipped example, a graph saved as .json, or a "
        "design folder.",
    )


@grouped
@json_option
def command(program: MaybeProgram, hardware: HardwareOptions, *, json: bool) -> None:
    """List the boards, what each has, where it is plugged in, and whether a program fits."""
    from stepgen.board.description import boards
    from stepgen.report import console

    if program.program is None:
        check_unused("is for a program: name one", program, hardware)
    known, outdated = boards(), None
    if program.program in known:
        from stepgen.board.overview import overview

        check_unused("is for a program, not for a board", hardware)
        row = _row(program.program, known[program.program])
        if json:
            show_json({"boards": [row], "outdated": None})
        else:
            console.show(
                console.pairs_table(overview(row["board"], known[row["board"]], row["ports"]))
            )
        return
    rows = {name: _row(name, board) for name, board in known.items()}
    if program.program is not None:
        from stepgen.board.fitting import shares
        from stepgen.synth.estimate import estimate
        from stepgen.tools import waiting

        loaded = program.load(draw=False)
        outdated = program.warn_outdated(loaded, json=json)
        design = hardware.circuit().experiment(loaded).design
        with waiting.progress(quiet=json) as progress:
            used = estimate(design, progress=progress).total
        for name, board in known.items():
            found = shares(design, board, used)
            rows[name] |= {
                "fits": found.fits,
                "takes": dict(found.takes),
                "block_rams": {"takes": found.block_rams, "missing": found.missing},
                "why": _why(found),
            }
    if json:
        show_json({"boards": list(rows.values()), "outdated": outdated})
    elif program.program is None:
        _show_boards(rows.values())
    else:
        _show_shares(design.name, rows.values())


def _row(name: str, board: Board) -> dict[str, Any]:
    from stepgen.board.serial_port import plugged_in

    return {
        "board": name,
        "name": board.name,
        "clock_hz": board.hz,
        "memory_bytes": board.memory_bytes,
        "luts": board.chip.luts,
        "multipliers": board.chip.multipliers,
        "built_by": "Vivado" if board.vivado else "open tools",
        "ports": plugged_in(board.link.usb),
    }


def _why(found: Shares) -> str:
    """What does not fit; empty if all does."""
    from stepgen.board.fitting import WORDS

    over = [what for what, share in found.takes.items() if share > 1]
    words = {**WORDS, "memory": "memory"}
    words["block_ram"] += f" ({found.missing:,} too few)"
    return f"not enough {', '.join(words[what] for what in over)}" if over else found.why


def _show_boards(rows: Any) -> None:
    from stepgen.report import console

    shown = [
        (
            row["board"],
            row["name"],
            ", ".join(row["ports"]) or "nowhere",
            f"{row['clock_hz'] / 1e6:g}",
            row["memory_bytes"] // 1024,
            row["luts"],
            row["multipliers"],
            row["built_by"],
        )
        for row in rows
    ]
    columns = ("board", "", "plugged in at", "MHz", "memory KiB", "LUT", "multipliers", "by")
    console.show(console.table("Boards", *columns, rows=shown, left=3))


def _show_shares(name: str, rows: Any) -> None:
    from stepgen.report import console

    resources = {"lut": "LUT", "ff": "FF", "multiplier": "multipliers", "block_ram": "block RAM"}
    resources["memory"] = "memory"
    shown = [
        (
            row["board"],
            ", ".join(row["ports"]) or "nowhere",
            row["why"] or "fits",
            *(f"{100 * row['takes'][what]:.0f} %" for what in resources),
        )
        for row in rows
    ]
    columns = ("board", "plugged in at", name, *resources.values())
    console.show(
        console.table(f"What {name} takes", *columns, rows=shown, left=3),
        "By what it takes of an ECP5, estimated, without what stands around it on a board. Block "
        "RAM is counted for each board, with that; --onchip BOARD gives memories no more than a "
        "board has. stepgen synth and build count what it takes.",
    )
