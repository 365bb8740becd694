"""What every operator is made of, and how operators are found.

An operator is one file in ``stepgen/ir/ops``, named as the operator. It defines one subclass of
`Operator` (the type face) and one function of the same name, which is what users call.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Protocol, TypeVar

import sympy

from stepgen.ir import registry
from stepgen.ir.arguments import checked
from stepgen.ir.dims import Dim, Symbols, show_shape
from stepgen.ir.dtypes import ElementType, Selector, Tile
from stepgen.ir.errors import StepError
from stepgen.ir.methods import Methods

if TYPE_CHECKING:
    from stepgen.ir.graph import Graph
    from stepgen.ir.policy import Policy
    from stepgen.ir.stream import Node, Out, Stream

_PACKAGE = "stepgen.ir.ops"

C = TypeVar("C", bound=Callable[..., Any])


@dataclass(frozen=True)
class Call:
    """One use of an operator while it is being checked.

    Attributes
    ----------
    graph : Graph
        The graph that the node is to join.
    op : str
        Name of the operator.
    inputs : tuple of Stream
        What it reads.
    attrs : dict
        Its parameters.
    where : str
        The user's line.
    """

    graph: Graph
    op: str
    inputs: tuple[Stream, ...]
    attrs: dict[str, Any]
    where: str

    @property
    def symbols(self) -> Symbols:
        """Where fresh dims come from."""
        return self.graph.symbols

    def fail(self, message: str) -> NoReturn:
        """Raise the user's mistake, with the operator's name and the line in front."""
        raise StepError(f"{self.op} at {self.where}: {message}")

    def tile(self, stream: Stream) -> Tile:
        """The tile type of a stream, or an error that it carries none."""
        if not isinstance(stream.dtype, Tile):
            self.fail(f"{stream.name} must be a stream of tiles, not {stream}")
        return stream.dtype

    def selector(self, stream: Stream) -> Selector:
        """The selector type of a stream, or an error that it carries none."""
        if not isinstance(stream.dtype, Selector):
            self.fail(f"{stream.name} must be a stream of selectors, not {stream}")
        return stream.dtype

    def integer(self, name: str, low: int, high: int | None = None) -> int:
        """The integer parameter `name`, checked to lie in ``low..high``."""
        value: int = self.attrs[name]
        if high is not None and high < low:
            self.fail(f"{name} can't be {value}: there is no choice")
        if value < low or (high is not None and value > high):
            limit = f"of at least {low}" if high is None else f"within {low}..{high}"
            self.fail(f"{name} must be an integer {limit}, not {value}")
        return value

    def integers(self, name: str, low: int) -> tuple[int, ...]:
        """The parameter `name`, checked to be integers of at least `low`."""
        value: tuple[int, ...] | None = self.attrs[name]
        if not value or min(value) < low:
            self.fail(f"{name} must be a sequence of integers of at least {low}, not {value}")
        return value

    def constant(self, what: str, value: float, element: ElementType) -> None:
        """Check that a number is one of an element type; floats are rounded."""
        if element.limits is None:
            return
        low, high = element.limits
        if not low <= value <= high or value != int(value):
            self.fail(f"{what} needs a whole number of {low} to {high} for {element}, not {value}")

    def affine(self, shape: Sequence[int], stride: Sequence[int]) -> None:
        """Check that a reading has one stride per dim."""
        if len(shape) != len(stride):
            self.fail(
                f"shape {list(shape)} and stride {list(stride)} must have one number for each dim, "
                f"but they have {len(shape)} and {len(stride)}"
            )

    def level(self, name: str, stream: Stream, low: int = 0) -> int:
        """The parameter `name`, checked to be a rank that chunks of `stream` can have."""
        value: int = self.attrs[name]
        if stream.rank < low:
            self.fail(
                f"{stream.name} must have a rank of at least {low}, but it is {stream} of rank "
                f"{stream.rank}"
            )
        if not low <= value <= stream.rank:
            self.fail(
                f"{name} must be an integer within {low}..{stream.rank}, not {value}, since "
                f"{stream.name} is {stream} of rank {stream.rank}"
            )
        return value

    def same_shape(self, a: Stream, b: Stream) -> None:
        """Check that two streams have one shape."""
        self.same_dims(a.shape, b.shape, a.name, b.name)

    def same_dims(
        self,
        a: Sequence[Dim],
        b: Sequence[Dim],
        a_name: str,
        b_name: str,
        *,
        lowest: int = 0,
    ) -> None:
        """Check that two lists of dims are equal.

        Parameters
        ----------
        a, b : sequence of Dim
            Outermost first.
        a_name, b_name : str
            What they are the shape of.
        lowest : int
            Level of the last dim, for the message.
        """
        shapes = f"{a_name} has shape {show_shape(a)} and {b_name} has shape {show_shape(b)}"
        if len(a) != len(b):
            self.fail(f"{shapes}, which differ in rank, {len(a) - 1} against {len(b) - 1}")
        for index, (left, right) in enumerate(zip(a, b, strict=True)):
            if not left.same(right):
                level = lowest + len(a) - 1 - index
                self.fail(f"{shapes}, which differ in dim D{level}, {left} against {right}")


class Sizes(Protocol):
    """What a run told about sizes that are decided at run time."""

    @property
    def policy(self) -> Policy:
        """How bytes are counted."""

    @property
    def tokens(self) -> int:
        """Elements that the operator emitted."""

    def element(self, stream: Stream) -> int:
        """Bytes of the largest element of a stream."""

    def largest(self, node: Node) -> int:
        """Scalars of the largest tile that a node emitted, or of the largest buffer it filled."""

    def operands(self, node: Node) -> int:
        """Bytes of the operands that the policy counts for a node's function."""


