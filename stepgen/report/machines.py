"""Reports of machines: their parameters, and the bandwidth of their off-chip memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType

from stepgen.report.console import percent, table
from stepgen.timing.tiles.bandwidth import PATTERNS, Bandwidth, bandwidth
from stepgen.timing.tiles.dram import Dram
from stepgen.timing.tiles.machines import MACHINES, Machine

PORTS = (1, 4, 16)
"""Operators that load concurrently."""
TILES = (1 << 10, 1 << 13, 1 << 16)
"""Bytes of a tile."""
MOVED = 1 << 24
"""Bytes moved in one measurement."""


def document(machine: Machine) -> dict[str, Any]:
    """A machine and its measured bandwidth, for ``--json``.

    Parameters
    ----------
    machine : Machine
        The machine.

    Returns
    -------
    dict
        ``machine`` (its fields), ``memory`` (which model), its ``peak`` in bytes per cycle, and
        ``bandwidth``, a list of measurements.
    """
    measured = [
        bandwidth(
            machine.memory,
            pattern,
            bytes=MOVED,
            ports=ports,
            tile=tile,
            in_flight=machine.tiles_in_flight,
        )
        for pattern in PATTERNS
        for tile in TILES
        for ports in PORTS
    ]
    return {
        "machine": dataclasses.asdict(machine),
        "memory": model(machine),
        "peak": machine.memory.peak,
        "bandwidth": [dataclasses.asdict(b) for b in measured],
    }


def tables(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    """What `document` says, as tables."""
    numbers = [(name, _value(value)) for name, value in _fields(data["machine"])]
    yield table(f"Machine {data['machine']['name']}", "field", "value", rows=numbers, left=2)
    measured = [Bandwidth(**b) for b in data["bandwidth"]]
    found = {(b.pattern, b.tile, b.ports): b for b in measured}
    rows = [
        (pattern, f"{tile:,}", *(_cell(found[pattern, tile, ports]) for ports in PORTS))
        for pattern in PATTERNS
        for tile in TILES
    ]
    columns = ("tiles", "bytes each", *(_loads(ports) for ports in PORTS))
    title = f"Off-chip bandwidth in bytes per cycle, of {data['peak']:g} at most"
    yield table(title, *columns, rows=rows)


def summary() -> RenderableType:
    """All machines by name, one line for each."""
    rows = [
        (m.name, model(m), f"{m.memory.peak:g}", m.onchip_bandwidth, m.compute.flops)
        for m in MACHINES.values()
    ]
    heads = ("machine", "off-chip memory", "its peak", "on-chip unit", "FLOPs per operator")
    return table("Machines, in bytes and FLOPs per cycle", *heads, rows=rows, left=2)


def model(machine: Machine) -> str:
    """The model of a machine's off-chip memory."""
    return "dram" if isinstance(machine.memory, Dram) else "simple"


def _loads(ports: int) -> str:
    return f"{ports} load" + "s" * (ports > 1)


def _cell(measured: Bandwidth) -> str:
    return f"{measured.per_cycle:.1f} ({percent(measured.share)})"


def _fields(record: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, Mapping) and value:
            yield from _fields(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _value(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return None if value == {} else value
