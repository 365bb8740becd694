"""Modules that several instances of a design share."""

import inspect
import itertools
import json
import traceback

from amaranth.hdl import ClockSignal, DriverConflict, Instance, ResetInserter, ResetSignal
from amaranth.lib import wiring

from ..ir.defining import place
from ..ir.errors import StepError
from . import private

__all__ = ["Library", "inline"]


def inline(part: wiring.Component, kind: str, identity: object, clear=None):
    """The part itself, elaborated in place, instead of an instance of a shared module."""
    return part if clear is None else ResetInserter(clear)(part)


def _files(error: Exception) -> set[str]:
    return {frame.filename for frame in traceback.extract_tb(error.__traceback__)}


class Library:
    """RTLIL modules, one for all parts with the same circuit.

    A design has many units, FIFOs and lanes but few different ones, so the time to write, compile
    and simulate it grows with the number of modules, not of instances.

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
        self._numbers = itertools.count()
        self._resets: dict[int, tuple[object, object]] = {}

    @property
    def rtlil(self) -> str:
        """All modules."""
        return "\n".join(text for _, text, _ in self._modules.values())

    def _made(self, part: wiring.Component, name: str) -> tuple[str, set[str]]:
        """The module of a part, and its ports; what a user's circuit lacks ends in one sentence."""
        try:
            return private.submodule(part, name, self.platform)
        except Exception as error:
            circuit = type(part)
            file = inspect.getfile(circuit)
            if circuit.__module__.startswith("stepgen.") or file in _files(error):
                raise
            said = str(error) or type(error).__name__
            if isinstance(error, DriverConflict):
                said += "; a unit drives ready of its inputs, valid and payload of its outputs"
            elif "is not an 'Elaboratable'" in said:
                said = "it must return the Module"
            line = place(circuit.elaborate.__code__)
            raise StepError(f"{circuit.__name__}.elaborate at {line}: {said}") from None

    def _reset(self, clear):
        """The reset of an instance; one expression for all that `clear` resets."""
        if clear is None:
            return ResetSignal()
        return self._resets.setdefault(id(clear), (clear, ResetSignal() | clear))[1]

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
            name = f"{self.prefix}_{kind}_{next(self._numbers)}"
            self._modules[key] = (name, *self._made(part, name))
        name, _, present = self._modules[key]
        ports |= {"i_clk": ClockSignal(), "i_rst": self._reset(clear)}
        return Instance(name, **{p: value for p, value in ports.items() if p[2:] in present})
