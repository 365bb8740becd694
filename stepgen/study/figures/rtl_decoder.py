"""Circuits: a decoder layer under each dynamic optimization alone, and all three together."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from stepgen.study import plots
from stepgen.study.claims import fold, table
from stepgen.study.decoder import with_speedup
from stepgen.study.figure import Figure, FigureResult, Row, Views
from stepgen.study.point import CIRCUIT, Point, Trace, Transform, Value
from stepgen.study.report import origin
from stepgen.study.traces import Traces

REQUESTS = 16
BATCHES = ((1456, 2805), (479, 1063))
"""Deviation of the lengths and first request of a batch."""

SCALE = 16
"""Lengths are divided by it."""

ATTENTION_REGIONS = 2
EXPERT_REGIONS = 4
TILE = 4

SIZE: dict[str, Value] = {
    "experts": 8, "top": 2, "width": 32, "inner": 64, "columns": 32, "kv_heads": 1, "head": 8,
    "cache_tile": 4,
}  # fmt: skip
LANES = 4
BUS = 64

SCHEDULES: dict[str, tuple[str, str, bool]] = {
    "none": ("static", "interleaved", False),
    "dynamic tiling": ("dynamic", "interleaved", False),
    "time-multiplexing": ("static", "interleaved", True),
    "dynamic parallelization": ("static", "dynamic", False),
    "all three": ("dynamic", "dynamic", True),
}
"""Tiles, how requests are spread, and whether experts share regions."""

DIFFERS = (
    "All schedules have the same memory port (64 bits, latency 16), 16 multipliers (bf16) in each "
    "matrix unit and two regions of attention; matrix units and on-chip memory are what each "
    "needs. Without the optimizations tiles of experts have 4 rows, requests go to the regions in "
    "turn, and each of the 8 experts has its own hardware; time-multiplexed ones share 4 regions. "
    "A batch of 16 requests with lengths divided by 16, and the routing of the first 16 tokens of "
    "Mixtral-8x7B's; tokens of 32 columns, experts of 32 x 64, one key-value head of 8 columns, "
    "RoPE and norms on chip."
)


def _rows(traces: Traces, view: str) -> list[Row]:
    rows = []
    for stdev, first in BATCHES[:1] if traces.small else BATCHES:
        lengths = traces.lengths(REQUESTS, stdev, first)
        scaled = tuple(n // SCALE for n in lengths.values)
        batch = dataclasses.replace(lengths, values=scaled)
        whole = traces.routing(traces.model("mixtral"), 64)
        routing = dataclasses.replace(whole, values=whole.values[: len(scaled)])
        rows += [_row(traces, f"{stdev} @ {first}", batch, routing, name) for name in SCHEDULES]
    return rows


def _row(traces: Traces, batch: str, lengths: Trace, routing: Trace, name: str) -> Row:
    tiling, how, is_shared = SCHEDULES[name]
    options = {**SIZE, "tiling": tiling, "tile": TILE}
    if traces.small:
        options["experts"] = traces.model("mixtral").sizes["experts"]
    spread: dict[str, Value] = {
        "regions": ATTENTION_REGIONS,
        "how": how,
        "requests": [*(f"{x}_of_request0" for x in "qkv"), "span", "place", "filled"],
        "until": ["attended0"],
    }
    if how == "dynamic":
        spread["done"] = "keys0_read"
    steps = [Transform("parallelize", spread)]
    if is_shared:
        regions = 2 if traces.small else EXPERT_REGIONS
        steps.append(Transform("time_multiplex", {"regions": regions}))
    point = Point(
        "decoder",
        options,
        {"lengths": lengths, "routing": routing},
        tuple(steps),
        CIRCUIT,
        {"lanes": LANES, "bus_bits": BUS},
        CIRCUIT,
    )
    labels: dict[str, Value] = {"model": batch, "schedule": name}
    return Row(labels, point, sample=name in ("none", "all three"))


def _draw(part: Any, results: Sequence[FigureResult]) -> None:
    batches = list(dict.fromkeys(r["model"] for r in results))
    panels = part.subplots(1, len(batches), sharey=True, squeeze=False)[0]
    metrics = ("cycles", "onchip_bits", "multipliers", "traffic")
    names = ["cycles", "on-chip\nmemory", "multipliers of\nmatrix units", "off-chip\ntraffic"]
    for axes, batch in zip(panels, batches, strict=True):
        own = [r for r in results if r["model"] == batch]
        series = {str(r["schedule"]): [r[m] / own[0][m] for m in metrics] for r in own}
        plots.bars(axes, names, series, numbers="%.2f")
        axes.axhline(1, color="grey", linewidth=0.8)
        axes.set_xlabel(f"lengths of batch {batch}")
    panels[0].set_ylabel(f"relative to “{results[0]['schedule']}”")
    plots.legend(part, panels, columns=5)


def _claims(views: Views) -> Iterator[str]:
    results = views[CIRCUIT]
    numbers = ("cycles", "speedup", "onchip_bits", "multipliers", "traffic")
    heads = ("cycles", "speedup", "on-chip bits", "multipliers", "off-chip bytes")
    yield from table(
        ("batch", "input", "schedule", *heads),
        (
            [
                r["model"],
                origin(r),
                r["schedule"],
                *(fold(r[n]) if n == "speedup" else r[n] for n in numbers),
            ]
            for r in results
        ),
    )
    yield ""
    for batch in dict.fromkeys(r["model"] for r in results):
        first, *_, last = (r for r in results if r["model"] == batch)
        ratios = ", ".join(
            f"{fold(last[n] / first[n])} of the {what}"
            for n, what in zip(numbers, heads, strict=True)
            if n != "speedup"
        )
        yield f"- Batch {batch}, “{last['schedule']}” beside “{first['schedule']}”: {ratios}."


FIGURE = Figure(
    "rtl-decoder",
    "Dynamic optimizations of a decoder layer on generated circuits",
    DIFFERS,
    _rows,
    _draw,
    shown=("cycles", "speedup", "onchip_bits", "multipliers", "traffic"),
    derive=with_speedup,
    claims=_claims,
    by="model",
    size=(13.0, 4.2),
    views=(CIRCUIT,),
    group="rtl",
)
