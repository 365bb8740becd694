"""(u) Resources of each unit, of whole designs, and the estimate that is fitted to them."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import language_units
from benchmarks.table import Table
from stepgen.compile.lower import lower
from stepgen.hw.alone import alone
from stepgen.hw.design.sharing import OWN, SHARED
from stepgen.hw.design.table import Channel, Design
from stepgen.hw.system import System
from stepgen.hw.units.link.params import Link
from stepgen.program.program import load
from stepgen.synth.circuits import FIFO, Circuit, circuits
from stepgen.synth.contents import LOGIC
from stepgen.synth.counting import counted
from stepgen.synth.estimate import FILE, estimate, measurements, weighed
from stepgen.synth.measuring import TOOL, measured
from stepgen.synth.netlist import Netlist
from stepgen.synth.out_of_context import netlist
from stepgen.synth.toolchain import FAMILY, RESOURCES, toolchain
from stepgen.tools import external
from tests.programs import every_unit

EVERY_UNIT, LINK = "every_unit", "link"
CHECKED = ((EVERY_UNIT, 4), (LINK, 4))
"""Have all kinds of units; the tests synthesize their units again."""
CASES = {case.name: case for case in language_units.CASES}
FITTED = (
    *CHECKED,
    (EVERY_UNIT, 8),
    *((name, language_units.LANES) for name in CASES),
    *(("alignment", 4), ("attention", 4), ("gnn", 4), ("moe", 4), ("swiglu", 4)),
)
"""Programs and lanes whose units the weights are fitted to; also those of table u3."""
WHOLE = (
    *(("alignment", 4), ("attention", 4), ("gnn", 4), ("moe", 4), ("swiglu", 4)),
    *(("matmul", 4), ("matvec", 8), ("normalize:softmax", 4), ("perceptron", 4)),
)
"""Programs and lanes that are synthesized as a whole; units of the last ones were not fitted to."""
SMALL = 20
"""LUTs that are added to those of a circuit for the weight of its error in the fit."""


def measure() -> list[Table]:
    """Synthesize the units and the whole designs; writes `FILE`."""
    version = external.find(TOOL).version
    rows, weights = _units()
    whole = {(program, lanes): _whole(program, lanes) for program, lanes in WHOLE}
    data: dict[str, Any] = {
        "yosys": version,
        "weights": weights,
        "together": 1.0,
        "units": rows,
        "designs": [],
    }
    _write(data)  # what an estimate is made from
    data["together"] = _together({one: whole[one] for one in WHOLE if one in FITTED})
    _write(data)
    for (program, lanes), used in whole.items():
        found = estimate(design_of(program, lanes)).total
        estimated = {f"{what}_estimated": count for what, count in found.items()}
        data["designs"].append({"program": program, "lanes": lanes, **used, **estimated})
    _write(data | {"errors": _errors(rows, data["designs"])})
    return tables()


def tables() -> list[Table]:
    """What `FILE` tells."""
    data = measurements()
    checked = [row for row in data["units"] if (row["program"], row["lanes"]) in CHECKED]
    units = [(r["kind"], r["name"], *_numbers(r, "lut_ram")) for r in checked]
    head = ("LUT", "LUT estimated", "FF", "multipliers", "block RAM")
    errors, own = data["errors"], sum(one in FITTED for one in WHOLE)
    designs = [
        (f"{d['program']}, L = {d['lanes']}", *_numbers(d, "ff_estimated")) for d in data["designs"]
    ]
    return [
        Table(
            "u1. Units",
            "Each unit of a program that has all kinds, with beats of 4 lanes, a link to beats of "
            "8, and each FIFO of their channels, synthesized by itself for an ECP5; circuits that "
            "are alike stand once. LUT RAM is part of LUT.",
            ("kind", "unit", *head, "LUT RAM"),
            sorted(units, key=lambda row: (row[0], row[1])),
        ),
        Table(
            "u2. Whole designs",
            "Shipped examples synthesized as a whole for an ECP5, with control and counters, and "
            "the estimate of `stepgen show --design`, which is fitted to "
            f"{len(data['units'])} units and FIFOs, and to the first {own} of these "
            f"designs. LUTs of designs are wrong by at most {errors['design_lut']} %, of units by "
            f"{errors['unit_lut']} % in the median, one of ten by more than "
            f"{errors['tenth_unit_lut']} %.",
            ("design", *head, "FF estimated"),
            designs,
        ),
    ]


def _numbers(row: Mapping[str, Any], last: str) -> list[int]:
    names = ("lut", "lut_estimated", "ff", "multiplier", "block_ram", last)
    return [row[name] for name in names]


def design_of(program: str, lanes: int) -> Design:
    """What a program becomes."""
    if program == LINK:  # a unit between the designs of a system
        tiles = (Channel("x", lanes, 8, 2), Channel("y", 2 * lanes, 8, 2))
        return alone(Link(lanes, 2 * lanes, 4 * lanes), tiles)
    if program in CASES:
        return CASES[program].design
    graph = every_unit() if program == EVERY_UNIT else load(program, draw=False).graph
    return lower(graph, lanes=lanes, loaders=SHARED if program == EVERY_UNIT else OWN)


def distinct(design: Design, seen: set[str]) -> list[Circuit]:
    """The circuits of a design that are none of those seen, which they are from then on."""
    found = []
    for circuit in circuits(design, FAMILY):
        if circuit.text not in seen:
            seen.add(circuit.text)
            found.append(circuit)
    return found


def _units() -> tuple[list[dict[str, Any]], dict[str, float]]:
    """The measured units and FIFOs, and the weights that are fitted to them."""
    rows, counts, texts, seen = [], [], {}, set()
    for program, lanes in FITTED:
        design = design_of(program, lanes)
        inside = counted(design, FAMILY)
        for circuit in distinct(design, seen):
            parts = inside.channels if circuit.kind == FIFO else inside.units
            counts.append(parts[circuit.name])
            texts[str(len(rows))] = circuit.text
            rows.append(
                {"program": program, "lanes": lanes, "name": circuit.name, "kind": circuit.kind}
            )
    with tempfile.TemporaryDirectory(prefix="stepgen_bench_") as folder:
        used = list(measured(texts, Path(folder)).values())
    weights = fitted(counts, [u["lut"] - u["lut_ram"] for u in used])
    for row, takes, inner in zip(rows, used, counts, strict=True):
        row.update(takes, lut_estimated=weighed(inner, weights)["lut"])
    return rows, weights


def fitted(counts: Sequence[Counter[str]], luts: Sequence[int]) -> dict[str, float]:
    """Weights of each kind of logic, none below 0, by least squares of relative errors."""
    features = np.array([[count[kind] for kind in LOGIC] for count in counts], float)
    scale = 1 / np.sqrt(np.array(luts, float) + SMALL)
    kept = list(range(len(LOGIC)))
    while True:
        found, *_ = np.linalg.lstsq(features[:, kept] * scale[:, None], luts * scale, rcond=None)
        if found.min() >= 0:
            break
        kept.pop(int(np.argmin(found)))
    weights = dict.fromkeys(LOGIC, 0.0)
    return weights | {LOGIC[k]: round(float(w), 3) for k, w in zip(kept, found, strict=True)}


def _together(whole: Mapping[tuple[str, int], Mapping[str, int]]) -> float:
    """What remains of the LUTs of units in whole designs: the median share."""
    shares = []
    for (program, lanes), used in whole.items():
        alone = estimate(design_of(program, lanes)).total
        memory = alone["lut_ram"]
        shares.append((used["lut"] - memory) / (alone["lut"] - memory))
    return round(statistics.median(shares), 3)


def _whole(program: str, lanes: int) -> dict[str, int]:
    """What a whole design takes."""
    print(f"  {program}, {lanes} lanes", flush=True)
    return synthesized(design_of(program, lanes))


def synthesized(design: Design) -> dict[str, int]:
    """What a design takes, synthesized as a whole."""
    with tempfile.TemporaryDirectory(prefix="stepgen_bench_") as folder:
        table = netlist(System(design), "top", Path(folder))
        used = Netlist.read(table, "top", toolchain(FAMILY).cells).used
    return {what: used[what] for what in RESOURCES}


def _errors(
    units: Sequence[Mapping[str, Any]], designs: Sequence[Mapping[str, Any]]
) -> dict[str, float]:
    """Of the estimated LUTs, in per cent of those measured.

    The median of units, the least of the largest tenth of them, the largest of designs.
    """
    wrong = sorted(map(_error, units))
    return {
        "unit_lut": round(statistics.median(wrong), 1),
        "tenth_unit_lut": round(statistics.quantiles(wrong, n=10)[-1], 1),
        "design_lut": round(max(map(_error, designs)), 1),
    }


def _error(row: Mapping[str, Any]) -> float:
    return 100 * abs(row["lut_estimated"] - row["lut"]) / max(1, row["lut"])


def _write(data: Mapping[str, Any]) -> None:
    """One row in each line."""
    lines = []
    for name, value in data.items():
        text = json.dumps(value)
        if isinstance(value, list):
            text = ",\n  ".join(json.dumps(row) for row in value).join(("[\n  ", "\n ]"))
        lines.append(f' "{name}": {text}')
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    measurements.cache_clear()
