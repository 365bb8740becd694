"""The design table: units, channels and depths as pure data.

One table drives the Amaranth elaboration, the cycle model, the symbolic ``hardware`` metrics and
every report. It depends on neither graphs, circuits nor timing.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from stepgen.hw.design import older
from stepgen.hw.design.bus import Bus as Bus
from stepgen.hw.design.bus import Region as Region
from stepgen.hw.design.bus import width_of as width_of
from stepgen.hw.design.channel import BLOCKRAM as BLOCKRAM
from stepgen.hw.design.channel import LEAST_DEPTH as LEAST_DEPTH
from stepgen.hw.design.channel import LUTRAM as LUTRAM
from stepgen.hw.design.channel import MEMORY_LATENCY as MEMORY_LATENCY
from stepgen.hw.design.channel import Channel as Channel
from stepgen.hw.design.channel import memory_kind as memory_kind
from stepgen.hw.design.counting import CHANNELS, counting
from stepgen.hw.design.epilogue import Epilogue
from stepgen.hw.design.params import UnitParams, params_from
from stepgen.hw.design.restop import Restop, misplaced
from stepgen.ir.arguments import take_fields
from stepgen.ir.errors import StepError
from stepgen.ir.lanes import OTHERS, Lanes
from stepgen.ir.records import parsed, record, written
from stepgen.ir.versions import stamped, unstamped

FORMAT = 1
"""Version of the table's text form."""

ESTIMATE = "estimate"
"""Field beside those of a table for what its design takes, which reading passes over."""

MOST_MEMORY_BITS = 1 << 32
"""Greatest memory of one unit in bits: more than any FPGA has on chip."""


class DesignError(StepError):
    """A design table that contradicts itself."""


def index_bits(count: int) -> int:
    """Bits of an index below `count`, at least 1."""
    return max(1, (count - 1).bit_length())


K = TypeVar("K", bound=UnitParams)


@dataclass(frozen=True)
class Unit:
    """One hardware unit.

    Parameters
    ----------
    name : str
        Unique in the design.
    params : UnitParams
        Its kind and its parameters.
    inputs, outputs : mapping of str to str
        By port, the name of its channel; in the order of the ports.
    origin : str
        Name of the program's node that it implements; empty for units that nodes share.
    epilogue : Epilogue, optional
        A function of what leaves by one of its outputs.
    restops : tuple of Restop
        What rewrites stops of its outputs, in order.

    Raises
    ------
    StepError
        If the ports are not those of the kind.
    """

    name: str
    params: UnitParams
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    origin: str = ""
    epilogue: Epilogue | None = None
    restops: tuple[Restop, ...] = ()

    def __post_init__(self) -> None:
        for side in ("inputs", "outputs"):
            ports, given = getattr(self.params, side), getattr(self, side)
            if set(ports) != set(given):
                raise StepError(
                    f"unit {self.name}: the {side} of a {self.kind} are {_listed(ports)}, not "
                    f"{_listed(given)}"
                )
            object.__setattr__(self, side, {port: given[port] for port in ports})

    @classmethod
    def in_order(
        cls, name: str, params: UnitParams, inputs: Sequence[str] = (), outputs: Sequence[str] = ()
    ) -> Unit:
        """A unit whose channels are given in the order of its ports."""
        given = dict(zip(params.inputs, inputs, strict=True))
        return cls(name, params, given, dict(zip(params.outputs, outputs, strict=True)))

    @property
    def kind(self) -> str:
        """Name of its kind."""
        return self.params.kind

    def to_record(self) -> dict[str, object]:
        """The row as JSON values."""
        row: dict[str, object] = {
            "name": self.name,
            "kind": self.kind,
            "params": dataclasses.asdict(self.params),
            "inputs": dict(self.inputs),
            "outputs": dict(self.outputs),
            "origin": self.origin,
        }
        if self.epilogue:
            row["epilogue"] = self.epilogue.to_record()
        if self.restops:
            row["restops"] = [restop.to_record() for restop in self.restops]
        return row

    @classmethod
    def from_record(cls, data: Any, what: str) -> Unit:
        """The row from JSON values, which came from `what`.

        Raises
        ------
        StepError
            If a field is missing, unknown or of another type, or there is no such kind.
        """
        row = record(older.unit(data), _Row, what)
        of = f"{what}: the params of the {row.kind} {row.name}"
        params = params_from(row.kind, row.params, of)
        own = f"{what}: the epilogue of {row.name}"
        epilogue = None if row.epilogue is None else Epilogue.from_record(row.epilogue, own)
        said = f"{what}: the stops of {row.name}"
        restops = tuple(Restop.from_record(restop, said) for restop in row.restops)
        return cls(row.name, params, row.inputs, row.outputs, row.origin, epilogue, restops)


