"""What a design takes of an FPGA by estimate, as data and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType

from stepgen.hw.design.table import Design
from stepgen.report.console import table
from stepgen.synth.estimate import Estimate, measurements, total
from stepgen.synth.toolchain import MEASURED

COLUMNS = ("LUT", "FF", "multipliers", "block RAM", "LUT RAM")


def document(design: Design, found: Estimate) -> dict[str, Any]:
    """The estimate of a design as JSON values, and how wrong estimates were."""
    data = measurements()
    return {
        "units": [{"unit": u.name, "kind": u.kind, **found.units[u.name]} for u in design.units],
        "channels": [{"channel": name, **takes} for name, takes in found.channels.items()],
        "control": found.control,
        "total": found.total,
        "not_counted": list(found.foreign),
        "errors": {
            "designs": len(data["designs"]),
            "largest_percent_of_designs": data["errors"]["design_lut"],
            "median_percent_of_units": data["errors"]["unit_lut"],
            "tenth_percent_of_units": data["errors"]["tenth_unit_lut"],
            "yosys": data["yosys"],
        },
    }


def tables(design: Design, found: Estimate) -> Iterator[RenderableType]:
    """The estimate of a design, by unit, and how wrong estimates were."""
    rows = [_row(f"{u.name} ({u.kind})", found.units[u.name]) for u in design.units]
    rows.append(_row(f"{len(design.channels)} FIFOs", total(found.channels.values())))
    rows.append(_row("control and counters", found.control))
    rows.append(_row("together", found.total))
    yield table("Resources of an ECP5, estimated", "part of the circuit", *COLUMNS, rows=rows)
    data = measurements()
    errors = data["errors"]
    yield (
        f"estimated without synthesis; LUT RAM is part of LUT. Against Yosys {data['yosys']}, LUTs "
        f"were wrong by at most {errors['design_lut']} % in {len(data['designs'])} whole designs, "
        f"by {errors['unit_lut']} % in the median unit by itself, by more than "
        f"{errors['tenth_unit_lut']} % in one of ten"
    )
    if found.foreign:
        yield f"not counted: the modules in Verilog of {', '.join(found.foreign)}"


def measured(kind: str) -> tuple[str, ...]:
    """What units of a kind took that were synthesized by themselves, least and most, by column."""
    rows = [row for row in measurements()["units"] if row["kind"] == kind]
    ranges = ((min(r[what] for r in rows), max(r[what] for r in rows)) for what in MEASURED)
    return tuple(str(low) if low == high else f"{low} to {high}" for low, high in ranges)


def _row(name: str, takes: Mapping[str, int]) -> tuple[Any, ...]:
    return (name, *(takes[what] for what in MEASURED))
