"""Kinds of pictures that several figures share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

COLORS = {
    "static": "#1f77b4",
    "dynamic": "#d62728",
    "coarse": "#1f77b4",
    "interleaved": "#ff7f0e",
    "published": "#7f7f7f",
}
"""The same thing has the same colour in all figures."""

CYCLE = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#17becf")

Point = tuple[float, float]


def hollow(axes: Any, points: Iterable[Point], label: str | None) -> None:
    """Published points: grey rings, so that they can be told from ours even where they coincide."""
    points = list(points)
    if points:
        xs, ys = zip(*points, strict=True)
        axes.scatter(
            xs, ys, s=90, facecolors="none", edgecolors=COLORS["published"], label=label, zorder=4
        )


def frontier(
    axes: Any,
    static: Sequence[tuple[float, float, str]],
    dynamic: Point | None,
    *,
    labels: bool,
) -> None:
    """Cycles against on-chip memory: a line through static tiles, and the dynamic point.

    Parameters
    ----------
    axes : matplotlib Axes
    static : sequence of (memory, cycles, text)
    dynamic : pair of float or None
    labels : bool
        Whether to put them into the legend.
    """
    if static:
        xs, ys, _ = zip(*static, strict=True)
        axes.plot(xs, ys, "o-", color=COLORS["static"], label="static tiles" if labels else None)
        for x, y, name in static:
            axes.annotate(name, (x, y), (4, 4), textcoords="offset points", fontsize="small")
    if dynamic is not None:
        axes.scatter(
            *dynamic, s=70, color=COLORS["dynamic"], zorder=3,
            label="dynamic tiles" if labels else None,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(True, which="both", alpha=0.25)


def bars(
    axes: Any,
    groups: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    *,
    colors: Mapping[str, str] | None = None,
    published: Mapping[str, Sequence[float | None]] | None = None,
    numbers: str | None = None,
) -> None:
    """Groups of bars, one bar of each series per group; published values as black ticks on them.

    Parameters
    ----------
    axes : matplotlib Axes
    groups : sequence of str
    series : mapping of str to sequence of float or None
        None leaves a gap.
    colors : mapping of str to str, optional
    published : mapping of str to sequence of float or None, optional
        By series.
    numbers : str, optional
        Format of the number above each bar.
    """
    width = 0.8 / max(1, len(series))
    marked = False
    for i, (name, values) in enumerate(series.items()):
        places = [g + (i - (len(series) - 1) / 2) * width for g in range(len(groups))]
        color = (colors or {}).get(name, CYCLE[i % len(CYCLE)])
        shown = [(x, v) for x, v in zip(places, values, strict=True) if v is not None]
        drawn = axes.bar(
            [x for x, _ in shown], [v for _, v in shown], width * 0.94, label=name, color=color,
            edgecolor="black", linewidth=0.6, zorder=2,
        )  # fmt: skip
        if numbers:
            axes.bar_label(drawn, fmt=numbers, fontsize="x-small", padding=1)
        for x, v in zip(places, (published or {}).get(name, ()), strict=False):
            if v is not None:
                axes.hlines(
                    v, x - width / 2, x + width / 2, color="black", linewidth=2.2, zorder=4,
                    label=None if marked else "published",
                )  # fmt: skip
                marked = True
    axes.set_xticks(range(len(groups)), groups)
    axes.grid(True, axis="y", alpha=0.3)


def lines(
    axes: Any,
    xs: Sequence[Any],
    series: Mapping[str, Sequence[float | None]],
    *,
    colors: Mapping[str, str] | None = None,
    published: Mapping[str, Sequence[float | None]] | None = None,
    marker: str = "o",
) -> None:
    """Lines over categories, with published values as grey rings."""
    places = range(len(xs))
    marked = False
    for i, (name, values) in enumerate(series.items()):
        color = (colors or {}).get(name, CYCLE[i % len(CYCLE)])
        shown = [(x, v) for x, v in zip(places, values, strict=True) if v is not None]
        axes.plot(
            [x for x, _ in shown], [v for _, v in shown], marker + "-", color=color, label=name
        )
        known = (published or {}).get(name, ())
        rings = [(x, v) for x, v in zip(places, known, strict=False) if v is not None]
        hollow(axes, rings, None if marked else "published")
        marked = marked or bool(rings)
    axes.set_xticks(places, [str(x) for x in xs])
    axes.grid(True, axis="y", alpha=0.3)


def legend(part: Any, axes: Iterable[Any], *, columns: int = 4) -> None:
    """One legend below all axes of a picture."""
    handles: dict[str, Any] = {}
    for one in axes:
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    part.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=columns,
        frameon=False, fontsize="small",
    )  # fmt: skip
