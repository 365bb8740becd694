"""Plots that several figures share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

COLORS = {
    "static": "#1f77b4",
    "dynamic": "#d62728",
    "coarse": "#1f77b4",
    "interleaved": "#ff7f0e",
    "published": "#7f7f7f",
}
"""The same thing has the same colour in all figures."""

TILES = {"static": COLORS["static"], "capped": "#2ca02c", "dynamic": COLORS["dynamic"]}
"""Of tiles, by how they are made."""

CYCLE = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#17becf")

Point = tuple[float, float]


def hollow(axes: Any, points: Iterable[Point], label: str | None) -> None:
    """Published points: grey rings, distinguishable from stepgen's points where they coincide."""
    points = list(points)
    if points:
        xs, ys = zip(*points, strict=True)
        axes.scatter(
            xs, ys, s=90, facecolors="none", edgecolors=COLORS["published"], label=label, zorder=4
        )


def frontier(
    axes: Any, points: Sequence[tuple[float, float, str]], which: str = "", *, dashed: bool = False
) -> None:
    """Cycles against on-chip memory: a line through static tiles, and the dynamic point.

    Parameters
    ----------
    axes : matplotlib Axes
    points : sequence of (memory, cycles, tile)
        A tile of rows, or ``"dynamic"``; in order of memory.
    which : str
        Added to the names in the legend.
    dashed : bool
        A second line beside another: dashed, with open markers and no texts.
    """
    static = [point for point in points if point[2] != "dynamic"]
    face = {"markerfacecolor": "white"} if dashed else {}
    axes.plot(
        [x for x, _, _ in static], [y for _, y, _ in static], "o", color=COLORS["static"],
        linestyle="--" if dashed else "-", label=f"static tiles{which}", **face,
    )  # fmt: skip
    for x, y, name in static if not dashed else ():
        axes.annotate(name, (x, y), (5, 5), textcoords="offset points", fontsize="small")
    for x, y, name in points:
        if name == "dynamic":
            axes.plot(
                [x], [y], "D" if dashed else "o", markersize=8, linestyle="", zorder=3,
                color=COLORS["dynamic"], label=f"dynamic tiles{which}",
                markerfacecolor="none" if dashed else COLORS["dynamic"],
            )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.margins(x=0.14, y=0.1)  # room for the texts of the outermost points
    logarithmic(axes.xaxis)
    logarithmic(axes.yaxis)
    axes.grid(True, alpha=0.25)


def logarithmic(axis: Any) -> None:
    """Ticks of a logarithmic axis as integers, `20 M`, as many as fit.

    Limits and margins are to be set before.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    wide = high > _DENSE * low
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if wide else (1, 1.5, 2, 3, 4, 6, 8)))
    axis.set_minor_formatter(NullFormatter())
    engineering(axis)


def factors(axis: Any) -> None:
    """Ticks of a logarithmic axis of ratios, which are powers of 2."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(2))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def engineering(axis: Any) -> None:
    """Large numbers of an axis as `20 M`: no power of ten apart from them."""
    from matplotlib.ticker import EngFormatter

    axis.set_major_formatter(EngFormatter())


_DENSE = 7
"""From this ratio of its ends on, a logarithmic axis has few ticks per decade."""


def bars(
    axes: Any,
    groups: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    *,
    colors: Mapping[str, str] | None = None,
    published: Mapping[str, Sequence[float | None]] | None = None,
    drawn: Mapping[str, Sequence[bool]] | None = None,
    numbers: str | None = None,
    base: float = 0,
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
    drawn : mapping of str to sequence of bool, optional
        By series, which bars stand for batches that are drawn: they are pale.
    numbers : str, optional
        Format of the number above each bar and its tick, upright where bars are narrow.
    base : float
        Where bars begin; 1 for ratios on a logarithmic axis.
    """
    width = 0.8 / max(1, len(series))
    marked: set[str] = set()
    text: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": "x-small", "zorder": 5}
    text["bbox"] = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.6}
    text["rotation"] = "vertical" if len(series) > _MOST_LEVEL else "horizontal"

    def once(label: str) -> str | None:
        new = label not in marked
        marked.add(label)
        return label if new else None

    for i, (name, values) in enumerate(series.items()):
        places = [g + (i - (len(series) - 1) / 2) * width for g in range(len(groups))]
        color = (colors or {}).get(name, CYCLE[i % len(CYCLE)])
        known = (published or {}).get(name, [None] * len(places))
        pale = (drawn or {}).get(name, [False] * len(places))
        for x, v, other, faint in zip(places, values, known, pale, strict=True):
            if v is not None:
                axes.bar(
                    [x], [v - base], width * 0.94, bottom=base, zorder=2, linewidth=0.6,
                    label=once(f"{name}, with drawn batches" if faint else name),
                    color=(color, 0.25) if faint else color, edgecolor=color if faint else "black",
                )  # fmt: skip
            if v is not None and numbers:
                above = (x, max(v, base, other or v))
                axes.annotate(numbers % v, above, (0, 3), textcoords="offset points", **text)
            if other is not None:
                axes.hlines(
                    other, x - width / 2, x + width / 2, color="black", linewidth=2.2, zorder=4,
                    label=once("published"),
                )  # fmt: skip
    axes.set_xticks(range(len(groups)), groups)
    axes.margins(y=0.15 if len(series) > _MOST_LEVEL else 0.1)
    axes.grid(True, axis="y", alpha=0.3)


_MOST_LEVEL = 4
"""Bars of a group whose numbers fit beside each other."""


def lines(
    axes: Any,
    xs: Sequence[Any],
    series: Mapping[str, Sequence[float | None]],
    *,
    colors: Mapping[str, str] | None = None,
    published: Mapping[str, Sequence[float | None]] | None = None,
    marker: str = "o",
    dashed: Collection[str] = (),
) -> None:
    """Lines over categories, published values as grey rings; `dashed` ones may lie on others."""
    places = range(len(xs))
    marked = False
    for i, (name, values) in enumerate(series.items()):
        color = (colors or {}).get(name, CYCLE[i % len(CYCLE)])
        shown = [(x, v) for x, v in zip(places, values, strict=True) if v is not None]
        axes.plot(
            [x for x, _ in shown], [v for _, v in shown], marker, color=color, label=name,
            linestyle="--" if name in dashed else "-", markersize=4 if name in dashed else None,
        )  # fmt: skip
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
