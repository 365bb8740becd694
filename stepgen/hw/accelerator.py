"""A design table as a circuit: units, FIFOs, and the logic that starts and ends a run."""

from dataclasses import asdict, replace

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.design.counting import counted
from stepgen.hw.design.registers import WORD
from stepgen.hw.design.restop import levels_of
from stepgen.hw.design.stages import RESET_LAG
from stepgen.hw.design.table import Channel, Design, Unit
from stepgen.hw.epilogue import EpilogueCore
from stepgen.hw.fifo import Fifo
from stepgen.hw.library import inline
from stepgen.hw.names import verilog_name
from stepgen.hw.primitives import resets
from stepgen.hw.restop import RestopCore
from stepgen.hw.stream import signature
from stepgen.hw.unit import core_of
from stepgen.hw.units.axi.params import Axi

__all__ = ["Accelerator", "face_name"]

CYCLE_BITS = 48
DETAIL_BITS = 8 * WORD
EPILOGUE, FIFO, RESTOP = "epilogue", "fifo", "restop"
"""Kinds of the circuits between units."""
NEIGHBOURS = 4
"""Units or FIFOs that share a reset."""


class Accelerator(wiring.Component):
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
        self.cores = {unit.name: core_of(unit, design.seen_by(unit)) for unit in design.units}
        for core in self.cores.values():
            core.part = part
        self.faces = {
            face_name(unit): member
            for unit in design.units
            for member in self.cores[unit.name].extra_ports().values()
        }
        self.reporting = [k for k, unit in enumerate(design.units) if self.cores[unit.name].details]
        count = len(design.channels)
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
                **dict.fromkeys(("busy", "starved", "full"), Out(len(counted(design)))),
                **self.faces,
            }
        )

    def elaborate(self, platform):
        m = Module()
        active = Signal()  # running and not stopping
        clear = Signal(1 + RESET_LAG)  # at last the parts are reset
        reset = resets(m, platform, clear[0], sharing=NEIGHBOURS)
        fifos = {channel.name: Fifo(channel) for channel in self.design.channels}
        for name, fifo in fifos.items():
            m.submodules[f"fifo_{name}"] = self.part(
                fifo, FIFO, channel_identity(fifo.channel), next(reset)
            )
        every = [*fifos.values()]
        counts = [every[number] for number in counted(self.design)]
        m.d.comb += [
            self.moves_in.eq(Cat(fifo.w.valid & fifo.w.ready for fifo in every)),
            self.moves_out.eq(Cat(fifo.r.valid & fifo.r.ready for fifo in every)),
            self.busy.eq(Cat(fifo.r.valid & fifo.r.ready for fifo in counts)),
            self.starved.eq(~Cat(fifo.r.valid for fifo in counts)),
            self.full.eq(~Cat(fifo.w.ready for fifo in counts)),
        ]

        finished = []
        for index, unit in enumerate(self.design.units):
            core = self.cores[unit.name]
            # The ends of FIFOs are the ports: fewer wires to elaborate, and no assignments.
            for port, name in unit.inputs.items():
                setattr(core, port, wiring.flipped(fifos[name].r))
            for port, name in unit.outputs.items():
                setattr(core, port, wiring.flipped(fifos[name].w))
            for port, name in unit.outputs.items():
                self._add_path(m, unit, port, core, fifos[name])
            m.submodules[verilog_name(unit.name)] = self.part(
                core, unit.kind, unit_identity(core), next(reset)
            )
            for name, (_, value) in core.constants().items():
                m.d.comb += getattr(core, name).eq(value)
            if face_name(unit) in self.faces:
                (face,) = core.extra_ports()
                wiring.connect(
                    m, wiring.flipped(getattr(self, face_name(unit))), getattr(core, face)
                )
            m.d.comb += core.running.eq(active)
            if core.details:
                place = self.reporting.index(index)
                with m.If(core.error):
                    m.d.sync += self.detail.word_select(place, DETAIL_BITS).eq(core.detail)
            if core.finishes:
                finished.append(core.finished)

        ends, clean = Signal(), Signal()
        m.d.comb += [
            ends.eq(Cat(finished).all()),
            clean.eq(~Cat(core.under_way for core in self.cores.values()).any()),
        ]
        m.d.sync += [
            clear.eq(Cat(self.stopping & clean & ~clear.any(), clear)),
            self.error.eq(self.error | Cat(core.error for core in self.cores.values())),
        ]
        with m.If(self.running):
            m.d.sync += self.cycle.eq(self.cycle + 1)
        with m.If(clear[-1]):
            m.d.sync += self.stopping.eq(0)
        with m.Elif(self.stopping), m.If(clean):
            m.d.sync += self.running.eq(0)
        with m.Elif(self.stop):
            m.d.sync += [self.stopping.eq(1), active.eq(0), self.done.eq(0)]
        with m.Elif(self.running), m.If(ends):
            m.d.sync += [self.running.eq(0), active.eq(0), self.done.eq(1)]
        with m.Elif(self.start):
            m.d.sync += [
                self.running.eq(1),
                active.eq(1),
                self.done.eq(0),
                self.cycle.eq(0),
                self.error.eq(0),
            ]
        return m

    def _add_path(self, m, unit, port, core, fifo):
        """Put what there is behind an output between it and the FIFO."""
        before, path = core.channels[port], parts_behind(core, port, fifo.channel)
        if not path:
            return
        leaves = signature(before).create(path=(f"{unit.name}_{port}",))
        setattr(core, port, leaves)
        payload = leaves.payload
        for name, part, kind, identity in path:
            m.submodules[name] = self.part(part, kind, identity)
            m.d.comb += part.x.eq(payload)
            payload = part.y
        m.d.comb += [
            fifo.w.valid.eq(leaves.valid),
            leaves.ready.eq(fifo.w.ready),
            fifo.w.payload.eq(payload),
        ]


