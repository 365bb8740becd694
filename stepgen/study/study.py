"""Runs figures: one sweep over all their points, then tables and pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from stepgen.ir.errors import StepError
from stepgen.study import evaluate as timing
from stepgen.study.evaluate import Numbers
from stepgen.study.figure import Figure, FigureResult, Views
from stepgen.study.figures import figures
from stepgen.study.point import VIEWS, Point
from stepgen.study.report import Outcome, write
from stepgen.study.sweep import sweep
from stepgen.study.traces import Traces
from stepgen.tools.atomic import atomic_folder
from stepgen.tools.waiting import Progress, quiet
from stepgen.tools.workers import ALONE, Workers


def chosen(name: str) -> list[Figure]:
    """The figures that a name means: a number, the name of a study, or of a group, such as ``all``.

    Raises
    ------
    StepError
        If there is no such figure.
    """
    known = figures()
    groups = list(dict.fromkeys(figure.group for figure in known.values()))
    if name not in known and name not in groups:
        raise StepError(f"there is no figure {name!r}, only {', '.join([*known, *groups])}")
    return [figure for figure in known.values() if name in (figure.name, figure.group)]


def views(name: str) -> tuple[str, ...]:
    """The views of figures of the paper that a name means: one of them, or ``both``.

    Raises
    ------
    StepError
        If there is no such view.
    """
    if name == "both":
        return VIEWS
    if name not in VIEWS:
        raise StepError(f"there is no view {name!r}, only {', '.join(VIEWS)} and both")
    return (name,)


def measured(
    wanted: Sequence[Figure],
    traces: Traces,
    *,
    views: Sequence[str] = VIEWS,
    rtl: bool = False,
    workers: Workers = ALONE,
    progress: Progress = quiet,
    evaluate: Callable[[Point], Numbers] = timing.evaluate,
) -> list[tuple[Figure, Views]]:
    """Evaluate the points of figures.

    Parameters
    ----------
    wanted : sequence of Figure
    traces : Traces
        Where their inputs come from.
    views : sequence of str
        Of `VIEWS`; a figure that has none of them is made in its own.
    rtl : bool
        Whether to simulate the RTL of samples of the figures that are measured on circuits.
    workers : Workers
        Who evaluates points.
    progress : Progress
    evaluate : callable
        From a point to its numbers.

    Raises
    ------
    StepError
        If a trace does not fit, or a point can't be run.
    """
    rows = [
        (figure, view, [figure.sampled(r) if rtl else r for r in figure.rows(traces, view)])
        for figure in wanted
        for view in [v for v in figure.views if v in views] or figure.views
    ]
    points = [row.point for _, _, some in rows for row in some]
    numbers = iter(sweep(points, workers=workers, evaluate=evaluate, progress=progress))
    by_figure: dict[str, dict[str, list[FigureResult]]] = {figure.name: {} for figure in wanted}
    for figure, view, some in rows:
        results = [FigureResult(row, next(numbers)) for row in some]
        by_figure[figure.name][view] = figure.derive(results)
    return [(figure, by_figure[figure.name]) for figure in wanted]


def run(wanted: Sequence[Figure], traces: Traces, out: Path, **options: Any) -> list[Outcome]:
    """Make figures: what `measured` finds, as CSV and pictures in the folder `out`.

    Raises
    ------
    StepError
        As `measured`, or if `out` can't be written.
    """
    with atomic_folder(out):
        pass  # before the work, to see whether its results can be written
    return [write(figure, results, out) for figure, results in measured(wanted, traces, **options)]
