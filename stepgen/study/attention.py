"""Runs of decode attention over parallel regions that Figures 14, 15 and 21 share."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from . import published
from .figure import Result, Row
from .point import PUBLISHED, Point, Trace, Transform, Value
from .traces import Traces

REGIONS = 4
FLOPS = 2048
"""FLOPs per cycle and operator."""

BLOCK = 16
"""Consecutive requests that the published coarse schedule gives to one region."""

DIFFERS = (
    "As published, the coarse schedule gives each region 16 requests, so that batch 16 keeps three "
    "of four regions idle, round robin lets a region that is behind hold up all others, the "
    "softmax has no maximum subtracted, FIFOs hold one tile, and a load waits for a tile before it "
    "asks for the next; fair, all schedules spread the batch over four regions, static ones divide "
    "it beforehand, the softmax is safe, FIFOs hold two tiles, and loads keep two in flight."
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
        What tells the batch apart.
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


def with_speedup(results: list[Result]) -> list[Result]:
    """Add how much faster the dynamic schedule is than each schedule on the same batch."""

    def batch(result: Result) -> tuple[Value, ...]:
        return tuple(v for name, v in result.row.labels.items() if name != "schedule")

    best = {batch(r): r for r in results if r["schedule"] == "dynamic"}
    made = []
    for result in results:
        dynamic = best[batch(result)]
        known = dict(result.row.known)
        if "cycles" in known and "cycles" in dynamic.row.known:
            known["dynamic_speedup"] = known["cycles"] / dynamic.row.known["cycles"]
        numbers = {**result.numbers, "dynamic_speedup": result["cycles"] / dynamic["cycles"]}
        made.append(Result(Row(result.row.labels, result.row.point, known), numbers))
    return made


def geomean(numbers: Sequence[float | None]) -> float | None:
    """The geometric mean; None where a number is missing."""
    known = [n for n in numbers if n is not None]
    return prod(known) ** (1 / len(known)) if len(known) == len(numbers) else None