class Operator(ABC):
    """The type face of an operator: shapes, checks, symbolic costs, and what it does to streams.

    Attributes
    ----------
    port : "in" or "out" or None
        Whether a stream comes from outside or leaves the program here.
    reads, writes : "tensor" or "buffer" or None
        What it takes its tiles out of, and what it puts them into: off-chip memory, or a buffer on
        chip.
    copies : bool
        Whether every output is its input.
    keeps_tiles : bool
        Whether it hands on the tiles of its first input where they lie.
    computes : bool
        Whether it is given compute units for its function.
    is_main : bool
        Whether it computes, loads, stores, routes or merges, so that pictures show it; the others
        follow these.
    circuit_needs : str or None
        What it takes to build it, where it has no circuit yet.
    optional_outputs : frozenset of int
        Outputs that a program need not use.
    is_sink : bool
        Whether the operator has an effect of its own, so that nobody has to read its outputs.
    writes_unnoticed : bool
        Whether it writes a tensor and nobody learns when, so that no other may use the tensor.
    """

    port: ClassVar[Literal["in", "out"] | None] = None
    reads: ClassVar[Literal["tensor", "buffer"] | None] = None
    writes: ClassVar[Literal["tensor", "buffer"] | None] = None
    copies: ClassVar[bool] = False
    keeps_tiles: ClassVar[bool] = False
    computes: ClassVar[bool] = False
    is_main: ClassVar[bool] = False
    circuit_needs: ClassVar[str | None] = None
    optional_outputs: ClassVar[frozenset[int]] = frozenset()
    is_sink: ClassVar[bool] = False
    writes_unnoticed: ClassVar[bool] = False

    @abstractmethod
    def infer(self, call: Call) -> Sequence[Out]:
        """Check one use and say what comes out.

        Raises
        ------
        StepError
            If the inputs or parameters don't fit.
        """

    def ends_with(self, node: Node) -> Sequence[int]:
        """The inputs that must have ended before what comes out ends.

        The run lasts until the others have ended as well.
        """
        return range(len(node.inputs))

    def steers(self, node: Node, index: int) -> bool:
        """Whether an input only says where, or how often, something else comes out."""
        return False

    def steered_by(self, node: Node) -> Sequence[int]:
        """The inputs whose numbers or flags decide what a use does; selectors are not meant."""
        return ()

    def contents(self, node: Node, port: int) -> Sequence[int] | None:
        """The inputs whose contents an output has, by default all that do not steer.

        None where they are computed of data, and no input where the structure tells them.
        """
        return [index for index in range(len(node.inputs)) if not self.steers(node, index)]

    def chunks(self, node: Node, rank: int) -> int | None:
        """Rank of the chunks of inputs of which each rank-`rank` chunk of an output is made.

        None where chunks are made of several, or nothing is known of them.
        """
        return None

    def repeats(self, node: Node) -> int:
        """Rank of the chunks that are one element of the input again and again; 0 without any."""
        return 0

    def traffic(self, node: Node, policy: Policy) -> sympy.Expr:
        """Off-chip bytes that a use moves (paper, table of metrics)."""
        return sympy.Integer(0)

    def memory(self, node: Node, policy: Policy) -> sympy.Expr:
        """On-chip bytes that a use needs."""
        return sympy.Integer(0)

    def measured_memory(self, node: Node, sizes: Sizes) -> int:
        """`memory` in the numbers of a run, where its extents are decided at run time.

        By default an element of the first output.
        """
        return sizes.element(node.outputs[0])

    def measured_element(self, node: Node, sizes: Sizes) -> int:
        """Bytes of the largest buffer or tuple that came out of a use, by default as it went in."""
        kind = type(node.outputs[0].dtype)
        return max(sizes.element(s) for s in node.inputs if isinstance(s.dtype, kind))

    def flops(self, node: Node, policy: Policy) -> sympy.Expr:
        """Arithmetic operations that a use does over the whole run."""
        return sympy.Integer(0)


