"""Pictures of a run: in which cycles units are busy, starved or full."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node
from stepgen.report.canvas import new_figure
from stepgen.timing.activity import Activity
from stepgen.timing.model import Prediction
from stepgen.timing.states import STATES
from stepgen.timing.tiles.report import Run

COLORS = {"busy": "#2a9d5c", "starved": "#e9e9e4", "full": "#e07b39"}
_MEANING = {"busy": "busy", "starved": "starved (no input)", "full": "full (back-pressure)"}

_MAIN = "main"
MAIN_ACTORS = (_MAIN, "deliver")
"""Names of the actors that do what an operator is for; others ask for tiles, or throw away what
nobody reads."""

MOST_ROWS = 60
"""Rows of a picture that fits on a page."""

FULL_PAGE = 400
"""Rows of the largest picture."""

_FILTER = np.convolve(np.ones(3), np.ones(3)) / 9
"""Weights of neighbouring columns where these are wider than a cycle. What alternates faster than
columns can show becomes its mean; without, it would become a pattern that is not there (aliasing).
"""


@dataclass(frozen=True)
class Timeline:
    """The timeline of one run.

    Attributes
    ----------
    title : str
        Name of the run.
    cycles : int
        Its length.
    activities : tuple of Activity
        A row for each.
    left_out : int
        Number of rows that are left out.
    """

    title: str
    cycles: int
    activities: tuple[Activity, ...]
    left_out: int = 0


def of_prediction(title: str, prediction: Prediction, *, every: bool = False) -> Timeline:
    """The timeline of a circuit.

    Parameters
    ----------
    title : str
    prediction : Prediction
    every : bool
        Show the stop units and forks too.
    """
    chosen = prediction.activities if every else tuple(main_activities(prediction))
    return Timeline(title, prediction.cycles, chosen)


def of_run(
    title: str, run: Run, graph: Graph, *, every: bool = False, most: int = MOST_ROWS
) -> Timeline:
    """The timeline of a program on a machine.

    Parameters
    ----------
    title : str
    run : Run
    graph : Graph
        What ran.
    every : bool
        Show all operators and all that they do, and the forks that streams need.
    most : int
        Rows that there may be; the busiest are shown, in the order of the program.
    """
    nodes = {node.name: node for node in graph.nodes}
    found = [
        number
        for number, a in enumerate(run.activities)
        if every or (a.unit in nodes and nodes[a.unit].face.is_main and a.name in MAIN_ACTORS)
    ]
    chosen = sorted(found, key=lambda number: -run.activities[number].busy)[:most]
    shown = tuple(_called(run.activities[number], nodes) for number in sorted(chosen))
    return Timeline(title, run.cycles, shown, len(found) - len(shown))


def _called(activity: Activity, nodes: Mapping[str, Node]) -> Activity:
    """An actor that applies a function, called as the function is."""
    node = nodes.get(activity.unit)
    function = node.attrs.get("fn") if node else None
    if function is None or activity.name != _MAIN:
        return activity
    return dataclasses.replace(activity, name=function.name)


def main_activities(prediction: Prediction, also: Collection[str] = ()) -> list[Activity]:
    """The actors that a person wants to see first, and those of other units, in table order."""
    shown = {u.name for u in prediction.design.units if u.params.main or u.name in also}
    return [a for a in prediction.activities if a.unit in shown]


def shares(activity: Activity, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Share of each state between neighbouring edges; shape [states, edges - 1]."""
    # What units do while the run is being ended is not shown.
    changes = np.minimum(activity.changes, edges[-1])
    points = np.concatenate([[0], changes, [edges[-1]]]).astype(float)
    states = np.concatenate([[1], activity.states])
    spans = np.diff(points)
    found = np.empty((len(STATES), len(edges) - 1))
    for state in range(len(STATES)):
        total = np.concatenate([[0.0], np.cumsum(np.where(states == state, spans, 0.0))])
        found[state] = np.diff(np.interp(edges, points, total))
    return found / np.diff(edges)


