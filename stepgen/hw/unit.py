"""What all units share: ports made from the design table, and how a unit is found."""

import dataclasses

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..ir.registry import the_one
from .design.table import Design, Unit
from .stream import signature

__all__ = ["UnitCore", "core_of"]


class UnitCore(wiring.Component):
    """Base of all units.

    A unit is an actor: in each cycle it looks at its state, at the heads of its inputs and at the
    room of its outputs, all of which come from registers, and performs at most one action. Its
    outputs end in the registers of a FIFO. The cycle model steps the same actor
    (``model.py`` beside the circuit).

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
        High for at least one cycle when the unit meets something that its program excludes.
        Registered.
    under_way : ``Out(1)``
        While it is high the unit must not be reset: the outside still owes it something, or is
        owed. Registered.
    """

    finishes = False

    def __init__(self, unit: Unit, design: Design):
        self.unit = unit
        self.design = design
        self.params = unit.params
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
                "under_way": Out(1),
            }
        )

    def extra_ports(self):
        """Ports beside the channels, for units that face the outside."""
        return {}

    def constants(self):
        """Inputs that never change, by name with shape and value.

        Units that differ in nothing else share one circuit.
        """
        return {}

    def identity(self):
        """The parameters that decide what the circuit is."""
        return dataclasses.asdict(self.params)

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
    return the_one(unit.params.module("rtl"), UnitCore)(unit, design)
