"""Figures of described machines: timing sets, and what their off-chip memories reach."""

from __future__ import annotations

from collections.abc import Iterator

from stepgen.pages.docstrings import table
from stepgen.report.console import percent
from stepgen.report.machines import MOVED, PORTS, TILES
from stepgen.timing.tiles.bandwidth import PATTERNS, Bandwidth, bandwidth
from stepgen.timing.tiles.dram import Dram
from stepgen.timing.tiles.machines import MACHINES, SDA_PUBLISHED, Machine

STORES = 4
"""Streams of which some are stores."""


def _machines() -> list[Machine]:
    """All but the one with the memory of another simulator."""
    return [m for m in MACHINES.values() if m is not SDA_PUBLISHED]


def timings() -> str:
    """The timing sets as a table."""
    sets = [m.memory.timings for m in _machines() if isinstance(m.memory, Dram)]
    heads = (
        *("", "clock", "burst", "CL", "CWL", "RCD", "RP", "RAS", "CCD_S/L", "RRD_S/L", "FAW"),
        *("WR", "RTP", "WTR_S/L", "RTW", "REFI", "RFC", "refresh takes"),
    )
    rows = [
        (
            t.name,
            f"{t.clock_ps / 1000:g} ns",
            *map(str, (t.burst, t.cl, t.cwl, t.rcd, t.rp, t.ras)),
            *(f"{t.ccd_s}/{t.ccd_l}", f"{t.rrd_s}/{t.rrd_l}"),
            *map(str, (t.faw, t.wr, t.rtp)),
            f"{t.wtr_s}/{t.wtr_l}",
            *(str(t.rtw), f"{t.refi:,}", f"{t.rfc:,}", percent(t.rfc / t.refi)),
        )
        for t in sets
    ]
    return "\n".join(table(heads, rows))


def reached() -> str:
    """Bandwidth by pattern, size of the tiles and number of loads."""
    heads = ("machine", "tiles", "bytes each", *(f"{n} load" + "s" * (n > 1) for n in PORTS))
    return "\n".join(table(heads, (row for m in _machines() for row in _rows(m))))


def _rows(machine: Machine) -> Iterator[tuple[str, ...]]:
    found = {
        pattern: [
            (f"{tile:,}", *(_cell(machine, pattern, tile, n) for n in PORTS)) for tile in TILES
        ]
        for pattern in PATTERNS
    }
    alike = all(rows == found[PATTERNS[0]] for rows in found.values())
    name = f"`{machine.name}` (peak {machine.memory.peak:g})"
    for pattern in PATTERNS[:1] if alike else PATTERNS:
        yield from ((name, "any" if alike else pattern, *row) for row in found[pattern])


def _cell(machine: Machine, pattern: str, tile: int, ports: int, writes: int = 0) -> str:
    measured = _measured(machine, pattern, MOVED, tile, ports, writes)
    return f"{measured.per_cycle:.1f} ({percent(measured.share)})"


def _measured(
    machine: Machine, pattern: str, moved: int, tile: int, ports: int, writes: int = 0
) -> Bandwidth:
    return bandwidth(
        machine.memory,
        pattern,
        bytes=moved,
        ports=ports,
        writes=writes,
        tile=tile,
        in_flight=machine.tiles_in_flight,
    )


def alone() -> str:
    """A request on an idle memory, and streams of which some are stores."""
    stores = (0, 1, 2)
    mixes = [f"{STORES - n} loads, {n} stores" for n in stores]
    heads = ("machine", "one request alone, cycles", *mixes)
    rows = [
        (
            f"`{m.name}`",
            str(_measured(m, "sequential", 64, 64, 1).cycles),
            *(_cell(m, "streams", TILES[-1], STORES, n) for n in stores),
        )
        for m in _machines()
    ]
    return "\n".join(table(heads, rows))
