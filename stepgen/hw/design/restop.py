"""Stop levels that are rewritten on the way from a unit to the FIFO behind it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stepgen.hw.design.params import UnitParams, params_from
from stepgen.ir.records import record

if TYPE_CHECKING:
    from stepgen.hw.design.pace import Extents, Part
    from stepgen.hw.design.table import Channel, Unit


@dataclass(frozen=True)
class Restop:
    """Stop levels of an output are rewritten: a beat for each beat, which takes no cycle.

    Parameters
    ----------
    port : str
        The unit's output.
    before : str
        Name of the channel that a unit of its own would read.
    rank : int
        Highest wire stop level that leaves the unit.
    params : UnitParams
        Of the unit that would rewrite them by itself.
    """

    port: str
    before: str
    rank: int
    params: UnitParams

    def to_record(self) -> dict[str, object]:
        """The rewriting as JSON values."""
        return dataclasses.asdict(self) | {"kind": self.params.kind}

    @classmethod
    def from_record(cls, data: Mapping[str, Any], what: str) -> Restop:
        """The rewriting from JSON values, which came from `what`.

        Raises
        ------
        StepError
            If a field is missing, unknown or of another type, or there is no such kind.
        """
        row = record(dict(data), _Row, what)
        params = params_from(row.kind, row.params, f"the params of {what}")
        return cls(row.port, row.before, row.rank, params)


@dataclass(frozen=True)
class _Row:
    """A rewriting in a file."""

    port: str
    before: str
    rank: int
    kind: str
    params: Mapping[str, Any]


@dataclass(frozen=True)
class Levels:
    """What becomes of wire levels.

    Attributes
    ----------
    rank : int
        The highest stop level afterwards.
    stops, empty : tuple of int
        By level, that of a stop, and that of the group of an empty token.
    """

    rank: int
    stops: tuple[int, ...]
    empty: tuple[int, ...]


def levels_of(restops: Sequence[Restop]) -> Levels:
    """What becomes of the levels of an output, by rewritings one after the other."""
    rank = restops[0].rank
    stops = empty = tuple(range(rank + 1))
    for restop in restops:
        made = restop.params.rewritten(rank)
        assert made is not None  # checked where the table is made
        rank = made.rank
        stops = tuple(made.stops[level] for level in stops)
        empty = tuple(made.empty[level] for level in empty)
    return Levels(rank, stops, empty)


def misplaced(unit: Unit, channels: Mapping[str, Channel]) -> str | None:
    """Why stop levels of the outputs of a unit can't be rewritten so, or None."""
    ranks: dict[str, int] = {}
    for restop in unit.restops:
        if restop.port not in unit.outputs:
            return f"rewrites stops of {restop.port}, which is not an output"
        rank = ranks.get(restop.port, restop.rank)
        made = restop.params.rewritten(rank)
        if rank != restop.rank or made is None:
            return f"can't rewrite stops of {restop.port} as a {restop.params.kind} at rank {rank}"
        ranks[restop.port] = made.rank
    for port, rank in ranks.items():
        channel = channels[unit.outputs[port]]
        if channel.rank != rank:
            return f"makes stops of rank {rank} at {port}, but {channel.name} has {channel.rank}"
    return None


def parts_of(unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
    """The actors of a unit, with what is rewritten behind it."""
    first = {restop.port: restop.before for restop in reversed(unit.restops)}
    bare = dataclasses.replace(unit, outputs={**unit.outputs, **first}, restops=())
    made = unit.params.parts(bare, extents)
    for port, name in unit.outputs.items():
        path = [restop for restop in unit.restops if restop.port == port]
        names = [*(restop.before for restop in path), name]
        for restop, x, y in zip(path, names, names[1:], strict=False):
            (step,) = restop.params.parts(_alone(restop.params, x, y), extents)
            made = [p.behind(x, y, step, extents[x]) if x in p.outputs else p for p in made]
    return made


def _alone(params: UnitParams, x: str, y: str) -> Unit:
    from stepgen.hw.design.table import Unit

    return Unit.in_order("", params, [x], [y])
