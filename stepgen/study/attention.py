"""Runs of decode attention over parallel regions that Figures 14, 15 and 21 share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from stepgen.study import published
from stepgen.study.claims import compared, fold, of, pairs, table
from stepgen.study.figure import FigureResult, Row, Views
from stepgen.study.point import ORIGINS, PUBLISHED, VIEWS, Point, Trace, Transform, Value
from stepgen.study.report import VIEW_NAMES
from stepgen.study.traces import Traces

REGIONS = 4
FLOPS = 2048
"""FLOPs per cycle and operator."""

BLOCK = 16
"""Consecutive requests that the published coarse schedule gives to one region."""

DIFFERS = (
    "As published, the coarse schedule gives each region 16 requests, so that batch 16 keeps three "
    "of four regions idle, round robin lets a region that is behind stall all others, the "
    "softmax has no maximum subtracted, FIFOs hold one tile, and a load waits for a tile before it "
    "requests the next; fair, all schedules spread the batch over four regions, static ones divide "
    "it in advance, the softmax is safe, FIFOs hold two tiles, and loads keep two in flight."
)


def row(
    view: str, trace: Trace, how: str, labels: dict[str, Value], known: int | None = None
) -> Row:
    """One batch under one schedule.

    Parameters
    ----------
    view : str
    trace : Trace
        Lengths of the requests.
    how : {"coarse", "interleaved", "dynamic"}
        Which region gets a request: of consecutive ones the same, in turn, or the first that is
        free.
    labels : dict of str to Value
        Labels of the batch.
    known : int, optional
        Published cycles.
    """
    as_published = view == PUBLISHED
    options: dict[str, Value] = {"regions": REGIONS, "how": how}
    if how == "interleaved" and as_published:
        options["routed"] = True
    if how == "dynamic":
        # Figure 16: a region is free for the next request when it has read all keys.
        options["done"] = "keys_read"
    if how == "coarse":
        options["per_region"] = BLOCK if as_published else -(-len(trace.values) // REGIONS)
    point = Point(
        "attention",
        {"softmax": "published" if as_published else "safe", "data": False},
        {"lengths": trace},
        (Transform("parallelize", options),),
        "sda-published" if as_published else "sda",
        {"compute.flops": FLOPS, "fifo_depth": 1 if as_published else 2},
        view,
    )
    return Row({**labels, "schedule": how}, point, {} if known is None else {"cycles": known})


def batch_rows(
    traces: Traces, view: str, sizes: Sequence[int], schedules: Sequence[str]
) -> list[Row]:
    """The nine published batches of some sizes under some schedules."""
    rows = []
    for size in sizes:
        found = published.batches(size)
        for variation, stdev, first in found[::4] if traces.small else found:
            trace = traces.lengths(size, stdev, first)
            cycles = published.ATTENTION[size, stdev, first]
            labels: dict[str, Value] = {
                "batch": size, "variation": variation, "stdev": stdev, "first": first,
            }  # fmt: skip
            for how, known in zip(published.SCHEDULES, cycles, strict=True):
                if how in schedules:
                    rows.append(row(view, trace, how, labels, known))
    return rows


def with_speedup(results: list[FigureResult]) -> list[FigureResult]:
    """Add how much faster the dynamic schedule is than each schedule on the same batch."""

    def batch(result: FigureResult) -> tuple[Value, ...]:
        return tuple(v for name, v in result.row.labels.items() if name != "schedule")

    best = {batch(r): r for r in results if r["schedule"] == "dynamic"}
    made = []
    for result in results:
        dynamic = best[batch(result)]
        known = dict(result.row.known)
        if "cycles" in known and "cycles" in dynamic.row.known:
            known["dynamic_speedup"] = known["cycles"] / dynamic.row.known["cycles"]
        numbers = {**result.numbers, "dynamic_speedup": result["cycles"] / dynamic["cycles"]}
        made.append(FigureResult(Row(result.row.labels, result.row.point, known), numbers))
    return made


def geomean(numbers: Sequence[float | None]) -> float | None:
    """The geometric mean; None where a number is missing."""
    known = [n for n in numbers if n is not None]
    return prod(known) ** (1 / len(known)) if len(known) == len(numbers) else None


def batch_claims(views: Views) -> Iterator[str]:
    """Figure 21: every batch with a trace, then how the schedules compare over batches."""
    traced = {view: [r for r in views[view] if _has_trace(r)] for view in VIEWS}
    yield from _schedules(traced, ["batch", "stdev", "first", "schedule"])
    yield ""
    rows = []
    for view, how, some in product(VIEWS, ("coarse", "interleaved"), (traced, views)):
        ratios = [r["dynamic_speedup"] for r in some[view] if r["schedule"] == how]
        if ratios:
            which = "with a trace" if some is traced else "all"
            middle = geomean(ratios)
            assert middle is not None
            spread = map(fold, (min(ratios), middle, max(ratios)))
            rows.append((how, VIEW_NAMES[view], f"{len(ratios)}, {which}", *spread))
    heads = ("schedule", "view", "batches", "least over dynamic", "geometric mean", "most")
    yield from table(heads, rows)


def size_claims(views: Views) -> Iterator[str]:
    """Figure 15: every size of the batch."""
    yield from _schedules(views, ["batch", "schedule"])


def _schedules(views: Views, labels: Sequence[str]) -> Iterator[str]:
    over = ("over dynamic, as published", "over dynamic, fair")
    yield from table(
        [*labels, "cycles, published", "as published", "error", *over, "cycles, fair"],
        (
            [
                *(str(p[name]) for name in labels),
                *compared(p),
                *(fold(of(r, "dynamic_speedup")) for r in (p, f)),
                of(f, "cycles"),
            ]
            for p, f in pairs(views)
        ),
    )


def _has_trace(result: FigureResult) -> bool:
    return result.row.point.origin == ORIGINS[0]
