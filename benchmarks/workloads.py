"""(c2) Cycles of each workload against its lower bound, and where the others go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.table import Table
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Bus, Unit
from stepgen.hw.units.axi.params import Axi
from stepgen.hw.units.matmul.params import Matmul
from stepgen.hw.units.matvec.params import Matvec
from stepgen.program.program import load
from stepgen.timing.activity import Cycles
from stepgen.timing.model import Prediction

LANES = 4
BUS = Bus(data_bits=64, outstanding=16)
KINDS = ("reads", "writes", "products")
"""What a bound counts."""


@dataclass(frozen=True)
class Workload:
    """A shipped program at one size."""

    program: str
    sizes: Mapping[str, object] = field(default_factory=dict)


WORKLOADS = (
    Workload("perceptron", {"rows": 256, "width": 64, "inner": 128, "tile": 64}),
    Workload("matvec", {"vectors": 64, "selected": 48, "width": 64, "columns": 128}),
    Workload("matvec", {"vectors": 64, "selected": 48, "width": 64, "tiling": "dynamic"}),
    Workload("matmul", {"m": 64, "n": 128, "k": 128, "tile_m": 32, "tile_k": 32}),
    Workload("normalize:rms_norm", {"rows": 1024, "width": 64, "tile": 64}),
    Workload("normalize:layer_norm", {"rows": 1024, "width": 64, "tile": 64}),
    Workload("normalize:softmax", {"rows": 1024, "width": 64, "tile": 64}),
    Workload("swiglu", {"batch": 64, "tile_batch": 16}),
    Workload("swiglu", {"batch": 128, "tile_batch": 32}),
    Workload("moe_swiglu", {"tiling": "static", "tile": 4, "columns": 16}),
    Workload("moe_swiglu", {"tiling": "dynamic", "columns": 64}),
    Workload("moe_swiglu", {"tiling": "dynamic", "columns": 16}),
    Workload("moe_swiglu", {"tiling": "dynamic", "columns": 16, "tokens": 256}),
    Workload("moe_swiglu", {"tiling": "dynamic", "columns": 16, "gate": "top_k"}),
    Workload("gelu", {"rows": 128, "width": 64, "tile": 64}),
    Workload("attention", {"mean": 512, "stdev": 128}),
    Workload("attention", {"mean": 512, "stdev": 128, "batch": 32}),
    Workload("decoder"),
)


@dataclass(frozen=True)
class Use:
    """What a run asks of one resource that a bound counts.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    name : str
        The same of the bus, or a matrix unit.
    work : int
        Cycles that the resource needs at least.
    first, last : int
        Cycles in which it is used for the first and for the last time.
    starved, full : int
        Cycles in between in which it waited for an input, and for space.
    """

    kind: str
    name: str
    work: int
    first: int
    last: int
    starved: int
    full: int


def measure() -> Table:
    """Every workload; the model's cycles, which the RTL's equal."""
    return Table(
        "c2. Workloads against their bounds",
        f"{LANES} lanes, bus of {BUS.data_bits} bits, memory latency 16, in each direction of the "
        "bus a word per cycle. The bound is the largest of: words read, words written, and "
        "multiplications of a matrix unit over its multipliers. Where it comes from is named, "
        "with the cycles before its first use and after its last one, and those between in which "
        "it waited: for what it works on (a matrix unit also for its first weights), or for space "
        "behind it. What is lost are starts and ends: a matrix unit waits for its first tile of "
        "weights, which loads share the bus for, and what comes last passes all units behind. So "
        "small tiles of weights and many tokens help a mixture of experts, and many requests "
        "help attention, whose first scores need all keys of a request.",
        (
            *("workload", "cycles", "reads", "writes", "products", "cycles / bound"),
            *("bound by", "before", "starved", "full", "after"),
        ),
        [_row(workload) for workload in WORKLOADS],
    )


def _row(workload: Workload) -> tuple[object, ...]:
    title = ", ".join((workload.program, *(f"{k} {v}" for k, v in workload.sizes.items())))
    print(f"  {title}", flush=True)
    program = load(workload.program, {k: str(v) for k, v in workload.sizes.items()})
    run = Experiment(program.graph, program.inputs, lanes=LANES, bus=BUS).prediction
    found = uses(run)
    most = {kind: max((u.work for u in found if u.kind == kind), default=0) for kind in KINDS}
    bound = max(found, key=lambda use: use.work)
    before, after = bound.first, run.cycles - 1 - bound.last
    return (
        title,
        *(f"{count:,}" for count in (run.cycles, *most.values())),
        f"{run.cycles / bound.work:.3f}",
        bound.name,
        *(f"{count:,}" for count in (before, bound.starved, bound.full, after)),
    )


def uses(prediction: Prediction) -> list[Use]:
    """The bus in each direction, and each unit of products."""
    design, found = prediction.design, []
    for bus, params in design.rows_of(Axi):
        if params.reads:
            found.append(_of_bus(prediction, "reads", bus.outputs["r"]))
        if params.writes:
            found.append(_of_bus(prediction, "writes", bus.inputs["w"]))
    for unit, params in design.rows_of(Matmul):
        moved = prediction.pops[unit.inputs["x"]]
        k_slices, _ = params.slices(design.lanes)
        work = (len(moved) - 1) // k_slices * params.k * params.n // design.lanes**2
        found.append(_of_actor(prediction, unit, work, moved))
    for unit, _ in design.rows_of(Matvec):
        moved = prediction.pops[unit.inputs["w"]]
        found.append(_of_actor(prediction, unit, len(moved) - 1, moved))
    return [use for use in found if use.work]


def _of_bus(prediction: Prediction, name: str, channel: str) -> Use:
    """Words that move, and of the cycles without one those in which there was no space."""
    moved, counters = prediction.pushes[channel], prediction.counters(channel)
    first, last = int(moved[0]), int(moved[-1])
    full = min(counters["full"], last + 1 - first - len(moved))
    return Use(name, name, len(moved), first, last, last + 1 - first - len(moved) - full, full)


def _of_actor(prediction: Prediction, unit: Unit, work: int, moved: Cycles) -> Use:
    """Steps of a unit of products, and how its actor waited."""
    main = unit.name, unit.params.main
    (actor,) = (a for a in prediction.activities if (a.unit, a.name) == main)
    first, last = int(moved[0]), int(moved[-1])
    outside = first + prediction.cycles - 1 - last
    starved = max(0, actor.starved - outside)
    return Use("products", unit.name, work, first, last, starved, actor.full)
