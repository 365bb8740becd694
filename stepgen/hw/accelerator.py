"""A design table as a circuit: units, FIFOs, and the logic that starts and ends a run."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from functools import partial

from amaranth.lib.wiring import Component, In, Out

from stepgen.hw import private
from stepgen.hw.design.counting import counted
from stepgen.hw.design.restop import levels_of
from stepgen.hw.design.table import Channel, Design, Unit
from stepgen.hw.epilogue import EpilogueCore
from stepgen.hw.fifo import Fifo
from stepgen.hw.library import inline
from stepgen.hw.names import (
    EPILOGUE,
    FIFO,
    RESTOP,
    RUN_CONTROL,
    epilogue_name,
    fifo_name,
    restop_name,
    verilog_name,
)
from stepgen.hw.netlist import Net, Netlist, Placed, flat
from stepgen.hw.primitives import is_ecp5
from stepgen.hw.restop import RestopCore
from stepgen.hw.run_control import CYCLE_BITS, DETAIL_BITS, RunControl
from stepgen.hw.unit import UnitCore, core_of
from stepgen.hw.units.axi.params import Axi

__all__ = ["Accelerator", "face_name"]

ACCELERATOR = "accelerator"
NEIGHBOURS = 4
"""Units or FIFOs that share a reset where each is a register near them: flip-flops with different
resets can't share a slice, so with many resets placing takes longer."""
_FORM = [field.name for field in fields(Channel) if field.name != "name"]


class Accelerator(Netlist):
    """All units and channels of a design.

    Parameters
    ----------
    design : Design
        The table.
    part : callable
        How a unit, FIFO or lane is instantiated: `inline`, or as an instance from a `Library`.

    Members
    -------
    start : ``In(1)``
        Starts a run from the next cycle on.
    stop : ``In(1)``
        Soft reset: aborts the run, if there is one, and resets all units and channels once no
        burst is outstanding.
    running : ``Out(1)``
        High during a run; the first such cycle is cycle 0.
    stopping : ``Out(1)``
        High from a soft reset until the next run may start: no burst is issued, and the run lasts
        until all outstanding bursts are complete.
    done : ``Out(1)``
        High after a run that was not aborted, until the next start or soft reset.
    error : ``Out(units)``
        Bit per unit: in this run it saw input that the program rules out.
    detail : ``Out(32 units that report a cause)``
        By such unit, in order: the register ``detail`` of its error.
    cycle : ``Out(48)``
        Cycle of the run; after it, the number of its cycles.
    moves_in, moves_out : ``Out(channels)``
        Bit per channel, table order: a beat enters or leaves its FIFO in this cycle.
    busy, starved, full : ``Out(counted)``
        Bit per channel that is counted: a beat leaves its FIFO in this cycle; its head is empty; it
        has no free slot.
    <unit> : In or Out
        External ports of units, under the unit's name.
    """

    def __init__(self, design: Design, *, part=inline):
        self.design = design
        self.part = part
        self._known: dict[str, UnitCore] = {}
        self._cores = [self._like(unit) for unit in design.units]
        self.faces = {
            face_name(unit): member
            for unit, core in zip(design.units, self._cores, strict=True)
            for member in core.extra_ports().values()
        }
        self.reporting = [number for number, core in enumerate(self._cores) if core.details]
        count, counts = len(design.channels), len(counted(design))
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                "running": Out(1),
                "stopping": Out(1),
                "done": Out(1),
                "error": Out(len(design.units)),
                "detail": Out(DETAIL_BITS * len(self.reporting)),
                "cycle": Out(CYCLE_BITS),
                "moves_in": Out(count),
                "moves_out": Out(count),
                **dict.fromkeys(("busy", "starved", "full"), Out(counts)),
                **self.faces,
            }
        )

    def _like(self, unit: Unit) -> UnitCore:
        """The circuit of a unit or of an equal one, to read what it says of itself."""
        row = unit_row(unit, self.design)
        if row not in self._known:
            self._known[row] = self._core(unit)
            private.reused(self._known[row])
        return self._known[row]

    def _core(self, unit: Unit) -> UnitCore:
        core = core_of(unit, self.design.seen_by(unit))
        core.part = self.part
        return core

    def _parts(self, platform) -> Iterator[Placed]:
        """FIFOs, units with what stands behind them, and the logic that starts and ends a run.

        The nets of a channel are ``<channel>__w__…`` in front of its FIFO and ``<channel>__r__…``
        behind it, those of a unit ``<unit>__…``.
        """
        design = self.design
        places = len(design.channels) + len(design.units)
        sharing = NEIGHBOURS if is_ecp5(platform) else places
        resets = [f"reset__{place // sharing}" for place in range(places)]
        reset = iter(resets)
        for channel in design.channels:
            nets = _stream("w", f"{channel.name}__w") | _stream("r", f"{channel.name}__r")
            make, identity = partial(Fifo, channel), channel_identity(channel)
            yield Placed(fifo_name(channel), make, FIFO, identity, nets, next(reset))
        for unit, core in zip(design.units, self._cores, strict=True):
            nets = self._nets(unit, core)
            for port, name in unit.outputs.items():
                payload = f"{name}__w__payload"
                for part in reversed(parts_behind(unit, core, port, design.channel[name])):
                    before = f"{part.name}__x"
                    yield part.between(before, payload)
                    payload = before
                nets |= _stream(port, f"{name}__w") | {f"{port}__payload": payload}
            make, identity = partial(self._core, unit), unit_identity(core)
            yield Placed(verilog_name(unit.name), make, unit.kind, identity, nets, next(reset))
        yield self._run_control([*dict.fromkeys(resets)])

    def _nets(self, unit: Unit, core: UnitCore) -> dict[str, Net]:
        """What is at the ports of a unit, but for its outputs."""
        own = verilog_name(unit.name)
        nets: dict[str, Net] = {name: value for name, (_, value) in core.constants().items()}
        nets |= {name: f"{own}__{name}" for name in ("error", "detail", "finished", "under_way")}
        nets["running"] = "run__active"
        for port, name in unit.inputs.items():
            nets |= _stream(port, f"{name}__r")
        for port in core.extra_ports():
            for path, *_ in core.signature.flatten(core):
                if path[0] == port:
                    nets[flat(path)] = flat((face_name(unit), *path[1:]))
        return nets

    def _run_control(self, resets: list[str]) -> Placed:
        design, cores = self.design, self._cores
        own = [verilog_name(unit.name) for unit in design.units]
        ends = [name for name, core in zip(own, cores, strict=True) if core.finishes]
        sizes = len(own), len(design.channels), len(ends)
        rest = self.reporting, counted(design), len(resets)
        nets = {name: name for name in self.signature.members}
        nets |= {
            end: tuple(f"{channel.name}__{end[0]}__{end[2:]}" for channel in design.channels)
            for end in ("w_valid", "w_ready", "r_valid", "r_ready")
        }
        nets |= {
            "active": "run__active",
            "resets": tuple(resets),
            "errors": tuple(f"{name}__error" for name in own),
            "under_way": tuple(f"{name}__under_way" for name in own),
            "finished": tuple(f"{name}__finished" for name in ends),
            "details": tuple(f"{own[unit]}__detail" for unit in self.reporting),
        }
        make = partial(RunControl, *sizes, *rest)
        return Placed(RUN_CONTROL, make, RUN_CONTROL, [*sizes, *rest], nets)


