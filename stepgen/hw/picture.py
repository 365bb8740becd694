"""The picture of a design: units as boxes, channels with the types of their streams as arrows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from stepgen.draw.alike import collapsed
from stepgen.draw.layout import lay_out
from stepgen.draw.picture import Arrow, Box, Picture, shaded
from stepgen.draw.svg import svg
from stepgen.hw.design.table import Design, Unit
from stepgen.hw.units.axi.params import Axi
from stepgen.hw.units.fork.params import Fork
from stepgen.hw.units.memory.params import Memory
from stepgen.ir.graph import Graph
from stepgen.ir.picture import type_lines
from stepgen.ir.system import programs


def design_picture(design: Design, graph: Graph | None = None) -> Picture:
    """The picture of a design; channels between the arbiter of the memory and its users are left
    out, since they would cross all others.

    Parameters
    ----------
    design : Design
    graph : Graph, optional
        The program or system that it was lowered from, for the types of its streams.
    """
    memories = {unit.name for unit in design.units if isinstance(unit.params, Memory)}
    ports = {unit.name for unit in design.units if isinstance(unit.params, Axi)}
    types = {} if graph is None else _types(graph)
    order = {unit.name: n for n, unit in enumerate(design.units) if unit.params.main}
    arrows = []
    for channel in design.channels:
        source = design.producers[channel.name].name
        target = design.consumers[channel.name].name
        ends = {source, target}
        if ends & memories and not ends & ports:
            continue
        carries = f"{channel.lanes}x{channel.bits} bits" if channel.bits else "no values"
        maker = design.producers[channel.name]
        copied = types.get(maker.origin) if isinstance(maker.params, Fork) else None
        lines = types.get(channel.name) or types.get(source) or copied or (carries,)
        behind = source in order and target in order and order[source] >= order[target]
        arrows.append(
            Arrow(
                source,
                target,
                channel.name,
                lines,
                alike=carries,
                tip=f"{channel.name}: {' '.join(lines)}, {carries}, depth {channel.depth}",
                back=behind and not ends & ports,
            )
        )
    return Picture(design.name, [_box(unit) for unit in design.units], arrows)


def design_svg(
    design: Design,
    graph: Graph | None = None,
    *,
    busy: Mapping[str, float] | None = None,
    what: str = "busy",
    marked: Collection[str] = (),
) -> str:
    """The picture of a design as SVG, with alike branches drawn once.

    Parameters
    ----------
    design, graph
        As for `design_picture`.
    busy : mapping of str to float, optional
        By unit, how much of its box is coloured, from 0 to 1.
    what : str
        What that is, for the tip.
    marked : collection of str
        Channels that stand out; alike branches are then drawn each.
    """
    drawn = design_picture(design, graph)
    arrows = [replace(a, look="marked" if a.name in marked else "") for a in drawn.arrows]
    drawn = replace(drawn, arrows=arrows)
    return svg(lay_out(shaded(drawn if marked else collapsed(drawn), busy or {}, what)))


def _box(unit: Unit) -> Box:
    """A dot where a stream forks, and where units only pass beats on."""
    inner = not unit.params.main and not isinstance(unit.params, Axi)
    lines = () if inner and len(unit.outputs) > 1 else (unit.name, unit.kind)
    look = "port" if not unit.inputs or not unit.outputs else ""
    if isinstance(unit.params, Memory | Axi):
        look = "memory"
    return Box(unit.name, lines, look, alike=unit.kind, tip=f"{unit.name}: {unit.kind}")


def _types(graph: Graph) -> dict[str, tuple[str, ...]]:
    """Types of streams, by name of the channel and, where there is one alone, of the node."""
    found: dict[str, tuple[str, ...]] = {}
    for prefix, program in programs(graph).items():
        for node in program.nodes:
            for stream in node.outputs:
                lines = type_lines(stream)
                found[f"{prefix}{node.name}_{stream.port}"] = lines
                if len(node.outputs) == 1:
                    found[f"{prefix}{node.name}"] = lines
    return found
