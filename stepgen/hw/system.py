"""Top module of a design: accelerator, control registers, and ports under plain names."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.accelerator import ACCELERATOR, Accelerator, face_name
from stepgen.hw.axi import Axi4, Axi4Lite
from stepgen.hw.control import Control
from stepgen.hw.design.counting import counted
from stepgen.hw.design.registers import address_bits
from stepgen.hw.design.table import Design
from stepgen.hw.library import inline
from stepgen.hw.names import verilog_name
from stepgen.hw.primitives import resets
from stepgen.hw.run_control import CYCLE_BITS
from stepgen.hw.units.axi.params import Axi
from stepgen.hw.units.sink.params import Sink
from stepgen.hw.units.source.params import Source

__all__ = ["System"]


class System(wiring.Component):
    """Accelerator and control registers.

    Parameters
    ----------
    design : Design
    probes : bool
        Whether there are ``probe_push`` and ``probe_pop``.
    part : callable
        As for `Accelerator`.

    Members
    -------
    csr_… : AXI4-Lite slave, see `Control`.
    mem_… : AXI4 master, where the design has off-chip operators.
    <port>_valid, <port>_ready, <port>_payload
        A stream for each source and sink, under its `verilog_name`.
    running, done, cycle : ``Out``
        As from `Accelerator`.
    probe_push, probe_pop : ``Out(channels)``
        A beat enters, or leaves, the channel's FIFO in this cycle.
    """

    def __init__(self, design: Design, *, probes: bool = False, part=inline):
        self.design, self.probes, self.part = design, probes, part
        self.bus = next(design.of_kind(Axi), None)
        members = {
            f"csr_{name}": member.flip()
            for name, member in Axi4Lite(address_bits(len(design.channels))).members.items()
        }
        if self.bus:
            port = Axi4(design.bus.address_bits, design.bus.data_bits)
            members |= {f"mem_{name}": member for name, member in port.members.items()}
        for unit in design.units:
            if not isinstance(unit.params, (Source, Sink)):
                continue
            (name,) = (*unit.inputs.values(), *unit.outputs.values())
            give, take = (In, Out) if isinstance(unit.params, Source) else (Out, In)
            members |= {
                f"{verilog_name(unit.name)}_valid": give(1),
                f"{verilog_name(unit.name)}_ready": take(1),
                f"{verilog_name(unit.name)}_payload": give(design.channel[name].width),
            }
        members |= {"running": Out(1), "done": Out(1), "cycle": Out(CYCLE_BITS)}
        if probes:
            members |= {
                "probe_push": Out(len(design.channels)),
                "probe_pop": Out(len(design.channels)),
            }
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        design = self.design
        core = Accelerator(design, part=self.part)
        m.submodules.accelerator = self.part(core, ACCELERATOR, None)
        size = (len(design.channels), len(design.units), core.reporting)
        counts = counted(design)
        control = Control(*size, counted=counts, part=self.part)
        reset = next(resets(m, platform))
        m.submodules.control = self.part(control, "control", [*size, counts], reset)
        self._join(m, "csr", control.csr)
        m.d.comb += [core.start.eq(control.start), core.stop.eq(control.stop)]
        for name in control.signature.members:
            if name in core.signature.members and name not in ("start", "stop"):
                m.d.comb += getattr(control, name).eq(getattr(core, name))
        for name in ("running", "done", "cycle"):
            m.d.comb += getattr(self, name).eq(getattr(core, name))
        if self.probes:
            m.d.comb += [self.probe_push.eq(core.moves_in), self.probe_pop.eq(core.moves_out)]

        if self.bus:
            port = getattr(core, face_name(self.bus))
            self._join(m, "mem", port)
            m.d.comb += [
                control.read_moves.eq(port.rvalid & port.rready),
                control.write_moves.eq(port.wvalid & port.wready),
            ]
        for unit in design.units:
            if isinstance(unit.params, (Source, Sink)):
                self._join(m, verilog_name(unit.name), getattr(core, face_name(unit)))
        return m

    def _join(self, m: Module, prefix: str, inner):
        """Connect the members of `inner` with the plain ports that begin with `prefix`."""
        for name, member in inner.signature.members.items():
            outer, signal = getattr(self, f"{prefix}_{name}"), getattr(inner, name)
            if hasattr(signal, "as_value"):
                signal = signal.as_value()
            if member.flow == Out:
                m.d.comb += outer.eq(signal)
            else:
                m.d.comb += signal.eq(outer)
