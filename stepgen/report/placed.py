"""The page about a design that was placed on a board."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stepgen.hw.design.table import Design
from stepgen.hw.picture import design_svg
from stepgen.ir.graph import Graph
from stepgen.synth.estimate import Estimate
from stepgen.synth.toolchain import RESOURCES
from stepgen.tools.templates import fill

COLUMNS = ("LUT", "FF", "multipliers", "block RAM")
"""What `RESOURCES` are called."""


def placed_page(
    design: Design,
    graph: Graph,
    data: Mapping[str, Any],
    takes: Estimate | None,
    settings: Mapping[str, tuple[str, bool]],
) -> str:
    """The page.

    Parameters
    ----------
    design : Design
    graph : Graph
        The program that it was lowered from.
    data : mapping
        What `stepgen.board.summary.document` says of it.
    takes : Estimate, optional
        What it takes by estimate.
    settings : mapping
        Options by name: the value, and whether it was given.
    """
    luts = {unit["unit"]: unit["lut"] for unit in data["units"]}
    every = max(1, sum(luts.values()))
    shares = {name: n / every for name, n in luts.items()}
    rows = [*_rows(design, data, takes)]
    most = max(1, *(row["takes"][0] for row in rows[:-2]))
    for row in rows:
        row["share"] = 0.0 if row in rows[-2:] else 100 * row["takes"][0] / most
    return fill(
        "report/placed.html.j2",
        name=design.name,
        board=data["board"],
        clock=data["clock"],
        path=data["path"],
        ends=data["slowest_ends"],
        columns=COLUMNS,
        rows=rows,
        estimated=takes is not None,
        drawing=design_svg(design, graph, busy=shares, what="LUTs"),
        given=[(name, value) for name, (value, given) in settings.items() if given],
    )


def _rows(
    design: Design, data: Mapping[str, Any], takes: Estimate | None
) -> Iterator[dict[str, Any]]:
    """Units, the largest first, what is beside them, and the sums."""

    def row(name: str, kind: str, taken: Mapping[str, int], estimate: int | None) -> dict[str, Any]:
        return {
            "name": name,
            "kind": kind,
            "takes": [taken[what] for what in RESOURCES],
            "estimate": estimate if takes else None,
        }

    for unit in sorted(data["units"], key=lambda unit: -int(unit["lut"])):
        estimate = takes.units[unit["unit"]]["lut"] if takes else None
        yield row(unit["unit"], unit["kind"], unit, estimate)
    fifos = {what: sum(one[what] for one in data["channels"]) for what in RESOURCES}
    known = sum(one["lut"] for one in takes.channels.values()) if takes else None
    yield row(f"{len(design.channels)} FIFOs", "", fifos, known)
    yield row("control and counters", "", data["control"], takes.control["lut"] if takes else None)
    for name, taken in data["around"].items():
        yield row(f"around it: {name}", "", taken, None)
    used = data["used"]
    yield row("placed", "", {what: used[what]["used"] for what in RESOURCES}, None)
    yield row("there are", "", {what: used[what]["available"] for what in RESOURCES}, None)
