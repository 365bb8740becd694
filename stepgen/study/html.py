"""Figures as one page: their pictures and tables."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any

from rich.table import Table

from stepgen.study.report import Outcome
from stepgen.tools.templates import fill


def figures_page(outcomes: Iterable[Outcome], settings: Mapping[str, tuple[str, bool]]) -> str:
    """The page.

    Parameters
    ----------
    outcomes : iterable of Outcome
        With the files that were written.
    settings : mapping
        Options by name: the value, and whether it was given.
    """
    return fill(
        "report/figures.html.j2",
        figures=[_figure(outcome) for outcome in outcomes],
        given=[(name, value) for name, (value, given) in settings.items() if given],
    )


def _figure(outcome: Outcome) -> dict[str, Any]:
    pictures = [path for path in outcome.files.values() if path.suffix == ".png"]
    return {
        "name": outcome.figure.name,
        "title": outcome.figure.title,
        "differs": outcome.figure.differs,
        "picture": b64encode(pictures[0].read_bytes()).decode() if pictures else "",
        "tables": [_table(part) for part in outcome.parts() if isinstance(part, Table)],
    }


def _table(shown: Table) -> dict[str, Any]:
    """The table of the terminal as text."""
    cells = [[str(cell) for cell in column.cells] for column in shown.columns]
    return {
        "title": str(shown.title),
        "columns": [str(column.header) for column in shown.columns],
        "rows": [*zip(*cells, strict=True)],
    }
