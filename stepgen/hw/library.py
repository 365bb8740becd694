"""Modules that several instances of a design share."""

import json

from amaranth.hdl import ClockSignal, Instance, ResetInserter, ResetSignal
from amaranth.lib import wiring

from . import private

__all__ = ["Library", "inline"]


def inline(part: wiring.Component, kind: str, identity: object, clear=None):
    """The part itself, elaborated in place, instead of an instance of a shared module."""
    return part if clear is None else ResetInserter(clear)(part)


class Library:
    """RTLIL modules, one for all parts with the same circuit.

    A design has many units and FIFOs but few different ones, so the time to write, compile and
    simulate it grows with the number of modules, not of instances.

    Parameters
    ----------
    prefix : str
        Start of all module names.
    platform
        Platform for which parts are elaborated.
    """

    def __init__(self, prefix: str, platform=None):
        self.prefix = prefix
        self.platform = platform
        self._modules: dict[str, tuple[str, str, set[str]]] = {}

    @property
    def rtlil(self) -> str:
        """All modules."""
        return "\n".join(text for _, text, _ in self._modules.values())

    def instance(self, part: wiring.Component, kind: str, identity: object, clear=None) -> Instance:
        """An instance of the circuit of `part`, connected to its ports.

        Parameters
        ----------
        part : Component
            Elaborated if it is the first with this circuit.
        kind : str
            For the name of the module.
        identity : JSON value
            Everything that the circuit depends on.
        clear : Value, optional
            Resets the instance, in addition to the global reset.
        """
        key = f"{kind} {json.dumps(identity, sort_keys=True)}"
        ports = {}
        for path, member, value in part.signature.flatten(part):
            direction = "i" if member.flow == wiring.In else "o"
            ports[f"{direction}_{'__'.join(map(str, path))}"] = value
        private.reused(part)  # only the first one is elaborated
        if key not in self._modules:
            name = f"{self.prefix}_{kind}_{len(self._modules)}"
            self._modules[key] = (name, *private.submodule(part, name, self.platform))
        name, _, present = self._modules[key]
        reset = ResetSignal() if clear is None else ResetSignal() | clear
        ports |= {"i_clk": ClockSignal(), "i_rst": reset}
        return Instance(name, **{p: value for p, value in ports.items() if p[2:] in present})