def _columns(activity: Activity, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The same for columns of a picture: filtered where they are wider than a cycle."""
    found = shares(activity, edges)
    if len(edges) > edges[-1]:
        return found
    beyond = len(_FILTER) // 2
    padded = np.pad(found, ((0, 0), (beyond, beyond)), mode="edge")
    return np.stack([np.convolve(row, _FILTER, mode="valid") for row in padded])


def draw(path: Path, timelines: Sequence[Timeline]) -> None:
    """Write the timelines of one or several runs below each other, on one time axis.

    Parameters
    ----------
    path : Path
        Picture to write; the suffix decides the format.
    timelines : sequence of Timeline
        From top to bottom.
    """
    heights = [max(1.2, 0.13 * len(t.activities)) for t in timelines]
    size = (13, sum(heights) + 0.9 * len(heights) + 0.6)
    figure = new_figure(figsize=size, dpi=130, layout="constrained")
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    longest = max(t.cycles for t in timelines)
    colors = np.array([to_rgb(COLORS[state]) for state in STATES])
    axes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for axis, timeline in zip(axes, timelines, strict=True):
        activities = timeline.activities
        axis.set_xlim(0, longest)
        axis.set_ylim(len(activities), 0)
        axis.set_yticks(np.arange(len(activities)) + 0.5)
        names = [f"{a.unit} {a.name}" for a in activities]
        axis.set_yticklabels(names, fontsize=6, family="monospace")
        axis.set_title(_heading(timeline), fontsize=10, loc="left")
        for edge in ("top", "right"):
            axis.spines[edge].set_visible(False)
    axes[-1].set_xlabel("cycle (paler: part of the time)")
    axes[-1].xaxis.set_major_formatter("{x:,.0f}")
    legend = [Patch(facecolor=COLORS[s], edgecolor="#999999", label=_MEANING[s]) for s in STATES]
    figure.legend(handles=legend, loc="outside upper right", ncols=len(STATES), fontsize=8)
    figure.draw_without_rendering()  # lays out, so that a column of the picture can be a pixel
    for axis, timeline in zip(axes, timelines, strict=True):
        cycles = timeline.cycles
        pixels = round(axis.get_window_extent().width * cycles / max(1, longest))
        edges = np.linspace(0, cycles, max(1, min(pixels, cycles)) + 1)
        rows = [np.tensordot(_columns(a, edges), colors, (0, 0)) for a in timeline.activities]
        extent = (0, cycles, len(rows), 0)
        axis.imshow(np.stack(rows), aspect="auto", interpolation="nearest", extent=extent)
        axis.set_xlim(0, longest)
    figure.savefig(path)


def _heading(timeline: Timeline) -> str:
    more = f", {timeline.left_out:,} less busy rows left out" if timeline.left_out else ""
    return f"{timeline.title}: {timeline.cycles:,} cycles{more}"


def perfetto(path: Path, timeline: Timeline) -> None:
    """Write a run as a trace for Perfetto (ui.perfetto.dev); a microsecond is a cycle.

    Parameters
    ----------
    path : Path
        JSON file to write.
    timeline : Timeline
        The run.
    """
    named = {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": timeline.title}}
    with path.open("w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit": "ms", "traceEvents": [\n' + json.dumps(named))
        for tid, activity in enumerate(timeline.activities, start=1):
            for event in _events(activity, timeline.cycles):
                file.write(",\n" + json.dumps({"pid": 1, "tid": tid, **event}))
        file.write("\n]}\n")


def _events(activity: Activity, cycles: int) -> Iterable[dict[str, object]]:
    """Events of one row of a Perfetto trace."""
    name = f"{activity.unit} {activity.name}"
    yield {"ph": "M", "name": "thread_name", "args": {"name": name}}
    ends = np.append(activity.changes[1:], cycles)
    for start, end, state in zip(activity.changes, ends, activity.states, strict=True):
        if STATES[state] != "starved" and end > start:
            yield {"ph": "X", "name": STATES[state], "ts": int(start), "dur": int(end - start)}
