"""Circuits: attention over parallel regions, under schedules that know lengths or do not."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from stepgen.study import plots, published
from stepgen.study.attention import REGIONS, geomean
from stepgen.study.claims import fold, table
from stepgen.study.figure import Figure, FigureResult, Row, Views
from stepgen.study.point import CIRCUIT, Point, Trace, Transform, Value
from stepgen.study.report import origin
from stepgen.study.traces import Traces

SCALE = 16
"""Lengths are divided by it."""

SIZE: dict[str, Value] = {"rows": 4, "width": 16, "tile": 4}
LANES = 4
BUSES = {64: (16,), 256: (16, 64)}
"""By width of the bus, the batches."""

SCHEDULES: dict[str, dict[str, Value]] = {
    "coarse": {"how": "coarse"},
    "interleaved": {"how": "interleaved"},
    "interleaved, routed": {"how": "interleaved", "routed": True},
    "balanced": {"how": "coarse"},
    "dynamic": {"how": "dynamic", "done": "keys_read"},
}
"""Options of `parallelize`. For ``balanced`` the requests are reordered before."""

UNAWARE = ("coarse", "interleaved", "interleaved, routed")
"""Those that do not know the lengths."""

DIFFERS = (
    "All schedules have four regions of 16 multipliers for each matrix product, the same memory "
    "port and latency 16; on-chip memory is what each needs. Coarse gives each region as many "
    "consecutive requests, interleaved one in turn, each region with inputs of its own, which are "
    "divided beforehand, or routed from common ones, where a region that is behind stalls all. "
    "None of these knows the lengths. Balanced knows them: requests are sorted beforehand so that "
    "regions have equally many and about the same work. Dynamic gives a request to the region "
    "that has read all keys of its last one first (as in Figure 16 of the paper). Lengths "
    "are divided by 16; 4 query rows, 16 columns, cache tiles of 4 rows, bf16."
)


def _rows(traces: Traces, view: str) -> list[Row]:
    rows = []
    for bus, sizes in BUSES.items():
        for size in sizes:
            found = published.batches(size)
            for variation, stdev, first in found[::4] if traces.small else found:
                trace = _scaled(traces, size, stdev, first)
                labels: dict[str, Value] = {
                    "bus": bus, "batch": size, "variation": variation, "stdev": stdev,
                    "first": first,
                }  # fmt: skip
                rows += [_row(trace, bus, name, labels) for name in SCHEDULES]
    return rows


def _scaled(traces: Traces, size: int, stdev: int, first: int) -> Trace:
    trace = traces.lengths(size, stdev, first)
    return dataclasses.replace(trace, values=tuple(n // SCALE for n in trace.values))


def _row(trace: Trace, bus: int, name: str, labels: dict[str, Value]) -> Row:
    if name == "balanced":
        trace = Trace.of(trace.name, trace.origin, balanced(trace))
    options = {"regions": REGIONS, **SCHEDULES[name]}
    made = Point(
        "attention",
        SIZE,
        {"lengths": trace},
        (Transform("parallelize", options),),
        CIRCUIT,
        {"lanes": LANES, "bus_bits": bus},
        CIRCUIT,
    )
    return Row({**labels, "schedule": name}, made, sample=labels["first"] == _SAMPLE[1])


_SAMPLE = (479, 1063)
"""The batch that is simulated in RTL: deviation and first request."""


def balanced(trace: Trace) -> Any:
    """The requests in an order whose quarters have about the same sum of lengths.

    The longest first, each to the region with the least work that has room.
    """
    lengths = trace.array
    room = -(-len(lengths) // REGIONS)
    groups: list[list[int]] = [[] for _ in range(REGIONS)]
    for length in sorted(lengths.tolist(), reverse=True):
        min((g for g in groups if len(g) < room), key=sum).append(length)
    groups.sort(key=len, reverse=True)
    return np.array([length for group in groups for length in group], np.int64)


KEYS = ("bus", "batch", "stdev", "first")


def with_ratios(results: list[FigureResult]) -> list[FigureResult]:
    """Add the cycles of each schedule over those of the dynamic one on the same batch."""
    made = []
    for one in results:
        (dynamic,) = (r for r in _alike(one, results) if r["schedule"] == "dynamic")
        ratio = one["cycles"] / dynamic["cycles"]
        made.append(FigureResult(one.row, {**one.numbers, "dynamic_speedup": ratio}))
    return made


def _alike(one: FigureResult, results: Sequence[FigureResult]) -> list[FigureResult]:
    return [r for r in results if all(r[key] == one[key] for key in KEYS)]


def _groups(results: Sequence[FigureResult]) -> Iterator[tuple[int, int, list[FigureResult]]]:
    for bus, batch in dict.fromkeys((r["bus"], r["batch"]) for r in results):
        yield bus, batch, [r for r in results if (r["bus"], r["batch"]) == (bus, batch)]


def _draw(part: Any, results: Sequence[FigureResult]) -> None:
    groups = list(_groups(results))
    panels = part.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    others = [name for name in SCHEDULES if name != "dynamic"]
    for axes, (bus, batch, own) in zip(panels, groups, strict=True):
        for place, name in enumerate(others):
            some = [r for r in own if r["schedule"] == name]
            for kind, marker in (("trace", "o"), ("drawn", "x")):
                ratios = [r["dynamic_speedup"] for r in some if origin(r) == kind]
                apart = np.linspace(-0.2, 0.2, len(ratios)) if len(ratios) > 1 else [0.0]
                axes.plot(
                    place + np.array(apart[: len(ratios)]), ratios, marker,
                    color=plots.CYCLE[place], linestyle="", label=f"a batch, {kind}", alpha=0.8,
                )  # fmt: skip
            middle = geomean([r["dynamic_speedup"] for r in some])
            axes.hlines(middle, place - 0.3, place + 0.3, color="black", label="geometric mean")
            axes.annotate(f"{middle:.2f}", (place + 0.32, middle), va="center", fontsize="x-small")
        axes.axhline(1, color=plots.COLORS["dynamic"], linewidth=1, label="dynamic")
        axes.set_xticks(range(len(others)), [n.replace(", ", ",\n") for n in others])
        axes.tick_params(axis="x", labelsize="small")
        axes.set_xlim(-0.5, len(others) - 0.2)
        axes.set_title(f"{batch} requests, bus of {bus} bits", fontsize="small")
        axes.grid(True, axis="y", alpha=0.3)
    panels[0].set_ylabel("cycles over those of the dynamic schedule")
    plots.legend(part, panels)


def _claims(views: Views) -> Iterator[str]:
    results = views[CIRCUIT]
    rows = []
    for bus, batch, own in _groups(results):
        for name in SCHEDULES:
            some = [r for r in own if r["schedule"] == name]
            ratios = [r["dynamic_speedup"] for r in some]
            traced = [r["dynamic_speedup"] for r in some if origin(r) == "trace"]
            bits = geomean([r["onchip_bits"] for r in some])
            middle, of_traces = geomean(ratios), geomean(traced) if traced else None
            assert bits is not None
            assert middle is not None
            rows.append(
                (
                    bus, batch, name, f"{len(traced)} trace, {len(ratios) - len(traced)} drawn",
                    *map(fold, (min(ratios), middle, max(ratios))),
                    None if of_traces is None else fold(of_traces), round(bits),
                )
            )  # fmt: skip
    heads = ("bus", "batch", "schedule", "batches", "least over dynamic", "geometric mean", "most")
    more = ("geometric mean of traces", "on-chip bits, geometric mean")
    yield from table((*heads, *more), rows)
    yield ""
    for bus, batch, own in _groups(results):
        best, every = [], []
        for dynamic in (r for r in own if r["schedule"] == "dynamic"):
            beside = [r for r in _alike(dynamic, own) if r["schedule"] in UNAWARE]
            best.append(min(r["dynamic_speedup"] for r in beside))
            every += [r["dynamic_speedup"] for r in beside]
        means = [geomean(some) for some in (every, best)]
        yield (
            f"- {batch} requests, bus of {bus} bits: schedules that do not know the lengths take "
            f"{means[0]:.2f} times the cycles of the dynamic one (geometric mean), the best of "
            f"them in each batch {means[1]:.2f} times."
        )


FIGURE = Figure(
    "rtl-attention",
    "Attention over four parallel regions, on generated circuits",
    DIFFERS,
    _rows,
    _draw,
    shown=("cycles", "dynamic_speedup", "onchip_bits", "multipliers"),
    derive=with_ratios,
    claims=_claims,
    by="bus",
    size=(13.0, 4.4),
    views=(CIRCUIT,),
    group="rtl",
)