def _stream(port: str, net: str) -> dict[str, Net]:
    """The nets of a stream at its ports."""
    return {f"{port}__{name}": f"{net}__{name}" for name in ("valid", "ready", "payload")}


def face_name(unit: Unit) -> str:
    """Name of the external port of a unit."""
    return "mem" if isinstance(unit.params, Axi) else verilog_name(unit.name)


def unit_row(unit: Unit, design: Design) -> str:
    """All that the circuits of a unit and of what stands behind it depend on."""
    seen = design.seen_by(unit)
    restops = [replace(restop, before="") for restop in unit.restops]
    row: list[object] = [unit.params, unit.epilogue, restops, seen.lanes, design.bus]
    for port, name in (*unit.inputs.items(), *unit.outputs.items()):
        row += [port, *(channel_identity(one.channel[name]) for one in (seen, design))]
    return repr(row)


def unit_identity(core):
    """All that the circuit of a unit depends on."""
    forms = {
        port: [channel_identity(channel), core.in_front_of_epilogue(port)]
        for port, channel in core.channels.items()
    }
    return [core.identity(), forms, core.design.lanes, asdict(core.design.bus)]


def channel_identity(channel: Channel):
    """All that the circuit of a FIFO depends on."""
    return {name: getattr(channel, name) for name in _FORM}


@dataclass(frozen=True)
class Behind:
    """A part between an output of a unit and the FIFO behind it, with the ports ``x`` and ``y``.

    Attributes
    ----------
    name : str
        Of its instance.
    make : callable
    kind : str
    identity : JSON value
        As for `Placed`.
    """

    name: str
    make: Callable[[], Component]
    kind: str
    identity: object

    def between(self, x: str, y: str) -> Placed:
        """In its place."""
        return Placed(self.name, self.make, self.kind, self.identity, {"x": x, "y": y})


def parts_behind(unit: Unit, core: UnitCore, port: str, after: Channel) -> list[Behind]:
    """What there is between an output of a unit and the FIFO behind it, in order.

    Parameters
    ----------
    unit : Unit
    core : UnitCore
        Its circuit, or that of an equal unit.
    port : str
    after : Channel
        The FIFO's.
    """
    before, path = core.channels[port], []
    between = replace(after, rank=before.rank)
    if core.in_front_of_epilogue(port):
        params, lanes = unit.epilogue.params, unit.epilogue.params.beat_lanes(core.design.lanes)
        make = partial(EpilogueCore, params.pipeline, before, between, lanes)
        forms = [channel_identity(before), channel_identity(between)]
        path.append(Behind(epilogue_name(unit), make, EPILOGUE, [asdict(params), *forms, lanes]))
    if restops := [restop for restop in unit.restops if restop.port == port]:
        levels = levels_of(restops)
        make = partial(RestopCore, levels, between, after)
        forms = [channel_identity(between), channel_identity(after)]
        path.append(Behind(restop_name(unit, port), make, RESTOP, [asdict(levels), *forms]))
    return path
