"""Fusion: PCUs one behind the other become one, or the epilogue of the unit before them.

The FIFOs between them vanish.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ..hw.design.epilogue import Epilogue
from ..hw.design.table import Channel, Unit
from ..hw.units.pcu.params import Pcu, joined
from ..hw.units.source.params import Source


def fuse(
    units: Sequence[Unit], channels: Mapping[str, Channel], kept: Collection[str]
) -> tuple[list[Unit], dict[str, Channel], dict[str, str]]:
    """Join each PCU with those that write its operands, where these are not broadcast.

    A PCU of one operand then becomes the epilogue of the unit that writes it.

    Parameters
    ----------
    units : sequence of Unit
        Connected: a stream of several uses has a fork.
    channels : mapping of str to Channel
        By name.
    kept : collection of str
        Channels that stay.

    Returns
    -------
    list of Unit
        Joined PCUs have the name and the place of the last one.
    dict of str to Channel
    dict of str to str
        By operator that is part of another's unit, the name of that unit.
    """
    rows = {unit.name: unit for unit in units}
    made_by = {c: unit.name for unit in units for c in unit.outputs.values()}
    left, fused = dict(channels), dict[str, str]()
    for name in list(rows):
        for port, channel in reversed([*rows[name].inputs.items()]):
            inner, outer = rows.get(made_by.get(channel, "")), rows[name]
            if inner is None or inner is outer or channel in kept:
                continue
            if not isinstance(inner.params, Pcu) or not isinstance(outer.params, Pcu):
                continue
            at = outer.params.inputs.index(port)
            params = joined(outer.params, at, inner.params)
            if params is None:
                continue
            reads = [*outer.inputs.values()]
            reads[at : at + 1] = inner.inputs.values()
            (y,) = outer.outputs.values()
            rows[name] = replace(Unit.in_order(name, params, reads, [y]), origin=outer.origin)
            left[y] = left[y].pipelined(params.delay(left[y].lanes))
            del rows[inner.name], left[channel]
            moved = {operator: name for operator, unit in fused.items() if unit == inner.name}
            fused |= moved | {inner.origin: name}
    for name in list(rows):
        _append(rows, left, fused, made_by, kept, name)
    return list(rows.values()), left, fused


def _append(
    rows: dict[str, Unit],
    channels: dict[str, Channel],
    fused: dict[str, str],
    made_by: Mapping[str, str],
    kept: Collection[str],
    name: str,
) -> None:
    """Make a PCU the epilogue of the unit that writes its operand, if that has none."""
    params = rows[name].params
    if not isinstance(params, Pcu) or len(params.operands) > 1 or any(params.broadcast):
        return
    (x,), (y,) = rows[name].inputs.values(), rows[name].outputs.values()
    unit = rows.get(made_by.get(x, ""))
    if unit is None or unit.epilogue or isinstance(unit.params, Source) or x in kept:
        return
    before, after = channels[x], channels[y]
    if not before.lanes or not after.lanes:
        return
    port = next(port for port, channel in unit.outputs.items() if channel == x)
    epilogue = Epilogue(port, before.element, before.bits, params)
    delay = before.delay + epilogue.delay(after.lanes)
    outputs = {**unit.outputs, port: y}
    rows[unit.name] = replace(unit, outputs=outputs, epilogue=epilogue)
    channels[y] = replace(after, depth=max(before.depth, after.depth)).pipelined(delay)
    moved = {operator: unit.name for operator, of in fused.items() if of == name}
    fused |= moved | {rows[name].origin: unit.name}
    del rows[name], channels[x]