@dataclass(frozen=True)
class _Row:
    """A unit in a file."""

    name: str
    kind: str
    params: Mapping[str, Any]
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    origin: str = ""
    epilogue: Mapping[str, Any] | None = None
    restops: tuple[Mapping[str, Any], ...] = ()


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


@dataclass(frozen=True)
class Design:
    """Design table: units, channels and memory map, complete and checked.

    Attributes
    ----------
    fused : mapping of str to str
        By operator that is part of another's unit, the name of that unit.
    lanes_of : mapping of str to int
        By unit the lanes of its beats, where they are not `lanes`.
    counters : str
        Which channels are counted, see `stepgen.hw.design.counting`.

    Raises
    ------
    DesignError
        If a channel has not exactly one producer and one consumer, a name occurs twice, a region
        ends beyond the addresses of the bus, or a unit does not fit its channels.
    """

    name: str
    lanes: int
    bus: Bus
    units: tuple[Unit, ...]
    channels: tuple[Channel, ...]
    regions: Mapping[str, Region] = field(default_factory=dict)
    fused: Mapping[str, str] = field(default_factory=dict)
    lanes_of: Mapping[str, int] = field(default_factory=dict)
    counters: str = CHANNELS

    def __post_init__(self) -> None:
        take_fields(self)
        object.__setattr__(self, "counters", counting(self.counters))
        for what, names in (
            ("channels", [c.name for c in self.channels]),
            ("units", [u.name for u in self.units]),
        ):
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise self._wrong(f"two {what} are called {twice}")
        for role, table in (("consumer", self.consumers), ("producer", self.producers)):
            for channel in self.channels:
                if channel.name not in table:
                    raise self._wrong(f"channel {channel.name} has no {role}")
        for name, region in self.regions.items():
            if width_of(region.end) > self.bus.address_bits:
                raise self._wrong(
                    f"tensor {name} of {region.size} bytes at {region.base} "
                    f"does not fit into addresses of {self.bus.address_bits} bits"
                )
        for unit in self.units:
            if unit.epilogue and (problem := self._misplaced(unit, unit.epilogue)):
                raise self._wrong(f"{unit.kind} {unit.name}: its epilogue {problem}")
            if problem := misplaced(unit, self.channel):
                raise self._wrong(f"{unit.kind} {unit.name} {problem}")
            if problem := unit.params.problem(unit, self.seen_by(unit)):
                raise self._wrong(f"{unit.kind} {unit.name}: {problem}")

    def _misplaced(self, unit: Unit, epilogue: Epilogue) -> str | None:
        """Why an epilogue can't be behind a unit, or None."""
        if epilogue.port not in unit.outputs:
            return f"is behind {epilogue.port}, which is not an output"
        channel = self.channel[unit.outputs[epilogue.port]]
        return epilogue.problem(channel, self.lanes_at(unit.name))

    def _wrong(self, problem: str) -> DesignError:
        return DesignError(f"design {self.name}: {problem}")

    def _ends(self, side: str) -> dict[str, Unit]:
        ends: dict[str, Unit] = {}
        names = {c.name for c in self.channels}
        for unit in self.units:
            for name in getattr(unit, side).values():
                if name in ends or name not in names:
                    what = "is used twice" if name in ends else "is not in the table"
                    raise self._wrong(f"channel {name} of {unit.name} {what}")
                ends[name] = unit
        return ends

    @cached_property
    def consumers(self) -> dict[str, Unit]:
        """Consumer of each channel by name."""
        return self._ends("inputs")

    @cached_property
    def producers(self) -> dict[str, Unit]:
        """Producer of each channel by name."""
        return self._ends("outputs")

    @cached_property
    def channel(self) -> dict[str, Channel]:
        """Channels by name."""
        return {c.name: c for c in self.channels}

    def lanes_at(self, unit: str) -> int:
        """Lanes of the beats of a unit, by its name."""
        return self.lanes_of.get(unit, self.lanes)

    @property
    def lanes_of_operators(self) -> Lanes:
        """Lanes with which a program becomes this table."""
        if not self.lanes_of:
            return self.lanes
        found = {u.origin: self.lanes_at(u.name) for u in self.units if u.origin}
        fused = {operator: self.lanes_at(unit) for operator, unit in self.fused.items()}
        return {OTHERS: self.lanes, **found, **fused}

    def seen_by(self, unit: Unit) -> Design:
        """The table with the lanes of one unit, and its outputs as they leave it."""
        lanes, epilogue = self.lanes_at(unit.name), unit.epilogue
        if lanes == self.lanes and epilogue is None and not unit.restops:
            return self
        if unit.name not in self._seen:
            self._seen[unit.name] = self._as_seen_by(unit)
        return self._seen[unit.name]

    @cached_property
    def _seen(self) -> dict[str, Design]:
        """By unit, the table as the unit sees it."""
        return {}

    def _as_seen_by(self, unit: Unit) -> Design:
        lanes, epilogue = self.lanes_at(unit.name), unit.epilogue
        seen, table = copy.copy(self), {**self.channel}
        object.__setattr__(seen, "lanes", lanes)
        if epilogue is not None:
            name = unit.outputs[epilogue.port]
            table[name] = epilogue.before(table[name], lanes)
        for restop in reversed(unit.restops):
            name = unit.outputs[restop.port]
            table[name] = dataclasses.replace(table[name], rank=restop.rank)
        object.__setattr__(seen, "channel", table)
        object.__setattr__(seen, "_seen", {})
        return seen

    def of_kind(self, kind: type[UnitParams]) -> Iterator[Unit]:
        """Units of one kind, in table order."""
        return (unit for unit, _ in self.rows_of(kind))

    def rows_of(self, kind: type[K]) -> Iterator[tuple[Unit, K]]:
        """Units of one kind with their parameters, in table order."""
        return ((u, u.params) for u in self.units if isinstance(u.params, kind))

    def with_depths(self, depths: Mapping[str, int]) -> Design:
        """The same design with other FIFO depths, by channel name."""
        unknown = depths.keys() - self.channel.keys()
        if unknown:
            raise StepError(f"design {self.name} has no channel {sorted(unknown)[0]}")
        changed = {name: n for name, n in depths.items() if n != self.channel[name].depth}
        if not changed:
            return self
        deep = (
            dataclasses.replace(c, depth=changed[c.name]) if c.name in changed else c
            for c in self.channels
        )
        return dataclasses.replace(self, channels=tuple(deep))

    def to_record(self) -> dict[str, Any]:
        """The table as JSON values."""
        fields = dataclasses.asdict(dataclasses.replace(self, units=(), channels=()))
        fields["units"] = [unit.to_record() for unit in self.units]
        fields["channels"] = [dataclasses.asdict(channel) for channel in self.channels]
        if not self.lanes_of:  # as tables of one design always were
            del fields["lanes_of"]
        if self.counters == CHANNELS:  # as they were, too
            del fields["counters"]
        return fields

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the table, hexadecimal."""
        return record_hash(self.to_record())

    def _repr_html_(self) -> str:
        """A picture, for notebooks."""
        from stepgen.hw.picture import design_svg

        drawn: str = design_svg(self)
        return drawn

    def to_json(self) -> str:
        """The table as text."""
        return written(stamped(FORMAT, self.to_record()), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Design:
        """The table that `to_json` wrote.

        Raises
        ------
        StepError
            If the text is not a design table or of a newer format, or the table is inconsistent.
        """
        with unstamped(parsed(text, "the design"), FORMAT, "the design") as fields:
            own = {name: value for name, value in fields.items() if name != ESTIMATE}
            return record(own, cls, "the design")


def record_hash(fields: Mapping[str, Any]) -> str:
    """SHA-256 of JSON values, however they are laid out as text."""
    text = written(fields, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
