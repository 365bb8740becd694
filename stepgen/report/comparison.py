"""Two designs side by side: what changed in units, FIFOs, cycles, bits and LUTs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import RenderableType

from stepgen.compile.cost import on_chip_bits, unit_bits
from stepgen.report.console import table
from stepgen.report.ran import Ran
from stepgen.report.summary import outline

MOST_ROWS = 20
"""Rows of a table on a terminal."""

WHATS = {
    "cycles": "cycles",
    "read": "off-chip bytes read",
    "written": "off-chip bytes written",
    "bits": "on-chip bits",
    "lut": "LUTs, estimated",
    "multiplier": "multipliers",
    "units": "units",
    "fifos": "FIFOs",
    "slots": "beats in FIFOs",
}
"""Totals, as people call them."""

OF_UNITS = {"bits": "on-chip bits", "lut": "LUTs", "busy": "busy cycles"}


def comparison(first: Ran, second: Ran, names: Sequence[str]) -> dict[str, Any]:
    """What changed from one design to another.

    Parameters
    ----------
    first, second : Ran
    names : sequence of str
        What both are called.

    Returns
    -------
    dict
        ``names`` of both; ``totals``, pairs of numbers by what they count, None where one is not
        known; ``units`` and ``fifos``: ``added`` and ``removed`` names, and ``changed``: by name,
        pairs of what differs.
    """
    sides = (first, second)
    return {
        "names": [*names],
        "problems": [side.problem for side in sides],
        "totals": {
            what: [numbers[what] for numbers in map(_totals, sides)]
            for what in WHATS
            if any(numbers[what] is not None for numbers in map(_totals, sides))
        },
        "units": _changes(_units(first), _units(second)),
        "fifos": _changes(_fifos(first), _fifos(second)),
    }


def _totals(ran: Ran) -> dict[str, int | None]:
    design, ended = ran.experiment.design, ran.ended
    read, written = ran.experiment.traffic if ended else (None, None)
    takes = ran.takes.total if ran.takes else {}
    return {
        "cycles": ended.cycles if ended else None,
        "read": read,
        "written": written,
        "bits": on_chip_bits(design),
        "lut": takes.get("lut"),
        "multiplier": takes.get("multiplier"),
        "units": len(design.units),
        "fifos": len(design.channels),
        "slots": sum(channel.depth for channel in design.channels),
    }


def _units(ran: Ran) -> dict[str, dict[str, Any]]:
    design = ran.experiment.design
    busy = {a.unit: a.busy for a in outline(ran.ended)} if ran.ended else {}
    return {
        unit.name: {
            "kind": unit.kind,
            "bits": unit_bits(unit, design),
            "lut": ran.takes.units[unit.name]["lut"] if ran.takes else None,
            "busy": busy.get(unit.name),
        }
        for unit in design.units
    }


def _fifos(ran: Ran) -> dict[str, dict[str, Any]]:
    return {
        c.name: {"depth": c.depth, "bits": c.memory_bits} for c in ran.experiment.design.channels
    }


def _changes(first: dict[str, dict[str, Any]], second: dict[str, dict[str, Any]]) -> dict[str, Any]:
    # Of a unit of another kind the name alone is the same.
    both = [
        name
        for name in first
        if name in second and first[name].get("kind") == second[name].get("kind")
    ]
    changed = {}
    for name in both:
        pairs = {what: [first[name][what], second[name][what]] for what in first[name]}
        differ = {what: pair for what, pair in pairs.items() if pair[0] != pair[1]}
        if differ:
            changed[name] = differ
    return {
        "added": [name for name in second if name not in both],
        "removed": [name for name in first if name not in both],
        "changed": changed,
    }


def change(before: int | None, after: int | None) -> str:
    """The change of a number as a percentage with its sign.

    Parameters
    ----------
    before, after : int or None
        Nothing is said where one is not known.
    """
    if before is None or after is None:
        return ""
    if before == after:
        return "same"
    return f"{100 * (after - before) / before:+.0f} %" if before else "new"


def tables(compared: dict[str, Any]) -> Iterator[RenderableType]:
    """A comparison for the terminal.

    Parameters
    ----------
    compared : dict
        What `comparison` returns.
    """
    names = compared["names"]
    rows = [(WHATS[what], *pair, change(*pair)) for what, pair in compared["totals"].items()]
    yield table("Two designs", "", *names, "change", rows=rows)
    for what, title in (("units", "Units"), ("fifos", "FIFOs")):
        found = compared[what]
        for how in ("added", "removed"):
            if found[how]:
                yield f"{title} {how}: {_some(found[how])}"
        rows = [row[1:] for row in most_changed(found["changed"])]
        if rows:
            more = f", the {MOST_ROWS} that changed most" if len(rows) > MOST_ROWS else ""
            headings = ("what", *names, "change")
            shown = rows[:MOST_ROWS]
            yield table(f"{title} that differ{more}", "name", *headings, rows=shown, left=2)
        elif not found["added"] and not found["removed"]:
            yield f"{title}: the same"


def most_changed(
    changed: dict[str, dict[str, Sequence[Any]]],
) -> list[tuple[Any, ...]]:
    """What changed, first kinds, then the largest changes of numbers; the same changes once.

    Parameters
    ----------
    changed : dict
        ``changed`` of what `comparison` returns.

    Returns
    -------
    list of tuple
        The first name, all names in a few words, what changed, from what, to what, and by how
        much.
    """
    alike: dict[tuple[str, Any, Any], list[str]] = {}
    for name, pairs in changed.items():
        for what, (before, after) in pairs.items():
            alike.setdefault((what, before, after), []).append(name)

    def size(key: tuple[str, Any, Any]) -> float:
        _, before, after = key
        if not (isinstance(before, int) and isinstance(after, int)):
            return float("inf")
        return abs(after - before) / max(1, before, after)

    return [
        (
            names[0],
            _some(names, most=2),
            OF_UNITS.get(what, what),
            before,
            after,
            "" if what == "kind" else change(before, after),
        )
        for (what, before, after), names in sorted(
            alike.items(), key=lambda one: size(one[0]), reverse=True
        )
    ]


def _some(names: Iterable[str], most: int = 8) -> str:
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
