"""Fusion: PCUs one behind the other become one, and the FIFOs between them vanish."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ..hw.design.table import Channel, Unit
from ..hw.units.pcu.params import Pcu, joined


def fuse(
    units: Sequence[Unit], channels: Mapping[str, Channel], kept: Collection[str]
) -> tuple[list[Unit], dict[str, Channel], dict[str, str]]:
    """Join each PCU with those that write its operands, where these are not broadcast.

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
        A joined unit has the name and the place of its last one.
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
    return list(rows.values()), left, fused
