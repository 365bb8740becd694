"""Base class of all units' circuits: ports from the design table."""

import dataclasses
from typing import Any

from amaranth.hdl import Cat, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.arithmetic.circuits.lane import Lane
from stepgen.hw.design.registers import WORD
from stepgen.hw.design.table import Design, Unit
from stepgen.hw.library import inline
from stepgen.hw.stream import signature
from stepgen.ir.class_checks import check_signature
from stepgen.ir.errors import StepError
from stepgen.ir.registry import the_one
from stepgen.ir.wire import VALUE

__all__ = ["UnitCore", "core_of"]


class UnitCore(wiring.Component):
    """Base of all units.

    A unit consists of actors: in each cycle an actor reads its state, the heads of its inputs and
    the free space of its outputs, all of which come from registers, and performs at most one
    action. The FIFO of the channel is the output register. The cycle model implements the same
    actors (``model.py`` beside the circuit).

    Parameters
    ----------
    unit : Unit
        Row of the design table.
    design : Design
        The table, for the channels' widths and depths.

    Members
    -------
    <input> : ``In(stream)``
        The input ports that the parameters name: heads of FIFOs.
    <output> : ``Out(stream)``
        The output ports that the parameters name: tails of FIFOs.
    running : ``In(1)``
        High from the start of a run until all its streams have ended, or a soft reset ends it.
    finished : ``Out(1)``
        For units that end a run: high once the unit has seen the end of its stream, until the
        next start. Registered.
    error : ``Out(1)``
        High for at least one cycle when the unit sees input that its program rules out.
        Registered.
    detail : ``Out(32)``
        For units that report a cause: with `error`, the register ``detail``; the last one counts.
        From registers.
    under_way : ``Out(1)``
        While high, the unit must not be reset: bus transactions are outstanding. Registered.
    """

    finishes = False
    details = False
    part = staticmethod(inline)
    """How a part of which there are several is instantiated, as for `Accelerator`."""

    def __init__(self, unit: Unit, design: Design):
        self.unit = unit
        self.design = design
        self.params: Any = unit.params
        ports = {**unit.inputs, **unit.outputs}
        self.channels = {port: design.channel[name] for port, name in ports.items()}
        super().__init__(
            {
                **{port: In(signature(self.channels[port])) for port in unit.inputs},
                **{port: Out(signature(self.channels[port])) for port in unit.outputs},
                **self.extra_ports(),
                **{name: In(shape) for name, (shape, _) in self.constants().items()},
                "running": In(1),
                **({"finished": Out(1)} if self.finishes else {}),
                "error": Out(1),
                **({"detail": Out(8 * WORD)} if self.details else {}),
                "under_way": Out(1),
            }
        )

    def extra_ports(self):
        """Ports in addition to the channels, for units with external ports."""
        return {}

    def constants(self):
        """Constant inputs, by name with shape and value.

        Units that differ only in these share one module.
        """
        return {}

    def identity(self):
        """The parameters that the circuit depends on."""
        return dataclasses.asdict(self.params)

    def lanes(self, m, pipeline, beats):
        """The results of a `Pipeline`, by lane, for beats of its operands."""
        bits = [value.element.bits for value in pipeline.values]
        for n in range(self.params.beat_lanes(self.design.lanes)):
            operands = [x.word_select(n, b) for x, b in zip(beats, bits, strict=False)]
            yield self.lane(m, f"lane_{n}", pipeline, operands)

    def lane(self, m, name, pipeline, operands):
        """The result of a `Pipeline` for one lane, `pipeline.stages` cycles after its operands."""
        if not pipeline.operations:
            return operands[0]
        circuit = Lane(pipeline)
        m.submodules[name] = self.part(circuit, "lane", dataclasses.asdict(pipeline))
        m.d.comb += [port.eq(x) for port, x in zip(circuit.operands, operands, strict=True)]
        return circuit.y

    def in_front_of_epilogue(self, port):
        """Whether an epilogue follows an output."""
        return self.unit.epilogue is not None and self.unit.epilogue.port == port

    def data_of(self, port, kind, values, low, *, zeros=False):
        """Data of a payload: values, or the level of an empty token with zeros above.

        An epilogue does not read what is above, so in front of one values stay there; so they do
        where they are `zeros` unless the beat has values.
        """
        if zeros or self.in_front_of_epilogue(port):
            few = len(low)
            return Cat(Mux(kind == VALUE, values[:few], low), values[few:])
        return Mux(kind == VALUE, values, low)

    @property
    def inputs(self):
        """Input streams in the order of the ports."""
        return [getattr(self, port) for port in self.unit.inputs]

    @property
    def outputs(self):
        """Output streams in the order of the ports."""
        return [getattr(self, port) for port in self.unit.outputs]


def core_of(unit: Unit, design: Design) -> UnitCore:
    """The circuit of one row of the design table."""
    module = unit.params.module("rtl")
    try:
        core = the_one(module, UnitCore)
    except TypeError as error:
        raise StepError(
            f"{module.__file__} has the unit {unit.kind} and must define its circuit, as one class "
            f"derived from UnitCore: {error}"
        ) from None
    if not hasattr(core, "elaborate"):
        raise StepError(f"the circuit {core.__name__} of {core.__module__} lacks elaborate")
    check_signature(core.elaborate, f"elaborate of {core.__name__}", "self", "platform")
    return core(unit, design)
