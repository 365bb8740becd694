"""Lowering of a system: the tables of its parts become one, with links between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from stepgen.compile.budget import Budget
from stepgen.compile.connected import Connected
from stepgen.compile.lower import Lowering, lower
from stepgen.compile.memories import Stored
from stepgen.compile.memories import lowered as chosen
from stepgen.compile.memory_map import number_bits_of, place_tensors, widened
from stepgen.compile.rereading import reread
from stepgen.compile.unzip import unzipped
from stepgen.hw.design.sharing import USUAL, sharing
from stepgen.hw.design.table import Bus, Design, Region, Unit
from stepgen.hw.units.link.params import Link
from stepgen.hw.units.loader.params import Loader
from stepgen.ir.dtypes import Tile
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.lanes import Lanes
from stepgen.ir.system import SystemGraph
from stepgen.ir.wire import LANES, wire_levels


def lowered(
    graph: Graph,
    *,
    lanes: Lanes = LANES,
    bus: Bus | None = None,
    depths: Mapping[str, int] | None = None,
    fuse: bool = True,
    onchip: float | Budget | None = None,
    loaders: str = USUAL,
) -> Design:
    """Lower a program, or a system of several, to one design table.

    The parts of a system keep their units and lanes; memory port, registers, start and end are
    common, so one count of cycles goes for all. Depths exclude deadlocks of the whole system.

    Parameters
    ----------
    graph : Graph
    lanes, bus, depths, fuse, onchip, loaders
        As for `stepgen.compile.lower.lower`; the parts of a system have lanes of their own.

    Raises
    ------
    StepError
        As of `stepgen.compile.lower.lower`, or if the memory of a system is to be bounded.
    """
    if not isinstance(graph, SystemGraph):
        return lower(
            graph,
            lanes=lanes,
            bus=bus,
            depths=depths,
            fuse=fuse,
            onchip=onchip,
            loaders=loaders,
        )
    if onchip is not None:
        raise StepError(
            f"on-chip memory is bounded for one program at a time, and {graph.name} is a system"
        )
    return _lowered(graph, bus or Bus(), depths or {}, fuse, sharing(loaders))


def _lowered(
    system: SystemGraph, bus: Bus, depths: Mapping[str, int], fuse: bool, loaders: str
) -> Design:
    regions: dict[str, dict[str, Region]] = {}
    every: dict[str, Region] = {}
    for part, graph in system.parts.items():
        regions[part] = place_tensors(graph, every)
        every |= {f"{part}_{name}": region for name, region in regions[part].items()}
    port = widened(bus, every)
    # One width for all, so that addresses may go from part to part.
    bits = max(number_bits_of(graph) for part, graph in system.parts.items())
    whole: Connected | None = None
    for part, graph in system.parts.items():
        plain, stand_ins = unzipped(graph)
        plain, others = reread(plain)
        stand_ins |= others

        def rows(
            stored: Stored,
            part: str = part,
            plain: Any = plain,
            stand_ins: dict[str, str] = stand_ins,
        ) -> Lowering:
            lanes = system.lanes[part]
            lowering = Lowering(plain, lanes, port, regions[part], stand_ins, stored)
            lowering.loaders = loaders
            lowering.number_bits = bits
            for node in plain.nodes:
                lowering.lower(node)
            return lowering

        own = system.own(part, depths)
        one = _named(chosen(rows).connected(own, fuse=fuse), part)
        whole = one if whole is None else _together(whole, one)
    assert whole is not None
    for made, taken in system.links.items():
        whole = _linked(whole, system, made, taken)
    most = max(system.lanes.values())
    return whole.design(system.name, most, port, every, depths)


def _named(rows: Connected, part: str) -> Connected:
    """The rows of a part under their names in the system."""

    def named(name: str) -> str:
        return f"{part}_{name}"

    def ends(side: Mapping[str, str]) -> dict[str, str]:
        return {port: named(channel) for port, channel in side.items()}

    def keys(table: Mapping[str, Any], change: Callable[[Any], Any] = lambda x: x) -> Any:
        return {named(name): change(value) for name, value in table.items()}

    def unit(row: Unit) -> Unit:
        params: Any = row.params
        if hasattr(params, "region"):
            params = replace(params, region=named(params.region))
        if isinstance(params, Loader):
            params = replace(params, regions=tuple(map(named, params.regions)))
        origin = named(row.origin) if row.origin else ""
        name, inputs, outputs = named(row.name), ends(row.inputs), ends(row.outputs)
        return replace(
            row,
            name=name,
            params=params,
            inputs=inputs,
            outputs=outputs,
            origin=origin,
            restops=tuple(replace(r, before=named(r.before)) for r in row.restops),
        )

    return Connected(
        [unit(row) for row in rows.units],
        keys(rows.channels, lambda c: replace(c, name=named(c.name))),
        keys(rows.fused, named),
        keys(rows.nodes),
        keys(rows.extents),
        keys(rows.carried),
        {named(name) for name in rows.fed_back},
        [(named(req), named(data)) for req, data in rows.loads],
        [(named(req), named(data), named(ack)) for req, data, ack in rows.stores],
        rows.within,
        lanes_at=keys(rows.lanes_at),
    )


def _together(one: Connected, other: Connected) -> Connected:
    """The rows of both; the stores of the other are numbered behind those of the one."""
    return Connected(
        [*one.units, *other.units],
        {**one.channels, **other.channels},
        {**one.fused, **other.fused},
        {**one.nodes, **other.nodes},
        {**one.extents, **other.extents},
        {**one.carried, **other.carried},
        {*one.fed_back, *other.fed_back},
        [*one.loads, *other.loads],
        [*one.stores, *other.stores],
        [*one.within, *(len(one.stores) + n for n in other.within)],
        lanes_at={**one.lanes_at, **other.lanes_at},
    )


def _linked(rows: Connected, system: SystemGraph, made: str, taken: str) -> Connected:
    """The rows with a link in place of an output and of the input that it feeds."""
    sink, source = (next(u for u in rows.units if u.name == name) for name in (made, taken))
    (x,), (y,) = sink.inputs.values(), source.outputs.values()
    (before, stream), (after, _) = system.end(made), system.end(taken)
    params = Link()
    if isinstance(stream.dtype, Tile) and wire_levels(stream.dtype):
        columns = stream.dtype.cols.static
        assert columns is not None
        params = Link(system.lanes[before], system.lanes[after], columns)
    link = Unit(taken, params, {"x": x}, {"y": y}, source.origin)
    units = [link if u is source else u for u in rows.units if u is not sink]
    return replace(rows, units=units)
