"""The circuit around a Verilog module: its ports, and a check of the beats that it sends."""

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, ResetSignal, Signal, signed

from stepgen.hw.primitives import delayed
from stepgen.hw.unit import UnitCore
from stepgen.hw.verilog_kernel.params import PARAMETER_BITS
from stepgen.ir.errors import StepError
from stepgen.ir.wire import BARE, DONE

__all__ = ["VerilogKernelCore"]


class VerilogKernelCore(UnitCore):
    """An instance of a kernel's module.

    Parameters
    ----------
    unit.params : VerilogKernel

    Notes
    -----
    ``error`` also rises where the module sends what is not a beat of its stream: an unknown kind, a
    stop or low level above the stream's, a done beat that carries something, a beat after the done
    beat. On a channel with a delay the payload is looked at when it is there.
    """

    def elaborate(self, platform):
        if platform is None:
            raise StepError(
                f"{self.unit.kind} {self.unit.name} is a Verilog kernel, which Amaranth's "
                f"simulator can't run: Verilator can, as in stepgen test"
            )
        m = Module()
        # A soft reset may come as the reset of this circuit's registers alone.
        fresh = Signal(init=1)
        m.d.sync += fresh.eq(0)
        ports = {"i_clk": ClockSignal(), "i_rst": ResetSignal() | fresh}
        for names, give, take in ((self.unit.inputs, "i", "o"), (self.unit.outputs, "o", "i")):
            for port in names:
                stream = getattr(self, port)
                ports |= {
                    f"{give}_{port}_valid": stream.valid,
                    f"{give}_{port}_payload": stream.payload,
                    f"{take}_{port}_ready": stream.ready,
                }
        faults = [self._misformed(m, port) for port in self.unit.outputs]
        if "running" in self.params.signals:
            ports["i_running"] = self.running
        if "error" in self.params.signals:
            ports["o_error"] = error = Signal()
            faults.append(error)
        parameters = {
            f"p_{name}": Const(value, signed(PARAMETER_BITS))
            for name, value in self.params.checked_parameters(self.channels).items()
        }
        m.submodules.kernel = Instance(self.params.top, **parameters, **ports)
        m.d.sync += self.error.eq(Cat(faults).any())
        return m

    def _misformed(self, m, port):
        """High while the module sends something that is not a beat of the stream."""
        channel, stream = self.channels[port], getattr(self, port)
        wrong = Signal(name=f"{port}_misformed")
        if channel.rank is None:
            return wrong
        beat, rank = stream.payload, channel.rank
        sent, ended = Signal(name=f"{port}_sent"), Signal(name=f"{port}_ended")
        m.d.comb += sent.eq(delayed(m, stream.valid & stream.ready, channel.delay))
        with m.If(~self.running):
            m.d.sync += ended.eq(0)
        with m.Elif(sent):
            m.d.sync += ended.eq(beat.kind == DONE)
        carries = (beat.stop != 0) | (beat.data != 0)
        m.d.comb += wrong.eq(
            sent
            & (
                ended
                | (beat.kind > DONE)
                | (beat.stop > rank)
                | ((beat.kind == DONE) & carries)
                | ((beat.kind == BARE) & (beat.data > rank))
            )
        )
        return wrong
