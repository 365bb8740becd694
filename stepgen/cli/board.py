"""``stepgen board``: the boards, and which are plugged in."""

from __future__ import annotations

from stepgen.cli.groups import grouped
from stepgen.cli.options import json_option


@grouped
@json_option
def command(*, json: bool) -> None:
    """List the boards, what each has, and where it is plugged in."""
    from stepgen.board.description import boards
    from stepgen.board.serial_port import plugged_in
    from stepgen.report import console

    rows = [
        {
            "board": name,
            "name": board.name,
            "clock_hz": board.clock["design_hz"],
            "memory_bytes": board.memory_bytes,
            "luts": board.chip.luts,
            "multipliers": board.chip.multipliers,
            "built_by": "Vivado" if board.vivado else "open tools",
            "ports": plugged_in(board.link["usb"]),
        }
        for name, board in boards().items()
    ]
    if json:
        console.show_json({"boards": rows})
        return
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
