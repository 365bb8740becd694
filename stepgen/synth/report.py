"""What place and route reports: resources, clock, the slowest paths."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepgen.ir.errors import StepError
from stepgen.synth.netlist import Groups
from stepgen.synth.part import Part

MOST_ENDS = 5
"""Groups of a circuit whose slowest paths are reported."""


@dataclass(frozen=True)
class SlowPath:
    """The slowest path between two registers.

    Attributes
    ----------
    start, end : str
        Groups of its registers.
    through : list of str
        Groups on its way, those of its registers included, each once.
    logic_ns, routing_ns : float
    first, last : str
        Names of the registers in the netlist.
    """

    start: str
    end: str
    through: list[str]
    logic_ns: float
    routing_ns: float
    first: str
    last: str

    def __str__(self) -> str:
        between = [name for name in self.through if name not in (self.start, self.end)]
        way = f" through {', '.join(between)}" if between else ""
        return (
            f"{self.start} to {self.end}{way}: {self.logic_ns:.1f} ns of logic and "
            f"{self.routing_ns:.1f} ns of wires"
        )


@dataclass(frozen=True)
class SlowEnd:
    """Where slow paths end.

    Attributes
    ----------
    part : str
        Group of the register.
    ns : float
        When its slowest input is there, from the edge of the clock on.
    register : str
        Its name in the netlist.
    """

    part: str
    ns: float
    register: str

    def __str__(self) -> str:
        return f"{self.part} {self.ns:.1f} ns"


@dataclass(frozen=True)
class Placed:
    """A circuit on a part.

    Attributes
    ----------
    used : dict of str to int
        By resource.
    hz : float
        Fastest clock, at most what the hard blocks in use stand.
    path : SlowPath
    ends : list of SlowEnd
        The slowest of each group, of those `MOST_ENDS` groups where paths are slowest.
    """

    used: dict[str, int]
    hz: float
    path: SlowPath
    ends: list[SlowEnd]


def read(
    path: Path, bels: Mapping[str, Mapping[str, int]], groups: Groups, part: Part, speed: int
) -> Placed:
    """Read the report of nextpnr.

    Parameters
    ----------
    path : Path
    bels : mapping of str to mapping of str to int
        By resource, what is counted there, and as how many.
    groups : Groups
    part : Part
    speed : int
        Grade.

    Raises
    ------
    StepError
        Where the circuit has no path between registers.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    there = {bel: count["used"] for bel, count in data["utilization"].items()}
    used = {
        what: sum(there.get(bel, 0) * each for bel, each in counted.items())
        for what, counted in bels.items()
    }
    inner = [p for p in data["critical_paths"] if p["from"] == p["to"]]
    if not inner or not data["fmax"]:
        raise StepError(f"{path.name}: the circuit has no path between registers")
    slowest = max(inner, key=lambda p: sum(step["delay"] for step in p["path"]))
    achieved = min(clock["achieved"] for clock in data["fmax"].values())
    limit = part.limit(used["multiplier"], used["block_ram"], speed)
    slow, ends = _path(slowest["path"], groups), _ends(data, groups)
    return Placed(used, 1e6 * min(achieved, limit), slow, ends)


def _path(steps: list[dict[str, Any]], groups: Groups) -> SlowPath:
    cells = [step["from"]["cell"] for step in steps] + [steps[-1]["to"]["cell"]]
    wires = sum(step["delay"] for step in steps if step["type"] == "routing")
    through = list(dict.fromkeys(map(groups.of, cells)))
    return SlowPath(
        groups.of(cells[0]),
        groups.of(cells[-1]),
        through,
        round(sum(step["delay"] for step in steps) - wires, 2),
        round(wires, 2),
        cells[0],
        cells[-1],
    )


def _ends(data: Mapping[str, Any], groups: Groups) -> list[SlowEnd]:
    """The slowest register of each group, the slowest groups first."""
    slowest: dict[str, SlowEnd] = {}
    for net in data.get("detailed_net_timings", ()):
        for end in net["endpoints"]:
            one = SlowEnd(groups.of(end["cell"]), round(end["delay"][1], 2), end["cell"])
            if end["event"] == net["event"] and (
                one.part not in slowest or slowest[one.part].ns < one.ns
            ):
                slowest[one.part] = one
    return sorted(slowest.values(), key=lambda end: -end.ns)[:MOST_ENDS]


def placed_of(data: Mapping[str, Any]) -> Placed:
    """A report from the plain data of it."""
    ends = [SlowEnd(**end) for end in data["ends"]]
    return Placed(data["used"], data["hz"], SlowPath(**data["path"]), ends)