class StandIn(Operator):
    """What makes a stream that is fed back, until it is connected: nothing is known of it."""

    def infer(self, call: Call) -> Sequence[Out]:
        """Its type is declared (`Graph.feedback`)."""
        return []


_STAND_IN = StandIn()


def face_of(node: Node) -> Operator:
    """The type face of a node's operator."""
    shipped = _shipped()
    return shipped[node.op] if node.op in shipped else own_operators().get(node.op, _STAND_IN)


def operators() -> dict[str, Operator]:
    """Every operator by name: one instance per file of ``stepgen/ir/ops``, and users' own."""
    return dict(sorted((_shipped() | own_operators()).items())) if OWN else _shipped()


OWN: dict[str, type[Operator]] = {}
"""Operators of users' own by name, as far as their modules are imported (`stepgen.ir.own`)."""


def own_operators() -> dict[str, Operator]:
    """Users' own operators by name."""
    return {name: _instance(kind) for name, kind in OWN.items()}


@cache
def _instance(kind: type[Operator]) -> Operator:
    return kind()


@cache
def _shipped() -> dict[str, Operator]:
    found = registry.classes(_PACKAGE, Operator)  # type: ignore[type-abstract]
    return {name: cls() for name, cls in found.items()}


@cache
def functions() -> dict[str, Callable[..., Any]]:
    """The user-facing function of every operator that has one."""
    return {
        name: getattr(module, name)
        for name, module in registry.modules(_PACKAGE).items()
        if hasattr(module, name)
    }


def public(function: C) -> C:
    """Let users call an operator: guarded by the door of arguments, and also as a method.

    It becomes a method where the first of its parameters that has to do with streams is a `Stream`,
    not several or an optional one.
    """
    place = _place(inspect.signature(function))
    if place is not None:
        setattr(Methods, function.__name__, checked(_method(function, place)))
    return checked(function)


def as_method(signature: inspect.Signature) -> inspect.Signature:
    """The signature of the method that an operator of this one becomes.

    ``*xs`` stays, for further streams.
    """
    parameters = [*signature.parameters.values()]
    place = _place(signature)
    if place is not None and parameters[place].kind is not inspect.Parameter.VAR_POSITIONAL:
        del parameters[place]
    myself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return signature.replace(parameters=[myself, *parameters])


def _place(signature: inspect.Signature) -> int | None:
    for place, parameter in enumerate(signature.parameters.values()):
        hint = parameter.annotation
        written = hint if isinstance(hint, str) else inspect.formatannotation(hint)
        if "Stream" in written:
            return place if written.rpartition(".")[2] == "Stream" else None
    return None


def _method(function: Callable[..., Any], place: int) -> Callable[..., Any]:
    name, hint = [*function.__annotations__.items()][place]

    @wraps(function)
    def method(self: Stream, *args: Any, **kwargs: Any) -> Any:
        return function(*args[:place], self, *args[place:], **kwargs)

    signature = vars(method)["__signature__"] = as_method(inspect.signature(function))
    if name not in signature.parameters:
        told = rf"`{name}`|\b{name}(?=(, \w+)* : )"
        method.__doc__ = re.sub(told, "self", function.__doc__ or "")
    method.__annotations__ = {**function.__annotations__, "self": hint}
    method.__qualname__ = f"Stream.{function.__name__}"
    return method
