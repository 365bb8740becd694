"""Base class of unit parameters: ports, latency, memory, and where circuit and model are."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from stepgen.hw.design.pace import Extents, Part, copied
from stepgen.hw.design.ram import Ram
from stepgen.hw.design.registers import UNTOLD
from stepgen.ir import registry
from stepgen.ir.arguments import shown, take_fields
from stepgen.ir.class_checks import check_class, check_signature
from stepgen.ir.errors import StepError
from stepgen.ir.names import identifier
from stepgen.ir.records import record
from stepgen.ir.where import user_line

if TYPE_CHECKING:
    from stepgen.hw.design.restop import Levels
    from stepgen.hw.design.table import Channel, Design, Unit


MOST_PORTS = 1 << 16
"""Ports of one kind that a unit may have: more are a mistake in a design table."""


def numbered(name: str, count: int) -> tuple[str, ...]:
    """Names of `count` ports of one kind: ``y_0``, ``y_1``, …

    Raises
    ------
    StepError
        If there are more than `MOST_PORTS`.
    """
    if count > MOST_PORTS:
        raise StepError(f"a unit has at most {MOST_PORTS:,} ports {name}, not {count:,}")
    return tuple(f"{name}_{n}" for n in range(count))


@dataclass(frozen=True)
class UnitParams(ABC):
    """Parameters of one kind of unit, and all that follows from them without its circuit.

    A kind is a subclass, a frozen dataclass, in a file ``params.py``. Beside it lie ``rtl.py`` with
    one subclass of `stepgen.hw.unit.UnitCore` and ``model.py`` with a function
    ``build(unit, params, layout)``. Defining the class registers the kind.

    Attributes
    ----------
    kind : str
        Name of the kind in the design table.
    weights : str
        Input whose tiles the unit buffers: one is loaded while another is used; empty for none.
    """

    kind: ClassVar[str]
    weights: ClassVar[str] = ""
    kinds: ClassVar[dict[str, type[UnitParams]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        subject = f"the unit {cls.__name__} at {user_line()}"
        check_class(cls, subject)
        if "kind" in vars(cls):
            identifier(cls.kind, f"{subject}: its kind")
            registry.check_free(cls, "unit", cls.kind, UnitParams.kinds)
            UnitParams.kinds[cls.kind] = cls

    def __post_init__(self) -> None:
        take_fields(self)

    @property
    @abstractmethod
    def inputs(self) -> tuple[str, ...]:
        """Names of the input ports, in order."""

    @property
    @abstractmethod
    def outputs(self) -> tuple[str, ...]:
        """Names of the output ports, in order."""

    @property
    def main(self) -> str:
        """The actor that represents the unit in reports.

        Empty for units that only pass beats on: they neither compute, store, route nor merge.
        """
        return ""

    @property
    def lowered(self) -> int:
        """Wire levels by which groups of the output are lower than those of the input."""
        return 0

    @property
    def tiled(self) -> bool:
        """Whether all operands have the dims of tiles, which flags are given then."""
        return False

    @property
    def decides(self) -> str:
        """The output of selectors that the unit makes of data, which no cycle model has.

        Then the contents of these selectors are given to the cycle model, by the unit's name.
        """
        return ""

    @property
    def per_run(self) -> bool:
        """Whether its cycle model depends on inputs, stalls or memory, which runs differ in.

        Then the cycle model is laid out for each run, and may read ``layout.run``.
        """
        return bool(self.decides)

    @property
    def by_arrival(self) -> bool:
        """Whether time decides in which order it takes its inputs.

        Then the cycle model reports that order, and the reference replays it.
        """
        return False

    def summary(self) -> dict[str, object]:
        """Parameters by name as people read them; what is not there is left out."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in given.items() if value is not None}

    def problem(self, unit: Unit, design: Design) -> str | None:
        """Why a unit with these parameters can't be built between its channels, or None."""
        return None

    def errors(self, unit: Unit, design: Design) -> dict[int, str]:
        """By cause in the register ``detail`` what the unit says, with ``{}`` for the number.

        Cause 0 is for units that report no cause.
        """
        streams = ", ".join(unit.inputs.values())
        return {UNTOLD: f"{unit.name} meets what the types of its inputs exclude, of {streams}"}

    def applied(self, element: str, bits: int) -> int | str:
        """Bits of the results of an element-wise function of one operand; else why it is not one.

        Parameters
        ----------
        element : str
            Element type of the operand.
        bits : int
            Bits of the operand.
        """
        return f"is a {self.kind}, and only functions of single numbers can be one"

    def beat_lanes(self, lanes: int) -> int:
        """Lanes of the beats that its pipelines take."""
        return lanes

    def delay(self, lanes: int) -> int:
        """Cycles from the handshake at the pipelined output until the payload is valid."""
        return 0

    def value_bits(self, port: str) -> int:
        """Bits of a lane that values of an output need, if they need fewer than it has; else 0."""
        return 0

    def queues(self, unit: Unit, design: Design) -> list[Channel]:
        """FIFOs inside the unit."""
        return []

    def rams(self, unit: Unit, design: Design) -> list[Ram]:
        """The unit's own memories that are block RAM where they are large, without its queues."""
        return []

    def memory_bits(self, unit: Unit, design: Design) -> int:
        """Bits of the unit's own memories, without its queues and tables of constants."""
        return sum(ram.bits * ram.rows for ram in self.rams(unit, design) if not ram.constant)

    def lean(self) -> UnitParams:
        """The parameters with the least memory with which all runs still end; others have room to
        write while they read.
        """
        return self

    def extents(self, x: Extents) -> Extents:
        """The dims of the output by those of the input, for units with one of each."""
        return x

    def rewritten(self, rank: int) -> Levels | None:
        """What becomes of the levels of a stream of so many, for units that do nothing else.

        None for all other units. Such a unit takes no FIFO of its own, unless `swallows`.
        """
        return None

    def behind(self, inner: UnitParams, rank: int) -> UnitParams | None:
        """The unit that does what `inner` and then this one do, both of one input and one output.

        Parameters
        ----------
        inner : UnitParams
        rank : int
            Highest wire stop level of what `inner` reads.

        Returns
        -------
        UnitParams or None
            None where two units are needed.
        """
        return None

    def branched(self, count: int) -> UnitParams | None:
        """The unit that sends what it sends to `count` outputs in the same cycle, or None."""
        return None

    def swallows(self, x: Extents) -> bool:
        """Whether such a unit may take a beat, of a stream with these dims, and send none."""
        return False

    def multipliers(self, design: Design) -> int:
        """Hardware multipliers of the unit."""
        return 0

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """The unit as its actors, for the sizing of FIFOs.

        By default it is one that takes a beat of every input and gives a beat to every output.

        Parameters
        ----------
        unit : Unit
        extents : mapping of str to Extents
            The dims of every channel of tiles, selectors or flags, and of no other.
        """
        inputs, outputs = (
            tuple(c for c in names.values() if c in extents)
            for names in (unit.inputs, unit.outputs)
        )
        return [Part(inputs, outputs, copied(*outputs))] if inputs or outputs else []

    def cycle_model(self) -> Callable[[Unit, Any, Any], None] | None:
        """The function that lays out the cycle model; None for a kind that has none."""
        module = self.module("model")
        build: Callable[[Unit, Any, Any], None] | None = getattr(module, "build", None)
        if build is None:
            raise StepError(
                f"the kind of unit {self.kind} has no cycle model: {module.__file__} lacks the "
                f"function build(unit, params, layout)"
            )
        check_model(build, f"the kind of unit {self.kind}")
        return build

    @classmethod
    def module(cls, name: str) -> ModuleType:
        """The module with the circuit (``rtl``) or the cycle model (``model``).

        A kind that is not in a file ``params.py`` has all in its own file.
        """
        package, _, own = cls.__module__.rpartition(".")
        return importlib.import_module(f"{package}.{name}" if own == "params" else cls.__module__)


