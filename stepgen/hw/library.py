"""Modules that several instances of a design share."""

import inspect
import itertools
import json
import re
import traceback
from collections.abc import Callable, Iterable
from typing import Protocol

from amaranth.hdl import ClockSignal, DriverConflict, Instance, ResetInserter, ResetSignal
from amaranth.lib import wiring

from stepgen.hw import private
from stepgen.hw.netlist import Netlist, Placed, flat
from stepgen.hw.primitives import Device
from stepgen.ir.class_checks import place
from stepgen.ir.errors import StepError

__all__ = ["Kept", "Library", "inline", "module_key"]

_PLACE = re.compile(r"\\%(\d+)%")
"""Where the name of a module goes in a text that is kept: its own is the first."""


def inline(part: wiring.Component, kind: str, identity: object, reset=None):
    """The part itself, elaborated in place, instead of an instance of a shared module."""
    return part if reset is None else ResetInserter(reset)(part)


def module_key(kind: str, identity: object) -> str:
    """What names the circuit of a part in a library: its kind, and all that it depends on."""
    return f"{kind} {json.dumps(identity, sort_keys=True)}"


def _files(error: Exception) -> set[str]:
    return {frame.filename for frame in traceback.extract_tb(error.__traceback__)}


class Kept(Protocol):
    """Modules and Verilog of earlier designs, by what they depend on."""

    def get(self, key: str) -> dict | None:
        """What was put there, if it still is."""

    def put(self, key: str, module: dict) -> None:
        """Keep a module: a JSON object."""

    def text(self, key: str, make: Callable[[], str]) -> str:
        """What was made with this key before, or now."""


def _lasts(part: wiring.Component) -> bool:
    """Whether the module of a part may be kept: all of it is from stepgen, so that its identity
    determines it, and it is not that of one design.
    """
    kinds = (type(part), type(getattr(part, "params", part)))
    from_stepgen = all(kind.__module__.startswith("stepgen.") for kind in kinds)
    return from_stepgen and not isinstance(part, Netlist)


class Library:
    """RTLIL modules, one for all parts with the same circuit.

    A design has many units, FIFOs and lanes but few different ones, so the time to write, compile
    and simulate it grows with the number of modules, not of instances.

    Parameters
    ----------
    prefix : str
        Start of all module names.
    platform : Device, optional
        For which parts are elaborated.
    kept : Kept, optional
        Modules that need not be elaborated again.
    watch : callable, optional
        Called for each part in its place in a netlist.

    Attributes
    ----------
    netlists : set of str
        Names of modules without logic.
    """

    def __init__(
        self,
        prefix: str,
        platform: Device | None = None,
        kept: Kept | None = None,
        watch: Callable[[], None] = lambda: None,
    ):
        self.prefix = prefix
        self.platform = platform
        self.kept = kept
        self.watch = watch
        self._modules: dict[str, tuple[str, str, dict[str, int]]] = {}
        self.netlists: set[str] = set()
        self._inside: list[dict[str, None]] = [{}]
        self._lasting: set[str] = set()
        self._numbers = itertools.count()

    @property
    def texts(self) -> dict[str, str]:
        """RTLIL of all modules, by name."""
        return {name: text for name, text, _ in self._modules.values()}

    @property
    def rtlil(self) -> str:
        """All modules."""
        return "\n".join(self.texts.values())

    def _made(self, part: wiring.Component, name: str) -> tuple[str, dict[str, int]]:
        """The module of a part, and the bits of its ports.

        What a user's circuit lacks ends in one sentence.
        """
        if isinstance(part, Netlist):
            self.netlists.add(name)
            return part.submodule(name, self.placed, self.platform)
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

    def _name(self, key: str) -> str:
        return f"{self.prefix}_{key.split()[0]}_{next(self._numbers)}"

    def _elaborate(self, part: wiring.Component, key: str) -> None:
        """Make the module of a part, and keep it if all in it is stepgen's."""
        name = self._name(key)
        self._inside.append({})
        text, ports = self._made(part, name)
        self._modules[key] = name, text, ports
        inside = list(self._inside.pop())
        if self.kept is None or not _lasts(part) or not self._lasting.issuperset(inside):
            return
        self._lasting.add(key)
        places = {name: 0} | {self._modules[k][0]: n for n, k in enumerate(inside, 1)}
        names = re.compile(rf"\\({'|'.join(map(re.escape, places))})(?=[\s.])")
        text = names.sub(lambda found: f"\\%{places[found[1]]}%", text)
        self.kept.put(self._place(key), {"text": text, "ports": ports, "inside": inside})

    def _place(self, key: str) -> str:
        """Where a module is kept."""
        return f"{self.platform.family if self.platform else None} {key}"

    def _found(self, key: str) -> bool:
        """Take a module that is kept, if all within it is too."""
        found: dict[str, dict] = {}
        return self._search([key], found) and self._take(key, found)

    def _search(self, keys: Iterable[str], found: dict[str, dict]) -> bool:
        """Look for modules and those within them; whether all are there."""
        if self.kept is None:
            return False
        for key in keys:
            if key in self._modules or key in found:
                continue
            module = self.kept.get(self._place(key))
            if module is None or not self._search(module["inside"], found):
                return False
            found[key] = module
        return True

    def _take(self, key: str, found: dict[str, dict]) -> bool:
        """Take one of these modules, numbered as if it were elaborated now."""
        name, module = self._name(key), found[key]
        for part in module["inside"]:
            if part not in self._modules:
                self._take(part, found)
        names = [name, *(self._modules[part][0] for part in module["inside"])]
        text = _PLACE.sub(lambda place: f"\\{names[int(place[1])]}", module["text"])
        self._modules[key] = name, text, module["ports"]
        self._lasting.add(key)
        return True

    def placed(self, part: Placed) -> tuple[str, dict[str, int]]:
        """The module of a part in its place, and the bits of its ports."""
        self.watch()
        key = module_key(part.kind, part.identity)
        if key not in self._modules:
            return self.module(part.make(), key)
        name, _, ports = self._modules[key]
        return name, ports

    def module(self, part: wiring.Component, key: str) -> tuple[str, dict[str, int]]:
        """The module of a part and the bits of its ports; the first with this key is made."""
        private.reused(part)  # only the first one is elaborated
        self._inside[-1][key] = None
        if key not in self._modules and not (_lasts(part) and self._found(key)):
            self._elaborate(part, key)
        name, _, ports = self._modules[key]
        return name, ports

    def instance(self, part: wiring.Component, kind: str, identity: object, reset=None) -> Instance:
        """An instance of the circuit of `part`, connected to its ports.

        Parameters
        ----------
        part : Component
            Elaborated if it is the first with this circuit.
        kind : str
            For the name of the module.
        identity : JSON value
            Everything that the circuit depends on.
        reset : Value, optional
            Of the instance; by default the global one.
        """
        ports = {}
        for path, member, value in part.signature.flatten(part):
            direction = "i" if member.flow == wiring.In else "o"
            ports[f"{direction}_{flat(path)}"] = value
        name, present = self.module(part, module_key(kind, identity))
        ports |= {"i_clk": ClockSignal(), "i_rst": ResetSignal() if reset is None else reset}
        return Instance(name, **{p: value for p, value in ports.items() if p[2:] in present})
