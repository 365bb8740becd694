"""Pictures of a run: which unit works, waits or is full, over the cycles."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..timing.model import STATES, Activity, Prediction

COLORS = {"works": "#2a9d5c", "waits": "#e9e9e4", "full": "#e07b39"}
_MEANING = {"works": "works", "waits": "waits for an input", "full": "waits for room"}

MAIN_KINDS = frozenset(
    ("load", "memory", "partition", "expand", "matmul", "retile_col", "reassemble", "store")
)
"""Kinds that compute, store or move data; the others follow them beat by beat."""


def main_activities(prediction: Prediction) -> list[Activity]:
    """The actors that a person wants to see first, in table order."""
    kinds = {u.name: u.kind for u in prediction.design.units}
    return [a for a in prediction.activities if kinds[a.unit] in MAIN_KINDS]


def _shares(activity: Activity, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Share of each state between neighbouring edges; shape [states, edges - 1]."""
    points = np.concatenate([[0], activity.changes, [edges[-1]]]).astype(float)
    states = np.concatenate([[1], activity.states])
    spans = np.diff(points)
    shares = np.empty((len(STATES), len(edges) - 1))
    for state in range(len(STATES)):
        total = np.concatenate([[0.0], np.cumsum(np.where(states == state, spans, 0.0))])
        shares[state] = np.diff(np.interp(edges, points, total))
    return shares / np.diff(edges)


def draw(
    path: Path, predictions: Sequence[tuple[str, Prediction]], *, every_unit: bool = False
) -> None:
    """Write the timelines of one or several runs below each other, on one time axis.

    Parameters
    ----------
    path : Path
        Picture to write; the suffix decides the format.
    predictions : sequence of (str, Prediction)
        Title and run.
    every_unit : bool
        Show the stop units and forks too.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import to_rgb
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    rows = [list(p.activities) if every_unit else main_activities(p) for _, p in predictions]
    heights = [max(1.2, 0.13 * len(r)) for r in rows]
    figure = Figure(figsize=(13, sum(heights) + 0.9 * len(rows) + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    longest = max(p.cycles for _, p in predictions)
    colors = np.array([to_rgb(COLORS[state]) for state in STATES])
    axes = figure.subplots(len(rows), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for axis, (title, prediction), activities in zip(axes, predictions, rows, strict=True):
        edges = np.linspace(0, prediction.cycles, min(1600, prediction.cycles) + 1)
        picture = np.stack([np.tensordot(_shares(a, edges), colors, (0, 0)) for a in activities])
        axis.imshow(
            picture,
            aspect="auto",
            interpolation="nearest",
            extent=(0, prediction.cycles, len(activities), 0),
        )
        axis.set_xlim(0, longest)
        axis.set_yticks(np.arange(len(activities)) + 0.5)
        names = [f"{a.unit} {a.name}" for a in activities]
        axis.set_yticklabels(names, fontsize=6, family="monospace")
        axis.set_title(f"{title}: {prediction.cycles:,} cycles", fontsize=10, loc="left")
        for edge in ("top", "right"):
            axis.spines[edge].set_visible(False)
    axes[-1].set_xlabel("cycle")
    legend = [Patch(facecolor=COLORS[s], edgecolor="#999999", label=_MEANING[s]) for s in STATES]
    figure.legend(handles=legend, loc="outside upper right", ncols=len(STATES), fontsize=8)
    figure.savefig(path, dpi=130)


def perfetto(path: Path, prediction: Prediction) -> None:
    """Write a run as a trace for Perfetto (ui.perfetto.dev); a microsecond is a cycle.

    Parameters
    ----------
    path : Path
        JSON file to write.
    prediction : Prediction
        The run.
    """
    events: list[dict[str, Any]] = [
        {
            "ph": "M",
            "pid": 1,
            "name": "process_name",
            "args": {"name": prediction.design.name},
        }
    ]
    for tid, activity in enumerate(prediction.activities, start=1):
        name = f"{activity.unit} {activity.name}"
        events.append(
            {"ph": "M", "pid": 1, "tid": tid, "name": "thread_name", "args": {"name": name}}
        )
        ends = np.append(activity.changes[1:], prediction.cycles)
        for start, end, state in zip(activity.changes, ends, activity.states, strict=True):
            if STATES[state] != "waits":
                events.append(
                    {
                        "ph": "X",
                        "pid": 1,
                        "tid": tid,
                        "name": STATES[state],
                        "ts": int(start),
                        "dur": int(end - start),
                    }
                )
    path.write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}))
