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
    fusion = _Fusion(units, channels, kept, extents, lanes_at)
    for step in (_pcus, _join, _rewrite, _branch, _append):
        for name in list(fusion.rows):
            if name in fusion.rows:
                step(fusion, name)
    return list(fusion.rows.values()), fusion.channels, fusion.gone.fused()


class _Fusion:
    """Units and channels on the way.

    Attributes
    ----------
    rows : dict of str to Unit
        By name.
    channels : dict of str to Channel
    gone : _Gone
    extents : dict of str to Extents
    """

    def __init__(
        self,
        units: Sequence[Unit],
        channels: Mapping[str, Channel],
        kept: Collection[str],
        extents: dict[str, Extents],
        lanes_at: Mapping[str, int],
    ) -> None:
        self.rows = {unit.name: unit for unit in units}
        self.channels, self.gone, self.extents = dict(channels), _Gone(units), extents
        self._kept, self._lanes_at = kept, lanes_at
        self._made_by = {c: unit.name for unit in units for c in unit.outputs.values()}

    def before(self, channel: str, unit: Unit) -> Unit | None:
        """The unit that writes a channel, if it may become one with the unit that reads it."""
        found = self.rows.get(self._made_by.get(channel, ""))
        if found is None or found is unit or channel in self._kept:
            return None
        return found if self._lanes_at[found.name] == self._lanes_at[unit.name] else None

    def changed(self, unit: Unit, through: str) -> None:
        """Replace a unit; a channel that it wrote before is gone."""
        self.rows[unit.name] = unit
        self._made_by |= dict.fromkeys(unit.outputs.values(), unit.name)
        del self.channels[through]

    def drop(self, unit: Unit, into: str) -> None:
        """Remove a unit that has become part of another one."""
        self.gone.add(self.rows.pop(unit.name), into)

    def behind(self, x: str, y: str, delay: int, *, deeper: bool = False) -> None:
        """Have the channel `y` follow what `x` followed, after a pipeline of so many cycles.

        It is as deep as the deeper one of the two, or as both.
        """
        depths = self.channels[x].depth, self.channels[y].depth
        depth = sum(depths) if deeper else max(depths)
        self.channels[y] = replace(self.channels[y], depth=depth).pipelined(delay)


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


def _pcus(fusion: _Fusion, name: str) -> None:
    """Join a PCU with those that write its operands."""
    for port, channel in reversed([*fusion.rows[name].inputs.items()]):
        outer = fusion.rows[name]
        inner = fusion.before(channel, outer)
        if inner is None or not isinstance(inner.params, Pcu) or not isinstance(outer.params, Pcu):
            continue
        at = outer.params.inputs.index(port)
        params = joined(outer.params, at, inner.params)
        if params is None:
            continue
        reads = [*outer.inputs.values()]
        reads[at : at + 1] = inner.inputs.values()
        (y,) = outer.outputs.values()
        made = replace(Unit.in_order(name, params, reads, [y]), origin=outer.origin)
        fusion.changed(made, channel)
        fusion.behind(y, y, params.delay(fusion.channels[y].lanes))
        fusion.drop(inner, name)
        fusion.gone.operators[inner.origin] = name


def _join(fusion: _Fusion, name: str) -> None:
    """Have a unit do what the one in front of it does, too."""
    outer = fusion.rows[name]
    if len(outer.inputs) != 1:
        return
    (x,) = outer.inputs.values()
    inner = fusion.before(x, outer)
    if inner is None or len(inner.inputs) != 1 or len(inner.outputs) != 1:
        return
    rank = fusion.channels[next(iter(inner.inputs.values()))].rank
    params = None if rank is None else outer.params.behind(inner.params, rank)
    if params is None:
        return
    fusion.changed(replace(outer, params=params, inputs=inner.inputs), x)
    fusion.drop(inner, name)


def _rewrite(fusion: _Fusion, name: str) -> None:
    """Have the unit before one that only rewrites stops send rewritten ones."""
    outer, channels = fusion.rows[name], fusion.channels
    params, inputs = outer.params, [*outer.inputs.values()]
    rank = channels[inputs[0]].rank if len(inputs) == 1 else None
    if rank is None or params.rewritten(rank) is None or params.swallows(fusion.extents[inputs[0]]):
        return
    (x,), (y,) = inputs, outer.outputs.values()
    unit = fusion.before(x, outer)
    if unit is None or isinstance(unit.params, Source) or channels[x].lanes != channels[y].lanes:
        return
    port = _port(unit, x)
    restops = (*unit.restops, Restop(port, x, rank, params), *_behind(port, outer))
    fusion.behind(x, y, channels[x].delay)
    fusion.drop(outer, unit.name)
    fusion.changed(replace(unit, outputs={**unit.outputs, port: y}, restops=restops), x)


def _branch(fusion: _Fusion, name: str) -> None:
    """Have a unit write to all branches of the fork behind it."""
    fork = fusion.rows[name]
    if not isinstance(fork.params, Fork):
        return
    (x,) = fork.inputs.values()
    unit = fusion.before(x, fork)
    params = None
    if unit is not None and not unit.epilogue:
        params = unit.params.branched(fork.params.branches)
    if unit is None or params is None:
        return
    outputs = dict(zip(params.outputs, fork.outputs.values(), strict=True))
    restops: list[Restop] = []
    for port, y in outputs.items():
        for restop in unit.restops:
            # Names of what is rewritten are those of streams, of which each output has its own.
            before = f"{restop.before}_to_{y}"
            fusion.extents[before] = fusion.extents[restop.before]
            restops.append(replace(restop, port=port, before=before))
        restops += [restop for restop in fork.restops if restop.port == port]
        # The beats in front of the fork let others pass at a partition further ahead.
        fusion.behind(x, y, fusion.channels[x].delay, deeper=True)
    fusion.drop(fork, unit.name)
    fusion.changed(replace(unit, params=params, outputs=outputs, restops=tuple(restops)), x)


def _append(fusion: _Fusion, name: str) -> None:
    """Make a PCU the epilogue of the unit that writes its operand, if that has none."""
    outer, channels = fusion.rows[name], fusion.channels
    params = outer.params
    if not isinstance(params, Pcu) or len(params.operands) > 1 or any(params.broadcast):
        return
    (x,), (y,) = outer.inputs.values(), outer.outputs.values()
    unit = fusion.before(x, outer)
    if unit is None or unit.epilogue or isinstance(unit.params, Source):
        return
    before, after = channels[x], channels[y]
    if not before.lanes or not after.lanes:
        return
    port = _port(unit, x)
    epilogue = Epilogue(port, before.element, before.bits, params)
    outputs, restops = {**unit.outputs, port: y}, (*unit.restops, *_behind(port, outer))
    fusion.behind(x, y, before.delay + epilogue.delay(after.lanes))
    fusion.drop(outer, unit.name)
    fusion.changed(replace(unit, outputs=outputs, epilogue=epilogue, restops=restops), x)


def _port(unit: Unit, channel: str) -> str:
    """The output of a unit that writes a channel."""
    return next(port for port, name in unit.outputs.items() if name == channel)


def _behind(port: str, unit: Unit) -> list[Restop]:
    """What rewrites the stops of a unit of one output, once it is part of another's output."""
    return [replace(restop, port=port) for restop in unit.restops]
