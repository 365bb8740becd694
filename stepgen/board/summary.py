"""What a design takes of a board, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stepgen.board.build import Bitstream
from stepgen.board.fitting import available
from stepgen.board.instances import AROUND, CONTROL, channel_name, unit_name
from stepgen.hw.design.table import Design
from stepgen.synth.toolchain import RESOURCES


def document(made: Bitstream, design: Design) -> dict[str, Any]:
    """Resources, clock and slowest paths, all together and by part of the circuit.

    Parameters
    ----------
    made : Bitstream
    design : Design
    """
    there, board = available(made.board.chip), made.board
    path = made.placed.path
    taken = dict(made.groups)
    units = {unit.name: taken.pop(unit_name(unit.name), _nothing()) for unit in design.units}
    channels = {c.name: taken.pop(channel_name(c.name), _nothing()) for c in design.channels}
    return {
        "board": board.key,
        "used": {
            what: {"used": made.placed.used[what], "available": there[what]} for what in RESOURCES
        },
        "clock": {
            "hz": board.hz,
            "fastest_hz": round(made.placed.hz),
            "met": made.met,
            "placements_hz": [round(hz) for hz in made.clocks],
        },
        "path": {
            "from": path.start,
            "to": path.end,
            "through": path.through,
            "logic_ns": path.logic_ns,
            "routing_ns": path.routing_ns,
            "first": path.first,
            "last": path.last,
        },
        "slowest_ends": [
            {"part": end.part, "ns": end.ns, "register": end.register} for end in made.placed.ends
        ],
        "units": [{"unit": u.name, "kind": u.kind, **units[u.name]} for u in design.units],
        "channels": [{"channel": name, **takes} for name, takes in channels.items()],
        "control": taken.get(CONTROL, _nothing()),
        "around": {what: taken.get(what, _nothing()) for what in AROUND},
        "seconds": made.seconds,
        "built": not made.there,
    }


def total(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The sum of what several parts take."""
    rows = list(rows)
    return {what: sum(row[what] for row in rows) for what in RESOURCES}


def _nothing() -> dict[str, int]:
    return dict.fromkeys(RESOURCES, 0)
