"""Evaluates one point: builds the program, transforms it, and times it on the machine."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from stepgen.compile import transforms
from stepgen.ir.dtypes import int8
from stepgen.ir.errors import StepError
from stepgen.ir.garbage import no_searches
from stepgen.ir.graph import Graph
from stepgen.program import program
from stepgen.program.made import of_model
from stepgen.program.tiles import simulate
from stepgen.study import circuit
from stepgen.study.point import CIRCUIT, Point
from stepgen.timing.drive import MAX_CYCLES
from stepgen.timing.tiles.machines import SDA
from stepgen.timing.tiles.variants import variant

Numbers = dict[str, int | float]
"""What a run is measured by, by name."""

SECONDS = "seconds"
"""Name of the wall time, which no table of results may depend on."""

COPIED = (
    "cycles",
    "traffic",
    "memory_peak",
    "memory_allocated",
    "flops_useful",
    "flops_padding",
    "bandwidth_utilization",
)
"""Numbers that the engine reports as they are: cycles, bytes, FLOPs, and a share from 0 to 1."""


def evaluate(point: Point, limit: int = MAX_CYCLES) -> Numbers:
    """Time one point, on its machine or its circuit.

    Parameters
    ----------
    point : Point
    limit : int
        Cycles that its run may take.

    Returns
    -------
    dict of str to number
        Of `COPIED`; ``memory_used``, the bytes given to operators that ever worked;
        ``compute_allocated``, the FLOPs per cycle of all operators that compute, used
        or not; ``compute_utilization`` and ``compute_occupancy``, the shares of it that did useful
        work, and any work; ``nodes``, how many operators the program has; and the wall time in
        seconds. Of a circuit, those of `circuit.measured`.

    Raises
    ------
    StepError
        If the point can't be built or run; the sentence names it.
    """
    begin = time.perf_counter()
    try:
        graph, inputs = build(point)
        if point.machine == CIRCUIT:
            return circuit.measured(graph, inputs, point.changes, limit=limit)
        machine = variant(point.machine, point.changes)
        run = simulate(graph, inputs, machine, limit=limit)
    except StepError as error:
        raise StepError(f"{point.name}: {error}") from None
    numbers: Numbers = {name: _plain(getattr(run, name)) for name in COPIED}
    # What only passes elements on or rounds them is given no arithmetic.
    functions = {node.name: node.attrs["fn"] for node in graph.nodes if "fn" in node.attrs}
    moves = {name for name, fn in functions.items() if fn.gathers or fn.converts}
    working = [o for o in run.operators.values() if o.name not in moves]
    given = sum(o.compute for o in working)
    useful, padding = sum(o.useful for o in working), sum(o.padding for o in working)
    numbers["memory_used"] = sum(o.memory for o in run.operators.values() if o.busy or o.tokens)
    numbers["compute_allocated"] = given
    numbers["compute_utilization"] = useful / max(1, given * run.cycles)
    numbers["compute_occupancy"] = (useful + padding) / max(1, given * run.cycles)
    numbers["nodes"] = len(graph.nodes)
    return numbers | {SECONDS: time.perf_counter() - begin}


def compile_engines() -> None:
    """Have what times programs compiled, by timing the smallest one."""
    graph = Graph()
    graph.output(graph.input("x", int8[1, 1], (1,)), "y")
    simulate(graph, {"x": [0]}, SDA)


@no_searches()
def build(point: Point) -> tuple[Graph, Mapping[str, Any]]:
    """The program of a point with its inputs, transformed."""
    function = program.find(point.workload)
    traces = {name: trace.array for name, trace in point.traces.items()}
    if point.lowering:
        texts = {name: str(value) for name, value in point.lowering.items()}
        made = of_model(function(**point.options), point.name, texts, tensors=False)
        return made.graph, made.inputs
    graph, inputs = function(**point.options, **traces)
    changed: Any = graph
    for step in point.transforms:
        changed = getattr(transforms, step.name)(changed, **step.options)
    if changed is graph:
        return graph, inputs
    return changed.graph, changed.inputs(inputs)


def _plain(value: Any) -> int | float:
    number = value.item() if hasattr(value, "item") else value
    return int(number) if isinstance(number, int) else float(number)
