"""A kind of unit whose circuit is a Verilog module of a user's own."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from stepgen.hw.design.params import UnitParams, check_model
from stepgen.hw.design.table import Channel, Design, Unit
from stepgen.hw.units import load_all
from stepgen.ir import registry
from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError
from stepgen.ir.names import identifier
from stepgen.ir.where import user_line

Model = Callable[[Unit, Any, Any], None]
"""``build(unit, params, layout)``, as in ``model.py`` of stepgen's own kinds."""

COMPILED = (".v", ".sv")
"""Suffixes of files that are compiled; others lie beside them, to be included."""

SIGNALS = ("running", "error")
"""What a kernel's module may have beside clock, reset and streams, as `UnitCore` describes it."""

PARAMETER_BITS = 32
"""Of a module's parameter, a signed number."""

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DEFINED = re.compile(
    r"(?:\b(?:macro)?module|^\s*(?:interface|package|program))\s+(?:automatic\s+|static\s+)?(\w+)",
    re.MULTILINE,
)


class VerilogKernel(UnitParams):
    """A kind of unit that is written in Verilog; defining the class makes it known.

    Subclasses are frozen dataclasses. Of a stream ``x`` the module has the ports ``x_valid``,
    ``x_ready`` and ``x_payload``, which is ``{data, stop, kind}``, beside ``clk`` and ``rst``. The
    latter is synchronous and also high during a soft reset.

    Attributes
    ----------
    kind : str
        Name of the kind: that of the class in snake_case where it is not given.
    sources : tuple of str
        Files with the Verilog, relative to the Python file of the class.
    top : str
        The module in them; called like the kind where it is not given.
    model : callable or None
        ``build(unit, params, layout)``, which lays out the cycle model; None for a kernel without
        one: its values are checked then, and cycles are not.
    signals : tuple of str
        Which of `SIGNALS` the module has.
    paths : tuple of Path
        Where the sources are, as found when the class that names them was defined.

    Raises
    ------
    StepError
        When the class is defined, if something is missing, a file is not there, or the kind has the
        name of another.
    """

    sources: ClassVar[tuple[str, ...]]
    top: ClassVar[str]
    model: ClassVar[Model | None]
    signals: ClassVar[tuple[str, ...]] = ()
    paths: ClassVar[tuple[Path, ...]]

    def __init_subclass__(cls) -> None:
        load_all()
        name = registry.name_of(cls, "unit", {} if "kind" in vars(cls) else UnitParams.kinds)
        if "kind" not in vars(cls):
            cls.kind = name
        subject = f"the Verilog kernel {cls.__name__} at {user_line()}"
        if not hasattr(cls, "model"):
            raise StepError(
                f"{subject} lacks model: build(unit, params, layout), or None if it has no cycle "
                "model"
            )
        if cls.model is not None:  # a function, not a method
            cls.model = staticmethod(cls.model)
            check_model(cls.model, subject)
        if not hasattr(cls, "top"):
            cls.top = cls.kind
        identifier(cls.top, f"{subject}: its top")
        _check(cls, subject)
        super().__init_subclass__()

    def parameters(self, ports: Mapping[str, Channel]) -> Mapping[str, int]:
        """Parameters of the module by name: integers that fit into 32 bits, signed.

        Parameters
        ----------
        ports : mapping of str to Channel
            The channel of each port: ``ports["x"].stop_bits`` is the width of a field.
        """
        return {}

    def checked_parameters(self, ports: Mapping[str, Channel]) -> dict[str, int]:
        """What `parameters` gives, checked.

        Raises
        ------
        StepError
            If a value is not an integer of 32 bits, or a name not an identifier.
        """
        given = self.parameters(ports)
        if not isinstance(given, Mapping):
            raise StepError(
                f"parameters of {type(self).__name__} must return a dict of integers by name, not "
                f"{shown(given)}"
            )
        found = dict(given)
        for name, value in found.items():
            subject = f"the parameter {shown(name)} of {self.top}"
            identifier(name, subject)
            if isinstance(value, bool) or not isinstance(value, int):
                raise StepError(f"{subject} must be an integer, not {shown(value)}")
            if not -(1 << PARAMETER_BITS - 1) <= value < 1 << PARAMETER_BITS - 1:
                raise StepError(f"{subject} must fit into {PARAMETER_BITS} bits, unlike {value}")
        return found

    def problem(self, unit: Unit, design: Design) -> str | None:
        try:
            self.checked_parameters(channels_of(unit, design))
        except StepError as error:
            return str(error)
        return None

    def cycle_model(self) -> Model | None:
        return type(self).model

    @classmethod
    def module(cls, name: str) -> ModuleType:
        """The module with the circuit, which all Verilog kernels share."""
        return importlib.import_module(f"{__package__}.{name}")

    @classmethod
    def files(cls) -> dict[str, str]:
        """The texts of the sources, by the names of their files.

        Raises
        ------
        StepError
            If one can't be read.
        """
        return {path.name: _text(path, cls.__name__) for path in cls.paths}


def channels_of(unit: Unit, design: Design) -> dict[str, Channel]:
    """The channel of each port of a unit."""
    return {port: design.channel[c] for port, c in {**unit.inputs, **unit.outputs}.items()}


def defined(text: str) -> set[str]:
    """Names of the modules, interfaces and packages that a Verilog text defines."""
    return set(_DEFINED.findall(_COMMENT.sub(" ", text)))


def sources_of(design: Design) -> dict[str, str]:
    """The texts of all Verilog kernels of a design, by the names of their files.

    Raises
    ------
    StepError
        If a file can't be read, or two different ones have the same name or define the same module.
    """
    kinds = dict.fromkeys(
        type(u.params) for u in design.units if isinstance(u.params, VerilogKernel)
    )
    found: dict[str, str] = {}
    owner: dict[str, str] = {}
    for kind in kinds:
        for name, text in kind.files().items():
            if found.setdefault(name, text) != text:
                raise StepError(
                    f"design {design.name}: two different files of Verilog kernels are called "
                    f"{name}: rename one"
                )
    for name, text in found.items():
        for module in sorted(defined(text)):
            if owner.setdefault(module, name) != name:
                raise StepError(
                    f"design {design.name}: {name} and {owner[module]} both define {module}: "
                    f"rename one"
                )
    return found


def _check(cls: type[VerilogKernel], subject: str) -> None:
    """Check what the class says of its module, and find its files."""
    sources = getattr(cls, "sources", None)
    if (
        not isinstance(sources, tuple)
        or not sources
        or not all(isinstance(s, str) for s in sources)
    ):
        raise StepError(f'{subject} needs its files of Verilog: sources = ("{cls.kind}.sv",)')
    if "sources" in vars(cls):
        python = getattr(sys.modules.get(cls.__module__), "__file__", None) or "."
        cls.paths = tuple(Path(python).resolve().parent / source for source in sources)
    for path in cls.paths:
        if not path.is_file():
            raise StepError(f"{subject} names {path.name}, but there is no file {path}")
    if not any(path.suffix in COMPILED for path in cls.paths):
        raise StepError(f"{subject} needs a file that ends in {' or '.join(COMPILED)}")
    unknown = [name for name in cls.signals if name not in SIGNALS]
    if unknown:
        raise StepError(f"{subject}: signals may be {' and '.join(SIGNALS)}, not {unknown[0]!r}")


def _text(path: Path, kernel: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise StepError(f"the Verilog kernel {kernel}: {path} can't be read: {error}") from None
