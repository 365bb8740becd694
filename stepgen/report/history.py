"""States of units and levels of FIFOs over a run, as data of a page."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from stepgen.report.timeline import main_activities, shares
from stepgen.timing.activity import Activity, Cycles
from stepgen.timing.model import Prediction

MOST_NUMBERS = 1_000_000
"""Numbers that a page holds about all of a run: a few megabytes."""

LEAST_COLUMNS = 16
"""Columns of a row at least."""


def history(
    prediction: Prediction, *, also: Collection[str] = (), most: int = MOST_NUMBERS
) -> dict[str, Any]:
    """What a timeline shows: every change, or means of columns where there are too many.

    Rows with few changes are held exactly; the others share what is left of `most`.

    Parameters
    ----------
    prediction : Prediction
    also : collection of str
        Units that have rows although people do not look for them first.
    most : int
        Numbers of all rows together.

    Returns
    -------
    dict
        ``rows``: of each actor its unit, what it does, whether it is the unit's main one, cycles by
        state, and either ``gaps`` between
        its changes and ``states`` from each on, or ``busies`` and ``fulls``, percentages of columns
        of equal length. ``levels``: of each FIFO ``gaps`` and ``levels``, which ``coarse`` says are
        the most of columns.
    """
    shown = main_activities(prediction, also) or list(prediction.activities)
    levels = {name: _levels(prediction, name) for name in prediction.pushes}
    sizes = [len(a.changes) for a in shown] + [2 * len(times) for times, _ in levels.values()]
    limit = _limit(sizes, most)
    columns = max(LEAST_COLUMNS, limit // 2)
    cycles = prediction.cycles
    mains = {unit.name: unit.params.main for unit in prediction.design.units}
    return {
        "rows": [
            _row(a, cycles, limit, columns) | {"main": mains[a.unit] == a.name} for a in shown
        ],
        "levels": {name: _steps(*steps, cycles, limit, columns) for name, steps in levels.items()},
    }


def _limit(sizes: Iterable[int], most: int) -> int:
    """The largest size that is held exactly, so that all together are at most `most`."""
    ascending = sorted(sizes)
    left, limit = most, 0
    for n, size in enumerate(ascending):
        share = left // (len(ascending) - n)
        if size > share:
            return share
        left, limit = left - size, size
    return limit


def _row(activity: Activity, cycles: int, limit: int, columns: int) -> dict[str, Any]:
    row: dict[str, Any] = {"unit": activity.unit, "does": activity.name}
    row |= {"busy": activity.busy, "starved": activity.starved, "full": activity.full}
    if len(activity.changes) <= limit:
        gaps = np.diff(activity.changes, prepend=0)
        return row | {"gaps": gaps.tolist(), "states": "".join(map(str, activity.states.tolist()))}
    edges = np.linspace(0, cycles, columns + 1)
    percents = np.rint(shares(activity, edges) * 100).astype(int)
    return row | {"busies": percents[0].tolist(), "fulls": percents[2].tolist()}


def _levels(prediction: Prediction, name: str) -> tuple[Cycles, Cycles]:
    """Cycles at which the number of beats in a FIFO changes, and the number from then on."""
    pushes, pops = prediction.pushes[name], prediction.pops[name]
    times, place = np.unique(np.concatenate([pushes, pops]), return_inverse=True)
    signs = np.repeat([1, -1], [len(pushes), len(pops)])
    net = np.bincount(place, weights=signs, minlength=len(times)).astype(np.int64)
    changes = np.flatnonzero(net)
    return times[changes], np.cumsum(net[changes])


def _steps(times: Cycles, levels: Cycles, cycles: int, limit: int, columns: int) -> dict[str, Any]:
    coarse = 2 * len(times) > limit
    if coarse:
        edges = np.linspace(0, cycles, columns + 1).astype(np.int64)[:-1]
        # Of a column: the level in its first cycle, and what it becomes before the next column.
        starts = np.searchsorted(times, edges, side="right")
        ends = np.append(np.searchsorted(times, edges[1:], side="left"), len(times))
        before = np.append(0, levels)[starts]
        most = np.maximum.reduceat(np.append(levels, 0), np.column_stack([starts, ends]).ravel())
        inside, most = ends > starts, most[::2]
        times, levels = edges, np.where(inside, np.maximum(before, most), before)
    found = {"gaps": np.diff(times, prepend=0).tolist(), "levels": levels.tolist()}
    return found | {"coarse": True} if coarse else found
