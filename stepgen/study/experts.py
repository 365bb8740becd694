"""Runs of mixture-of-experts layers on their circuits: sizes, schedules and rules in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stepgen.study.figure import FigureResult
from stepgen.study.point import CIRCUIT, Point, Transform, Value
from stepgen.study.traces import Traces

TOKENS = 64
LANES = 4

ROWS, REFERENCES = "rows", "references"
"""What a layer routes to its experts."""


@dataclass(frozen=True)
class Layer:
    """A layer whose routing is a model's, scaled down.

    Parameters
    ----------
    model : str
        Whose routing it has, of `Traces`.
    width, hidden, columns : int
        Rows and columns of an expert's weight, and columns of a tile of it.
    title : str
        What it is called in reports.
    """

    model: str
    width: int
    hidden: int
    columns: int
    title: str


MIXTRAL = Layer("mixtral", 64, 256, 64, "Mixtral-8x7B's routing, 8 experts of 64 x 256")
"""The layer of the demo."""

QWEN = Layer("qwen", 64, 24, 24, "Qwen3-30B-A3B's routing, 128 experts of 64 x 24")
"""Width and inner width are 1/32 of the model's."""

_SMALL = (
    Layer("mixtral", 16, 16, 8, "small, 4 experts of 16 x 16"),
    Layer("qwen", 16, 8, 8, "small, 8 experts of 16 x 8"),
)


def layers(traces: Traces) -> tuple[Layer, ...]:
    """The layers, or small ones."""
    return _SMALL if traces.small else (MIXTRAL, QWEN)


@dataclass(frozen=True)
class ExpertSchedule:
    """How the tokens of an expert are grouped, and on how many regions experts run.

    Parameters
    ----------
    tiling : {"static", "capped", "dynamic"}
    rows : int or None
        Of a static tile, or most of a capped one.
    routed : {"rows", "references"}
    regions : int or None
        None is one for each expert.
    """

    tiling: str
    rows: int | None = None
    routed: str = ROWS
    regions: int | None = None


def point(traces: Traces, layer: Layer, schedule: ExpertSchedule, **circuit: Value) -> Point:
    """A layer under a schedule, on a circuit with fields of `circuit.Settings`."""
    model = traces.model(layer.model)
    experts = model.sizes["experts"]
    options: dict[str, Value] = {
        "tokens": traces.batch(TOKENS),
        "experts": experts,
        "top": model.sizes["top"],
        "width": layer.width,
        "hidden": layer.hidden,
        "columns": layer.columns,
        "tiling": schedule.tiling,
    }
    if schedule.rows is not None:
        options["tile"] = schedule.rows
    steps = []
    if schedule.regions not in (None, experts):
        steps.append(Transform("time_multiplex", {"regions": schedule.regions}))
    if schedule.routed == REFERENCES:
        steps.append(Transform("row_references", {"partition": "partition_0"}))
    routing = traces.routing(model, TOKENS)
    return Point("moe", options, {"routing": routing}, tuple(steps), CIRCUIT, circuit, CIRCUIT)


def products(point: Point) -> int:
    """Products that the experts need, without those of padding."""
    routing, size = point.traces["routing"].array, point.options
    return routing.size * int(size["width"]) * int(size["hidden"])  # type: ignore[arg-type]


def utilization(result: FigureResult) -> float:
    """Products that are needed, by those that all matrix units could make in the cycles."""
    return products(result.row.point) / float(result["multipliers"] * result["cycles"])


def labelled(layer: Layer, schedule: ExpertSchedule) -> Mapping[str, Value]:
    """Labels of a row."""
    rows = "all" if schedule.rows is None else schedule.rows
    return {"layer": layer.title, "tiles": schedule.tiling, "rows": rows, "routed": schedule.routed}
