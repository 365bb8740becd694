"""Fusion: PCUs one behind the other become one, or the epilogue of the unit before them.

So do units that only rewrite stop levels, two of which one does the work, and forks behind a unit
that can write to several outputs. The FIFOs between them vanish.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from stepgen.hw.design.epilogue import Epilogue
from stepgen.hw.design.pace import Extents
from stepgen.hw.design.restop import Restop
from stepgen.hw.design.table import Channel, Unit
from stepgen.hw.units.fork.params import Fork
from stepgen.hw.units.pcu.params import Pcu, joined
from stepgen.hw.units.source.params import Source


def fuse(
    units: Sequence[Unit],
    channels: Mapping[str, Channel],
    kept: Collection[str],
    extents: dict[str, Extents],
    lanes_at: Mapping[str, int],
) -> tuple[list[Unit], dict[str, Channel], dict[str, str]]:
    """Join each PCU with those that write its operands, where these are not broadcast.

    A unit that does what the one in front of it does, too, takes its place. One that only rewrites
    stops, and then a PCU of one operand, becomes part of the unit that writes what it reads; so
    does a fork, if that can write to several outputs.

    Parameters
    ----------
    units : sequence of Unit
        Connected: a stream of several uses has a fork.
    channels : mapping of str to Channel
        By name.
    kept : collection of str
        Channels that stay.
    extents : dict of str to Extents
        The dims of every channel that is not raw; those of further names are added.
    lanes_at : mapping of str to int
        Lanes of the beats of each unit; those of others stay apart.

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
    left, gone = dict(channels), _Gone(units)
    for name in list(rows):
        for port, channel in reversed([*rows[name].inputs.items()]):
            inner, outer = rows.get(made_by.get(channel, "")), rows[name]
            if inner is None or inner is outer or channel in kept:
                continue
            if not isinstance(inner.params, Pcu) or not isinstance(outer.params, Pcu):
                continue
            if lanes_at[inner.name] != lanes_at[outer.name]:
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
            gone.add(inner, name)
            gone.operators[inner.origin] = name
    for name in list(rows):
        _join(rows, left, gone, made_by, kept, lanes_at, name)
    for name in list(rows):
        _rewrite(rows, left, gone, made_by, kept, extents, lanes_at, name)
    for name in list(rows):
        _branch(rows, left, gone, made_by, kept, extents, lanes_at, name)
    for name in list(rows):
        _append(rows, left, gone, made_by, kept, lanes_at, name)
    return list(rows.values()), left, gone.fused()


class _Gone:
    """Units that became part of others, and the operators of which no unit is left.

    Attributes
    ----------
    operators : dict of str to str
        By operator, the unit that it became part of, which may be gone itself.
    """

    def __init__(self, units: Sequence[Unit]) -> None:
        self.operators: dict[str, str] = {}
        self._into: dict[str, str] = {}
        self._left = Counter(unit.origin for unit in units)

    def add(self, unit: Unit, into: str) -> None:
        """Note that a unit became part of another one."""
        self._into[unit.name] = into
        self._left[unit.origin] -= 1
        if unit.origin and not self._left[unit.origin]:
            self.operators[unit.origin] = into

    def fused(self) -> dict[str, str]:
        """By operator, the unit that it is part of in the end."""
        found = {}
        for operator, unit in self.operators.items():
            while unit in self._into:
                unit = self._into[unit]
            found[operator] = unit
        return found


def _join(
    rows: dict[str, Unit],
    channels: dict[str, Channel],
    gone: _Gone,
    made_by: Mapping[str, str],
    kept: Collection[str],
    lanes_at: Mapping[str, int],
    name: str,
) -> None:
    """Have a unit do what the one in front of it does, too."""
    outer = rows[name]
    if len(outer.inputs) != 1:
        return
    (x,) = outer.inputs.values()
    inner = rows.get(made_by.get(x, ""))
    if inner is None or x in kept or len(inner.inputs) != 1 or len(inner.outputs) != 1:
        return
    rank = channels[next(iter(inner.inputs.values()))].rank
    params = None if rank is None else outer.params.behind(inner.params, rank)
    if params is None or lanes_at[inner.name] != lanes_at[name]:
        return
    rows[name] = replace(outer, params=params, inputs=inner.inputs)
    gone.add(rows.pop(inner.name), name)
    del channels[x]


