"""A run as one page of HTML: where the cycles go, graph, timeline, resources, settings."""

from __future__ import annotations

import json
import linecache
import os
import sys
from collections.abc import Collection, Mapping
from typing import Any

from stepgen.compile.cost import unit_bits
from stepgen.draw.alike import collapsed
from stepgen.draw.layout import lay_out
from stepgen.draw.picture import Picture
from stepgen.draw.svg import STYLE, svg
from stepgen.hw.design.table import Design
from stepgen.hw.picture import design_picture
from stepgen.hw.units.memory.params import Memory
from stepgen.ir.graph import Graph
from stepgen.ir.system import programs
from stepgen.program.program import PREFIX
from stepgen.report.comparison import MOST_ROWS, WHATS, change, most_changed
from stepgen.report.history import history
from stepgen.report.ran import Ran
from stepgen.report.reasons import reasons
from stepgen.synth.estimate import Estimate
from stepgen.tools.templates import fill


def page(
    run: Ran,
    settings: Mapping[str, tuple[str, bool]],
    *,
    compared: Mapping[str, Any] | None = None,
) -> str:
    """The page.

    Parameters
    ----------
    run : Ran
        Where it did not end, the page shows how far it came, and who waits for whom.
    settings : mapping
        Options by name: the value, and whether it was given.
    compared : mapping, optional
        What `stepgen.report.comparison.comparison` says of another design.
    """
    program, experiment, prediction = run.program, run.experiment, run.prediction
    deadlock, takes = run.deadlock, run.takes
    design = experiment.design
    whole = design_picture(design, program.graph)
    few = collapsed(whole)
    drawn = [lay_out(few)] if few is whole else [lay_out(few), lay_out(whole)]
    alike = {name: box.members for box in few.boxes for name in box.members}
    waiting = {w.unit for w in deadlock.waiting} if deadlock else set()
    data = {
        "cycles": prediction.cycles if prediction else None,
        "units": _units(design, program.graph, takes),
        "other_luts": _other_luts(takes),
        "channels": _channels(design, whole),
        "alike": [box.members for box in few.boxes if len(box.members) > 1],
        "waiting": [vars(w) | {"state": w.state} for w in deadlock.waiting] if deadlock else [],
        "remedy": deadlock.remedy if deadlock else {},
        "why": reasons(experiment, run.ended, alike) if run.ended else None,
        **(history(prediction, also=waiting) if prediction else {"rows": [], "levels": {}}),
    }
    # No text within a script may end it.
    sections = {
        "why": "where the cycles go",
        "graph": "graph",
        "timeline": "timeline" if prediction else "",
        "compared": "beside another design" if compared else "",
        "resources": "bits and LUTs",
        "settings": "settings",
    }
    text = json.dumps(data, separators=(",", ":")).replace("</", "<\\/")
    return fill(
        "report/report.html.j2",
        name=program.name,
        cycles=prediction.cycles if prediction else None,
        problem=run.problem,
        memory=any(unit.params.kind == Memory.kind for unit in design.units),
        compared=None if compared is None else _rows(compared),
        style=STYLE,
        drawings=[svg(placed, style="") for placed in drawn],
        notes=[placed.note for placed in drawn],
        **{key: data[key] for key in ("why", "waiting", "remedy", "channels")},
        sections=[(anchor, title) for anchor, title in sections.items() if title],
        given=[(name, value or "yes") for name, (value, given) in settings.items() if given],
        defaults=[(name, said) for name, (said, given) in settings.items() if said and not given],
        data=text,
    )


def _rows(compared: Mapping[str, Any]) -> dict[str, Any]:
    """A comparison with its changes in words."""
    totals = [(WHATS[what], *pair, change(*pair)) for what, pair in compared["totals"].items()]
    differ = {what: most_changed(compared[what]["changed"]) for what in ("units", "fifos")}
    return {**compared, "totals": totals, "differ": differ, "most": MOST_ROWS}


def _units(design: Design, graph: Graph, takes: Estimate | None) -> dict[str, Any]:
    files = _files()
    nodes = {f"{at}{node.name}": node for at, one in programs(graph).items() for node in one.nodes}
    found = {}
    for unit in design.units:
        node = nodes.get(unit.origin)
        found[unit.name] = {
            "kind": unit.kind,
            "operator": f"{node.op} {node.name}" if node else "",
            "streams": [f"{s.name}: {s}" for s in node.outputs] if node else [],
            "where": node.where if node else "",
            "line": source_line(node.where, files) if node else "",
            "bits": unit_bits(unit, design),
            "luts": takes.units[unit.name]["lut"] if takes else None,
            "inputs": [*unit.inputs.values()],
            "outputs": [*unit.outputs.values()],
        }
    return found


def _other_luts(takes: Estimate | None) -> list[tuple[str, int]]:
    if takes is None:
        return []
    fifos = sum(used["lut"] for used in takes.channels.values())
    return [("FIFOs between units", fifos), ("control and registers", takes.control["lut"])]


def _channels(design: Design, picture: Picture) -> dict[str, Any]:
    types = {arrow.name: " ".join(arrow.lines) for arrow in picture.arrows}
    return {
        c.name: {
            "from": design.producers[c.name].name,
            "to": design.consumers[c.name].name,
            "type": types.get(c.name, ""),
            "carries": c.carries,
            "depth": c.depth,
            "memory": c.memory,
            "bits": c.memory_bits,
        }
        for c in design.channels
    }


def _files() -> dict[str, set[str]]:
    """The files of all modules, by name without folders; programs come before others."""
    found: dict[str, set[str]] = {}
    programs: dict[str, set[str]] = {}
    for name, module in [*sys.modules.items()]:
        file = getattr(module, "__file__", None)
        if isinstance(file, str):
            of = programs if name.startswith(PREFIX) else found
            of.setdefault(os.path.basename(file), set()).add(file)
    return found | programs


def source_line(where: str, files: Mapping[str, Collection[str]]) -> str:
    """The text of a line of the user's; empty where its file is not known.

    Parameters
    ----------
    where : str
        As in messages: ``file.py:12``.
    files : mapping of str to collection of str
        Paths by name.
    """
    name, _, number = where.rpartition(":")
    paths = [*files.get(name, ())]
    if len(paths) != 1 or not number.isdecimal():
        return ""
    return linecache.getline(paths[0], int(number)).strip()
