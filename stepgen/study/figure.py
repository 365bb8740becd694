"""What a figure is: the runs that it is made of, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from stepgen.study.evaluate import SECONDS, Numbers
from stepgen.study.point import CIRCUIT, DRAWN, PUBLISHED, VIEWS, Point, Value
from stepgen.study.traces import Traces

Labels = Mapping[str, Value]


@dataclass(frozen=True)
class Row:
    """One run of a figure.

    Parameters
    ----------
    labels : mapping of str to Value
        Its labels: model, batch, tile.
    point : Point
    known : mapping of str to number
        Published numbers, by the names of stepgen's.
    sample : bool
        Whether it is one of those that are simulated in RTL where some are to be.
    """

    labels: Labels
    point: Point
    known: Mapping[str, float] = field(default_factory=dict)
    sample: bool = False


@dataclass(frozen=True)
class FigureResult:
    """A run and its numbers."""

    row: Row
    numbers: Numbers

    def __getitem__(self, name: str) -> Any:
        """A label or a number."""
        if name in self.row.labels:
            return self.row.labels[name]
        return self.numbers[name]

    def published(self, name: str) -> float | None:
        """The published number, where settings and input (or its counts) are the paper's."""
        point = self.row.point
        comparable = point.view == PUBLISHED and point.origin != DRAWN
        return self.row.known.get(name) if comparable else None

    def error(self, name: str) -> float | None:
        """Relative difference from the published number; None where that can't be compared."""
        known = self.published(name)
        if known is None or name not in self.numbers:
            return None
        return float(self.numbers[name]) / known - 1

    def document(self) -> dict[str, Any]:
        """All of it as plain data, one column each."""
        columns: dict[str, Any] = {"view": self.row.point.view, **self.row.labels}
        columns["input"] = self.row.point.origin
        columns |= {name: value for name, value in self.numbers.items() if name != SECONDS}
        for name, known in self.row.known.items():
            columns[f"published_{name}"] = known
            if name in self.numbers and name != SECONDS:
                columns[f"error_{name}"] = self.error(name)
        return columns


Views = Mapping[str, Sequence[FigureResult]]
"""Results by view."""

Derive = Callable[[list[FigureResult]], list[FigureResult]]


def _as_they_are(results: list[FigureResult]) -> list[FigureResult]:
    return results


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, or another study.

    Parameters
    ----------
    name : str
        Number or name.
    title : str
    differs : str
        One sentence: what differs between the views.
    rows : callable
        From traces and a view to the runs.
    draw : callable
        Draws the results of one view into a figure of matplotlib.
    shown : sequence of str
        Numbers that the readable table shows.
    derive : callable
        Adds numbers that follow from several runs, such as ratios.
    claims : callable, optional
        From the results of both views to claims about them, lines of markdown.
    by : str
        Label that has a table of its own for each of its values.
    size : pair of float
        Inches of the picture of one view.
    views : sequence of str
        The views that there are.
    group : str
        Name that means all figures of the group.
    """

    name: str
    title: str
    differs: str
    rows: Callable[[Traces, str], list[Row]]
    draw: Callable[[Any, Sequence[FigureResult]], None]
    shown: Sequence[str] = ("cycles", "traffic", "memory_allocated")
    derive: Derive = _as_they_are
    claims: Callable[[Views], Iterable[str]] | None = None
    by: str = ""
    size: tuple[float, float] = (9.0, 3.6)
    views: Sequence[str] = VIEWS
    group: str = "all"

    def sampled(self, row: Row) -> Row:
        """The row, with its RTL simulated if it is one of those."""
        if not row.sample or row.point.machine != CIRCUIT:
            return row
        point = replace(row.point, changes={**row.point.changes, "rtl": True})
        return replace(row, point=point)
