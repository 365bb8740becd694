"""Tables of the claims about figures, from their results, in markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stepgen.study.figure import FigureResult, Views
from stepgen.study.point import FAIR, PUBLISHED
from stepgen.study.report import signed

BYTES = ("traffic", "memory_allocated", "memory_used")
"""Numbers that must equal published ones."""


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """A table in markdown: integers with separators, None as an empty cell."""
    lines = [headings, ["---"] * len(headings), *([_cell(c) for c in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def pairs(views: Views) -> Iterator[tuple[FigureResult, FigureResult | None]]:
    """Each run as published, and the fair one of the same labels where there is one."""
    fair = {tuple(r.row.labels.items()): r for r in views[FAIR]}
    for result in views[PUBLISHED]:
        yield result, fair.get(tuple(result.row.labels.items()))


def equal(result: FigureResult, number: str) -> str:
    """A number with ``=`` if it equals the published one, else with that one."""
    value, known = result.numbers[number], result.published(number)
    if known is None:
        return f"{value:,}"
    return f"{value:,} =" if value == known else f"{value:,} (published: {known:,})"


def compared(result: FigureResult, number: str = "cycles") -> list[Any]:
    """The published number, stepgen's, and the error."""
    return [result.published(number), result[number], signed(result.error(number))]


def of(result: FigureResult | None, number: str) -> Any:
    """A number of a run that may be missing."""
    return None if result is None else result[number]


def fold(ratio: float) -> str:
    """A ratio with two decimals."""
    return f"{ratio:.2f}"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{value:,}" if isinstance(value, int) else str(value)
