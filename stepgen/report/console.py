"""Reports as text: tables of designs, costs, times and tools."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.constrain import Constrain
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from stepgen.compile.budget import KIB
from stepgen.compile.cost import on_chip_bits, unit_bits
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Channel, Design
from stepgen.ir.expr import Expr
from stepgen.ir.records import written
from stepgen.timing.states import STATES
from stepgen.tools.external import Tool

LONGEST_SUM = 4
"""Terms of a symbolic sum that a table shows."""

COLUMNS = 80
"""Width of a terminal, and the most of tables of units, whose long names are folded."""

LEAST_NAME = 16
"""Letters of a name in a table that stay on one line."""

MOST_UNITS = 40
"""Rows of a table of units; with more units it has a row per kind."""

MOST_DIMS = 16
"""Values of dims that are shown."""


def show(*parts: RenderableType) -> None:
    """Print tables and lines, 160 columns wide if stdout is not a terminal."""
    width = None if sys.stdout.isatty() else 160
    # Types are written in brackets, and places as `file:name:`: neither is markup or a picture.
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    for part in parts:
        console.print(part)


def show_json(data: Mapping[str, Any]) -> None:
    """Print a document as JSON."""
    print(written(data, indent=1, default=str))


def warn(sentence: str) -> None:
    """Print a warning on stderr."""
    print(f"stepgen: {sentence}", file=sys.stderr)


def table(title: str, *columns: str, rows: Iterable[Sequence[Any]], left: int = 1) -> Table:
    """A table whose first `left` columns are texts and whose others are numbers.

    Parameters
    ----------
    title : str
    *columns : str
        Headings.
    rows : iterable of sequence
        Integers are printed with separators, None as an empty cell.
    left : int
        Number of left-aligned columns.
    """
    made = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        made.add_column(column, justify="left" if index < left else "right", overflow="fold")
    for row in rows:
        made.add_row(*(_cell(value) for value in row))
    return made


def _cell(value: Any) -> Text:
    if isinstance(value, Text):
        return value
    if value is None:
        return Text()
    return Text(f"{value:,}" if isinstance(value, int) else str(value))


def verdict(good: bool) -> Text:
    """Whether a simulation had no mismatch."""
    return Text("everything agrees", "green") if good else Text("differs", "red")


def percent(share: float) -> str:
    """A share in per cent."""
    return f"{100 * share:.1f} %"


def pairs_table(pairs: Mapping[str, Any]) -> Table:
    """Names and values, such as paths of results."""
    made = Table.grid(padding=(0, 2))
    for what, value in pairs.items():
        made.add_row(Text(what), Text(str(value), overflow="fold"))
    return made


def tools_tables(tools: Sequence[Tool]) -> Iterator[RenderableType]:
    """Every tool, and how to install missing ones."""
    rows = [(t.name, t.version or "missing", t.purpose, t.path) for t in tools]
    yield table("Tools", "tool", "version", "for", "found at", rows=rows, left=4)
    for tool in tools:
        if not tool.found:
            need = "needed" if tool.required else "optional"
            yield f"{tool.name} ({need}, {tool.purpose}): {tool.remedy}"


def _lanes(design: Design) -> str:
    found = {design.lanes_at(unit.name) for unit in design.units}
    return ", ".join(map(str, sorted(found)))


def design_tables(design: Design) -> Iterator[RenderableType]:
    """Units and channels of a circuit."""
    yield (
        f"{design.name}: {_lanes(design)} lanes, memory port of {design.bus.data_bits} bits, "
        f"addresses of {design.bus.address_bits}"
    )
    units = [
        (u.name, u.kind, _params(u.params), _ports(u.inputs), _ports(u.outputs))
        for u in design.units
    ]
    yield table("Units", "unit", "kind", "parameters", "reads", "writes", rows=units, left=5)
    if design.fused:
        yield table("Fused", "operator", "is part of", rows=design.fused.items(), left=2)
    yield _memory_table(design)
    channels = [_channel_row(c) for c in design.channels]
    headings = ["carries", "memory", "depth", "latency", "bits"]
    yield table("Channels", "channel", *headings, rows=channels, left=3)
    if design.regions:
        regions = [
            (
                name,
                f"{r.element} {r.rows}x{r.cols}",
                f"{r.tile[0]}x{r.tile[1]}",
                hex(r.base),
                r.size,
            )
            for name, r in design.regions.items()
        ]
        headings = ["matrix", "tiles", "address", "bytes"]
        yield table("Off-chip memory", "tensor", *headings, rows=regions, left=3)


def _memory_table(design: Design) -> Table:
    """What each unit got of the on-chip memory, and all FIFOs between them."""
    inside = {(u.name, u.kind): unit_bits(u, design) for u in design.units}
    rows: list[tuple[Any, ...]] = [(*who, bits) for who, bits in inside.items() if bits]
    rows.append(("FIFOs", "", sum(c.memory_bits for c in design.channels)))
    rows.append(("together", "", on_chip_bits(design)))
    shares = [(*row, f"{row[-1] / KIB:,.2f}") for row in rows]
    return table("On-chip memory", "unit", "kind", "bits", "KiB", rows=shares, left=2)


def _params(params: UnitParams) -> str:
    return ", ".join(f"{name}={_param(value)}" for name, value in params.summary().items())


def _param(value: Any) -> str:
    """A parameter as text; of records within it only what was said."""
    if isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
        return " ".join(_param(item) for item in value)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return str(value)
    said = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    defaults = {f.name: f.default for f in dataclasses.fields(value)}
    shown = {k: v for k, v in said.items() if v is not None and v != defaults[k]}
    return f"({', '.join(f'{name}={_param(item)}' for name, item in shown.items())})"


def _ports(channels: Mapping[str, str]) -> str:
    return " ".join(f"{port}={name}" for port, name in channels.items())


def _channel_row(c: Channel) -> tuple[Any, ...]:
    carries = c.carries if c.rank is None else f"{c.carries}, rank {c.rank}"
    return (c.name, carries, c.memory, c.depth, c.latency, c.depth * c.stored.width)


def shorten(expr: Expr) -> str:
    """A symbolic cost for a table: long sums are cut to their first terms."""
    if len(expr.terms) <= LONGEST_SUM + 1:
        return str(expr)
    terms = sorted((str(Expr({m: n})) for m, n in expr.terms.items()), key=lambda t: (len(t), t))
    shown = " + ".join(terms[:LONGEST_SUM])
    return f"{shown} + {len(terms) - LONGEST_SUM} more"


@dataclasses.dataclass(frozen=True)
class CostRow:
    """One row of the table of costs: an operator, or the total."""

    name: str
    uses: int
    traffic: Expr
    memory: Expr
    flops: Expr


def costs_table(policy: str, rows: Iterable[CostRow], *, bits: bool = False) -> Table:
    """Symbolic costs by one accounting model, memory in bytes or in bits."""
    held, unit = ("on-chip bits", 8) if bits else ("on-chip bytes", 1)
    lines = [(r.name, r.uses, *map(shorten, (r.traffic, unit * r.memory, r.flops))) for r in rows]
    headings = ("operator", "uses", "off-chip bytes", held, "operations")
    return table(f"Costs, accounting model {policy}", *headings, rows=lines)


def dims_line(dims: Mapping[str, int]) -> str:
    """The values of dims that numbers are computed with."""
    shown = ", ".join(f"{k} = {v}" for k, v in list(dims.items())[:MOST_DIMS])
    more = f" and {len(dims) - MOST_DIMS} more" if len(dims) > MOST_DIMS else ""
    return f"where {shown}{more}"


def units_table(units: Sequence[Mapping[str, Any]]) -> RenderableType:
    """States of the units over a run; with many units, one row per kind."""
    if len(units) > MOST_UNITS:
        return _kinds_table(units)
    lines = [
        (u["unit"], u["does"], u["busy"], *(percent(u[f"{s}_share"]) for s in STATES))
        for u in units
    ]
    headings = ("unit", "actor", "busy cycles", *STATES)
    return _narrow("Units", headings, lines, names=0)


def _narrow(
    title: str, headings: Sequence[str], rows: Sequence[Sequence[Any]], *, names: int
) -> RenderableType:
    """A table that fits into a terminal; names of the column `names` are folded for it."""

    def made(width: int) -> Table:
        folded = [
            [_folded(str(value), width) if at == names else value for at, value in enumerate(row)]
            for row in rows
        ]
        found = table(title, *headings, rows=folded, left=2)
        found.collapse_padding, found.pad_edge = True, False
        if names > 1:
            found.padding = (0, 0, 0, 0)
        for column in found.columns:
            column.no_wrap = True
        return found

    def wide(one: Table) -> int:
        return Measurement.get(console, console.options, one).maximum

    console = Console(width=10 * COLUMNS)
    longest = max((len(str(row[names])) for row in rows), default=0)
    excess = max(0, wide(made(longest)) - COLUMNS)
    fitting = made(max(LEAST_NAME, longest - excess))
    return Constrain(fitting, max(COLUMNS, wide(fitting)))


def _folded(name: str, width: int) -> str:
    """A name in lines, which end between its words unless one is longer than a line."""
    lines = [""]
    words = re.findall(r"[^_.]*[_.]*", name)
    parts = [w[at : at + width] for w in words for at in range(0, len(w), width)]
    for word in parts:
        if lines[-1] and len(lines[-1] + word) > width:
            lines.append("")
        lines[-1] += word
    return "\n".join(lines)


def _kinds_table(units: Sequence[Mapping[str, Any]]) -> RenderableType:
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for unit in units:
        groups.setdefault((unit["kind"], unit["does"]), []).append(unit)
    lines = []
    for key, group in groups.items():
        busiest = max(group, key=lambda u: u["busy"])
        means = (sum(u[f"{s}_share"] for u in group) / len(group) for s in STATES)
        most = percent(busiest["busy_share"])
        lines.append((*key, len(group), *map(percent, means), busiest["unit"], most))
    headings = ("actor", "units", *STATES, "busiest", "busy")
    return _narrow("Kinds of units, shares on average", ("kind", *headings), lines, names=6)


_DEMO_ROWS = (
    ("cycles predicted", "cycles_predicted"),
    ("cycles in the RTL", "cycles_rtl"),
    ("off-chip bytes, by formula", "off_chip_bytes_symbolic"),
    ("off-chip bytes, on the bus of the RTL", "off_chip_bytes_bus"),
    ("on-chip bits, from the design table", "on_chip_bits_predicted"),
    ("on-chip bits, allocated by the circuit", "on_chip_bits_allocated"),
)
_COMPARED_ROWS = (
    ("handshakes compared, cycle by cycle", "cycles"),
    ("values checked (bytes of memory after the run)", "memory"),
    ("counters compared", "counters"),
)


def demo_table(names: Sequence[str], columns: Sequence[Mapping[str, Any]]) -> Table:
    """Runs in columns."""
    rows: list[list[Any]] = [[label, *(c[key] for c in columns)] for label, key in _DEMO_ROWS]
    label = f"occupancy of the {columns[0]['matrix_units']} matrix units"
    rows.append([label, *(percent(c["matrix_occupancy"]) for c in columns)])
    rows += [[label, *(c["compared"][key] for c in columns)] for label, key in _COMPARED_ROWS]
    rows.append(["verdict", *(verdict(c["good"]) for c in columns)])
    return table("Mixture of experts", "", *(f"{n} tiles" for n in names), rows=rows)