def _rewrite(
    rows: dict[str, Unit],
    channels: dict[str, Channel],
    gone: _Gone,
    made_by: dict[str, str],
    kept: Collection[str],
    extents: Mapping[str, Extents],
    lanes_at: Mapping[str, int],
    name: str,
) -> None:
    """Have the unit before one that only rewrites stops send rewritten ones."""
    params, inputs = rows[name].params, [*rows[name].inputs.values()]
    rank = channels[inputs[0]].rank if len(inputs) == 1 else None
    if rank is None or params.rewritten(rank) is None or params.swallows(extents[inputs[0]]):
        return
    (x,) = inputs
    unit, (y,) = rows.get(made_by.get(x, "")), rows[name].outputs.values()
    if unit is None or isinstance(unit.params, Source) or x in kept:
        return
    before, after = channels[x], channels[y]
    if before.lanes != after.lanes or lanes_at[unit.name] != lanes_at[name]:
        return
    port = next(port for port, channel in unit.outputs.items() if channel == x)
    restops = (*unit.restops, Restop(port, x, rank, params), *_behind(port, rows[name]))
    rows[unit.name] = replace(unit, outputs={**unit.outputs, port: y}, restops=restops)
    made_by[y] = unit.name
    channels[y] = replace(after, depth=max(before.depth, after.depth)).pipelined(before.delay)
    gone.add(rows.pop(name), unit.name)
    del channels[x]


def _branch(
    rows: dict[str, Unit],
    channels: dict[str, Channel],
    gone: _Gone,
    made_by: dict[str, str],
    kept: Collection[str],
    extents: dict[str, Extents],
    lanes_at: Mapping[str, int],
    name: str,
) -> None:
    """Have a unit write to all branches of the fork behind it."""
    fork = rows[name]
    if not isinstance(fork.params, Fork):
        return
    (x,) = fork.inputs.values()
    unit = rows.get(made_by[x])
    if unit is None or unit.epilogue or x in kept or lanes_at[unit.name] != lanes_at[name]:
        return
    params = unit.params.branched(fork.params.branches)
    if params is None:
        return
    outputs = dict(zip(params.outputs, fork.outputs.values(), strict=True))
    restops: list[Restop] = []
    for port, y in outputs.items():
        for restop in unit.restops:
            # Names of what is rewritten are those of streams, of which each output has its own.
            before = f"{restop.before}_to_{y}"
            extents[before] = extents[restop.before]
            restops.append(replace(restop, port=port, before=before))
        restops += [restop for restop in fork.restops if restop.port == port]
        depth = max(channels[x].depth, channels[y].depth)
        channels[y] = replace(channels[y], depth=depth).pipelined(channels[x].delay)
        made_by[y] = unit.name
    rows[unit.name] = replace(unit, params=params, outputs=outputs, restops=tuple(restops))
    gone.add(rows.pop(name), unit.name)
    del channels[x]


def _behind(port: str, unit: Unit) -> list[Restop]:
    """What rewrites the stops of a unit of one output, once it is part of another's output."""
    return [replace(restop, port=port) for restop in unit.restops]


def _append(
    rows: dict[str, Unit],
    channels: dict[str, Channel],
    gone: _Gone,
    made_by: Mapping[str, str],
    kept: Collection[str],
    lanes_at: Mapping[str, int],
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
    if not before.lanes or not after.lanes or lanes_at[unit.name] != lanes_at[name]:
        return
    port = next(port for port, channel in unit.outputs.items() if channel == x)
    epilogue = Epilogue(port, before.element, before.bits, params)
    delay = before.delay + epilogue.delay(after.lanes)
    outputs = {**unit.outputs, port: y}
    restops = (*unit.restops, *_behind(port, rows[name]))
    rows[unit.name] = replace(unit, outputs=outputs, epilogue=epilogue, restops=restops)
    channels[y] = replace(after, depth=max(before.depth, after.depth)).pipelined(delay)
    gone.add(rows.pop(name), unit.name)
    del channels[x]