def epilogue_name(unit: Unit) -> str:
    """Name of the instance of a unit's epilogue."""
    return f"{EPILOGUE}_{verilog_name(unit.name)}"


def restop_name(unit: Unit, port: str) -> str:
    """Name of the instance that rewrites stops of an output."""
    return f"{RESTOP}_{verilog_name(unit.name)}_{port}"


def face_name(unit: Unit) -> str:
    """Name of the external port of a unit."""
    return "mem" if isinstance(unit.params, Axi) else verilog_name(unit.name)


def unit_identity(core):
    """All that the circuit of a unit depends on."""
    forms = {
        port: [channel_identity(channel), core.in_front_of_epilogue(port)]
        for port, channel in core.channels.items()
    }
    return [core.identity(), forms, core.design.lanes, asdict(core.design.bus)]


def channel_identity(channel: Channel):
    """All that the circuit of a FIFO depends on."""
    return {**asdict(channel), "name": None}


def parts_behind(core, port, after):
    """What there is between an output of a unit and the FIFO behind it.

    Parameters
    ----------
    core : UnitCore
    port : str
    after : Channel
        The FIFO's.

    Returns
    -------
    list of tuple
        Of each part in order: the name of its instance, the part, its kind, and all that its
        circuit depends on.
    """
    unit, before, path = core.unit, core.channels[port], []
    if core.in_front_of_epilogue(port):
        params, lanes = unit.epilogue.params, unit.epilogue.params.beat_lanes(core.design.lanes)
        between = replace(after, rank=before.rank)
        part = EpilogueCore(params.pipeline, before, between, lanes)
        forms = [channel_identity(before), channel_identity(between)]
        path.append((epilogue_name(unit), part, EPILOGUE, [asdict(params), *forms, lanes]))
    if restops := [restop for restop in unit.restops if restop.port == port]:
        between, levels = replace(after, rank=before.rank), levels_of(restops)
        part = RestopCore(levels, between, after)
        forms = [channel_identity(between), channel_identity(after)]
        path.append((restop_name(unit, port), part, RESTOP, [asdict(levels), *forms]))
    return path
