"""Results of a study: tables, CSV and pictures."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from stepgen.report.canvas import new_figure
from stepgen.report.console import table
from stepgen.study.figure import Figure, FigureResult
from stepgen.study.point import CIRCUIT, FAIR, PUBLISHED
from stepgen.tools.atomic import atomic_file

SUFFIXES = (".csv", ".png", ".pdf")

VIEW_NAMES = {PUBLISHED: "as published", FAIR: "fair", CIRCUIT: "on circuits"}

SETTINGS = {
    PUBLISHED: "as published: the paper's settings, unequal where they were",
    FAIR: "fair: the same machine and rules for all",
    CIRCUIT: "on generated circuits: cycles of the RTL, predicted by the exact model",
}

HEADINGS = {
    "cycles": "cycles",
    "traffic": "off-chip bytes",
    "memory_allocated": "on-chip bytes",
    "memory_used": "used bytes",
    "memory_peak": "peak bytes",
    "pareto_distance": "Pareto distance",
    "dynamic_speedup": "over dynamic",
    "compute_allocated": "FLOPs/cycle",
    "compute_utilization": "useful",
    "compute_occupancy": "occupied",
    "bandwidth_utilization": "bandwidth used",
    "flops_useful": "useful FLOPs",
    "flops_padding": "padding FLOPs",
    "onchip_bits": "on-chip bits",
    "lut": "LUT",
    "ff": "FF",
    "block_ram": "block RAM",
    "rtl_cycles": "cycles of the RTL",
    "latency_ms": "latency ms",
    "first_ms": "first token ms",
    "tokens_per_second": "tokens/s",
    "roofline": "tokens/s, memory's bound",
}

_MEMORY_OF = {"memory_allocated": PUBLISHED, "memory_used": PUBLISHED, "memory_peak": FAIR}
"""The view that a kind of on-chip memory belongs to, in figures that show two."""

INPUTS = {"published": "trace", "counts": "same counts", "drawn": "drawn"}

_TOLD = {
    "published": "traces",
    "counts": "routings drawn with the published tokens per expert",
    "drawn": "drawn",
}
"""The same in full."""


def origin(result: FigureResult) -> str:
    """Origin of the input of a run, as text; empty if it has none."""
    point = result.row.point
    return INPUTS[point.origin] if point.traces else ""


@dataclass(frozen=True)
class Outcome:
    """A figure with its results by view, and the files that were written."""

    figure: Figure
    results: Mapping[str, Sequence[FigureResult]]
    files: Mapping[str, Path]

    def document(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "title": self.figure.title,
            "differs": self.figure.differs,
            "rows": [r.document() for results in self.results.values() for r in results],
            "files": self.files,
        }

    def parts(self) -> Iterator[RenderableType]:
        """A table per view."""
        yield f"{self.figure.title}. {self.figure.differs}"
        by = self.figure.by
        for view, results in self.results.items():
            for part in dict.fromkeys(r.row.labels.get(by) for r in results):
                own = [r for r in results if r.row.labels.get(by) == part]
                yield view_table(self.figure, view, own, part)


def view_table(
    figure: Figure, view: str, results: Sequence[FigureResult], part: Any = None
) -> RenderableType:
    """The results of one view, with published numbers where known."""
    labels = [name for name in results[0].row.labels if len({r[name] for r in results}) > 1]
    shown = [n for n in figure.shown if _MEMORY_OF.get(n, view) == view or not _both(figure)]
    compared = [n for n in shown if _comparable(view, n, results)]
    columns = [*labels, "input"]
    for name in shown:
        columns.append(HEADINGS.get(name, name))
        if name in compared:
            columns += ["published", "error"]
    rows = []
    for result in results:
        cells: list[Any] = [_plain(result.row.labels.get(name)) for name in labels]
        cells.append(origin(result))
        for name in shown:
            cells.append(cell(name, result.numbers.get(name)))
            if name in compared:
                cells.append(cell(name, result.row.known.get(name)))
                cells.append(signed(result.error(name)))
        rows.append(cells)
    title = f"{_heading(figure)}, {VIEW_NAMES[view]}"
    if part is not None:
        title += f", {part if isinstance(part, str) else f'{figure.by} {part}'}"
    return table(title, *columns, rows=rows, left=len(labels) + 1)


def _both(figure: Figure) -> bool:
    return len({_MEMORY_OF[name] for name in figure.shown if name in _MEMORY_OF}) > 1


def _comparable(view: str, name: str, results: Sequence[FigureResult]) -> bool:
    """Whether there is something published beside which the numbers of a view may stand."""
    return view == PUBLISHED and any(name in r.row.known for r in results)


def _heading(figure: Figure) -> str:
    return f"Figure {figure.name}" if figure.name.isdecimal() else figure.title


def heading(figure: Figure, view: str, results: Sequence[FigureResult]) -> str:
    """What a picture shows, whose settings they are, and where its inputs come from."""
    points = [result.row.point for result in results]
    inputs = dict.fromkeys(_TOLD[point.origin] for point in points if point.traces)
    subtitle = f"{SETTINGS[view]}; input: {', '.join(inputs)}" if inputs else SETTINGS[view]
    number = f"Figure {figure.name}. " if figure.name.isdecimal() else ""
    return f"{number}{figure.title}\n{subtitle}"


def _plain(value: Any) -> str:
    return "" if value is None else str(value)


def cell(name: str, value: float | None) -> Any:
    """A number of that name as text."""
    if value is None:
        return None
    if name.endswith(("utilization", "occupancy")):
        return f"{100 * value:.2f} %"
    return int(value) if float(value).is_integer() and abs(value) >= 10 else f"{value:.2f}"


def signed(error: float | None) -> str | None:
    """A relative difference in per cent: ``=`` only where there is none at all."""
    if not error:
        return None if error is None else "="
    return f"{100 * error:+.1f} %" if abs(error) >= _SMALL else f"{100 * error:+.1g} %"


_SMALL = 0.0005
"""Relative differences below would be shown as nothing."""


def write(figure: Figure, results: Mapping[str, Sequence[FigureResult]], out: Path) -> Outcome:
    """Write the CSV and the pictures of a figure.

    Parameters
    ----------
    figure : Figure
    results : mapping of str to sequence of Result
        By view.
    out : Path
        Folder; made where it is missing.
    """
    stem = f"figure{figure.name}" if figure.name.isdecimal() else figure.name
    files = {suffix[1:]: out / f"{stem}{suffix}" for suffix in SUFFIXES}
    documents = [r.document() for view in results for r in results[view]]
    fields = list(dict.fromkeys(name for document in documents for name in document))
    with atomic_file(files["csv"]) as place, place.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields)
        writer.writeheader()
        writer.writerows(documents)
    made = picture(figure, results)
    for suffix in ("png", "pdf"):
        with atomic_file(files[suffix]) as place:
            made.savefig(place, dpi=150, metadata=_UNDATED[suffix])
    return Outcome(figure, results, files)


_UNDATED = {"png": {"Software": None}, "pdf": {"CreationDate": None}}
"""The same results give the same files."""


def picture(figure: Figure, results: Mapping[str, Sequence[FigureResult]]) -> Any:
    """A figure as a figure of matplotlib: the views below each other."""
    width, height = figure.size
    views = [view for view in figure.views if view in results]
    made = new_figure(figsize=(width, (height + 0.5) * len(views)), layout="constrained")
    parts = made.subfigures(len(views), 1, squeeze=False)[:, 0]
    for view, part in zip(views, parts, strict=True):
        part.suptitle(heading(figure, view, results[view]), fontsize="medium")
        figure.draw(part, results[view])
    return made
