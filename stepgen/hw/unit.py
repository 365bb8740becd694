"""What all units share: ports made from the design table, and how a unit is found."""

import importlib

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..compile.design import Design, Unit
from .stream import signature

__all__ = ["UnitCore", "core_of"]


class UnitCore(wiring.Component):
    """Base of all units.

    A unit is an actor: in each cycle it looks at its state, at the heads of its inputs and at the
    room of its outputs, all of which come from registers, and performs at most one action. Its
    outputs end in the registers of a FIFO. The cycle model steps the same actor
    (``stepgen/timing/units/<kind>.py``).

    Parameters
    ----------
    unit : Unit
        Row of the design table.
    design : Design
        The table, for the channels' widths and depths.

    Members
    -------
    i0, i1, … : ``In(stream)``
        Inputs, in table order: heads of FIFOs.
    o0, o1, … : ``Out(stream)``
        Outputs, in table order: tails of FIFOs.
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
        self.in_channels = [design.channel[name] for name in unit.inputs]
        self.out_channels = [design.channel[name] for name in unit.outputs]
        super().__init__(
            {
                **{f"i{k}": In(signature(c)) for k, c in enumerate(self.in_channels)},
                **{f"o{k}": Out(signature(c)) for k, c in enumerate(self.out_channels)},
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
        return dict(self.params)

    @property
    def inputs(self):
        """Input streams in table order."""
        return [getattr(self, f"i{k}") for k in range(len(self.in_channels))]

    @property
    def outputs(self):
        """Output streams in table order."""
        return [getattr(self, f"o{k}") for k in range(len(self.out_channels))]


def core_of(unit: Unit, design: Design) -> UnitCore:
    """The circuit of one row of the design table, found by the name of its kind."""
    module = importlib.import_module(f"stepgen.hw.units.{unit.kind}")
    return module.Core(unit, design)