def check_model(model: Any, subject: str) -> None:
    """Check the function that lays out a cycle model.

    Raises
    ------
    StepError
        If it is not a function, or takes other arguments.
    """
    if getattr(model, "is_step", False):
        raise StepError(
            f"{subject}: its model must be build(unit, params, layout), which adds actors, not the "
            f"step function {model.__name__} of one"
        )
    if not isinstance(model, FunctionType):
        raise StepError(
            f"{subject}: its model must be a function build(unit, params, layout), not "
            f"{shown(model)}"
        )
    check_signature(model, f"{subject}: its model {model.__name__}", "unit", "params", "layout")


def unfinished(params: object) -> str:
    """What parameters, which may be a user's, lack to be those of a unit; empty for nothing."""
    if isinstance(params, type):
        return "is a class where one of it is needed: call it"
    kind = type(params)
    if not isinstance(params, UnitParams):
        return "is not derived from UnitParams"
    if not hasattr(kind, "kind"):
        return 'lacks a name: kind = "..."'
    own = vars(kind).get("__annotations__", {})
    fields = [name for name, hint in own.items() if "ClassVar" not in str(hint)]
    if fields and "__dataclass_fields__" not in vars(kind):
        return "is not a dataclass: write @dataclass(frozen=True) above it"
    return ""


def params_class(kind: str) -> type[UnitParams]:
    """The parameters of a kind, by its name.

    Raises
    ------
    StepError
        If no such kind is known.
    """
    from stepgen.hw.units import load_all

    load_all()
    if kind not in UnitParams.kinds:
        near = ", ".join(get_close_matches(str(kind), sorted(UnitParams.kinds), cutoff=0))
        raise StepError(
            f"there is no kind of unit {shown(kind)}, nearest are {near}; {registry.ONES_OWN}"
        )
    return UnitParams.kinds[kind]


def params_from(kind: str, fields: Mapping[str, Any], what: str) -> UnitParams:
    """Parameters from JSON values, which `what` describes for messages."""
    return record(dict(fields), params_class(kind), what)
