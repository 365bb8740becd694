"""Base class of operators, and how they are found.

An operator is one file in ``stepgen/ops``, named as the operator. It defines one subclass of
`Operator` and one function of the same name, which is what users call.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Protocol, TypeVar

from stepgen.ir import registry
from stepgen.ir.arguments import checked
from stepgen.ir.dims import Dim, Symbols, indicators, show_shape
from stepgen.ir.dtypes import ElementType, Selector, Tile
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr, constant, product_of
from stepgen.ir.homes import HOMES
from stepgen.ir.methods import Methods

if TYPE_CHECKING:
    from stepgen.ir.graph import Graph
    from stepgen.ir.ordering import Ordering
    from stepgen.ir.policy import Policy
    from stepgen.ir.stream import Node, Out, Stream
    from stepgen.ir.tile_order import TileOrder

C = TypeVar("C", bound=Callable[..., Any])


@dataclass(frozen=True)
class Call:
    """One use of an operator, for its type rule.

    Attributes
    ----------
    graph : Graph
        The graph of the node.
    op : str
        Name of the operator.
    inputs : tuple of Stream
        Its inputs.
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
        """The graph's symbols, for fresh dims."""
        return self.graph.symbols

    def fail(self, message: str) -> NoReturn:
        """Raise a user's mistake, with the operator's name and the line as prefix."""
        raise StepError(f"{self.op} at {self.where}: {message}")

    def tile(self, stream: Stream) -> Tile:
        """The tile type of a stream, or an error if it has no tiles."""
        if not isinstance(stream.dtype, Tile):
            self.fail(f"{stream.name} must be a stream of tiles, not {stream}")
        return stream.dtype

    def selector(self, stream: Stream) -> Selector:
        """The selector type of a stream, or an error if it has no selectors."""
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
        """Check that a number is representable in an element type; floats are rounded."""
        if element.limits is None:
            return
        low, high = element.limits
        if not low <= value <= high or value != int(value):
            self.fail(f"{what} needs a whole number of {low} to {high} for {element}, not {value}")

    def affine(self) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """Shape, stride and offset of a reading, checked."""
        shape, stride = self.integers("shape", 1), self.integers("stride", 0)
        offset = self.integer("offset", 0)
        if len(shape) != len(stride):
            self.fail(
                f"shape {list(shape)} and stride {list(stride)} must have one number for each dim, "
                f"but they have {len(shape)} and {len(stride)}"
            )
        return shape, stride, offset

    def level(self, name: str, stream: Stream, low: int = 0) -> int:
        """The parameter `name`, checked to be a rank of chunks of `stream`."""
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
        """Check that two streams have the same shape."""
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
            Names for the message.
        lowest : int
            Level of the last dim, for the message.
        """
        if len(a) == len(b) and all(map(Dim.same, a, b)):
            return
        shapes = f"{a_name} has shape {show_shape(a)} and {b_name} has shape {show_shape(b)}"
        if len(a) != len(b):
            self.fail(f"{shapes}, which differ in rank, {len(a) - 1} against {len(b) - 1}")
        for index, (left, right) in enumerate(zip(a, b, strict=True)):
            if not left.same(right):
                level = lowest + len(a) - 1 - index
                hint = self._never_empty(left, right, [a, b])
                self.fail(f"{shapes}, which differ in dim D{level}, {left} against {right}{hint}")

    def _never_empty(self, left: Dim, right: Dim, shapes: Sequence[Sequence[Dim]]) -> str:
        """What makes ``min(1, n)`` equal to 1, for the message, if that is how two dims differ."""
        for one, other, shape in ((left, right, shapes[0]), (right, left, shapes[1])):
            flags = [f for f in indicators(one.expr) if f not in indicators(other.expr)]
            if flags and one.expr == product_of(other.expr, *flags):
                return self._hint(flags, show_shape(shape))
        return ""

    def _hint(self, flags: Sequence[Expr], shape: str) -> str:
        symbols = {s for flag in flags for s in flag.free_symbols}
        names = " or ".join(sorted(map(str, symbols)))
        inputs = self.graph.inputs.values()
        declared = {
            s for x in inputs for d in (*x.shape, *x.dtype.dims) for s in d.expr.free_symbols
        }
        positive = f"declare {names} with positive=True if it never is, or "
        return (
            f": where {names} is 0 there is none; {positive if symbols <= declared else ''}load "
            f"the other stream with ref=s, where s has shape {shape}, as has "
            f"x.promote().accum(fn.count(), rank=1)"
        )


class Sizes(Protocol):
    """Sizes of one run, for dims that are known only at run time."""

    @property
    def policy(self) -> Policy:
        """The accounting model."""

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
    """Type rule, golden model, symbolic costs and properties of an operator.

    One that also derives from `stepgen.compile.circuit.Circuit` has a circuit.

    Attributes
    ----------
    port : "in" or "out" or None
        Whether it is an input or an output of the program.
    reads, writes : "tensor" or "buffer" or None
        Memory that it reads its tiles from, and writes them to: a tensor off chip, or a buffer on
        chip.
    copies : bool
        Whether every output is a copy of its input.
    keeps_tiles : bool
        Whether it passes on the tiles of its first input without moving them.
    computes : bool
        Whether compute units are allocated to it.
    is_main : bool
        Whether it computes, loads, stores, routes or merges, so that figures show it; other
        operators only pass elements on.
    circuit_needs : str or None
        What its circuit requires, if it has none yet.
    optional_outputs : frozenset of int
        Outputs that a program need not use.
    is_sink : bool
        Whether the operator has a side effect, so that its outputs need not be used.
    writes_unnoticed : bool
        Whether it writes a tensor without acknowledgement, so that no other may use the tensor.
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
        """Type rule: check one use and return the types of its outputs.

        Raises
        ------
        StepError
            If inputs or parameters are not accepted.
        """

    @abstractmethod
    def run(self, use: Any) -> Any:
        """The golden model: a generator that takes tokens and emits tokens.

        Arrays in them are read-only, those taken and those emitted.

        Parameters
        ----------
        use : stepgen.semantics.process.Use
            Readers of the inputs, writers of the outputs, and parameters by name.
        """

    def ends_with(self, node: Node) -> Sequence[int]:
        """The inputs that must have ended before the outputs end.

        The run lasts until the others have ended too.
        """
        return range(len(node.inputs))

    def steers(self, node: Node, index: int) -> bool:
        """Whether an input only determines where, or how often, elements of another are sent."""
        return False

    def steered_by(self, node: Node) -> Sequence[int]:
        """The inputs whose numbers, flags or selectors control a use."""
        return ()

    def contents(self, node: Node, port: int) -> Sequence[int] | None:
        """The inputs whose contents an output has, by default all that do not steer.

        None if the contents are computed from data; empty if they follow from structure.
        """
        return [index for index in range(len(node.inputs)) if not self.steers(node, index)]

    def chunks(self, node: Node, rank: int) -> int | None:
        """Rank of the chunks of inputs from which each rank-`rank` chunk of an output is made.

        None if a chunk is made from several, or it is unknown.
        """
        return None

    def order(self, of: Ordering) -> TileOrder:
        """The order of its tiles, from those of its inputs; by default data of their own."""
        return of.own()

    def repeats(self, node: Node) -> int:
        """Rank of the chunks that are repetitions of one element of the input; 0 for none."""
        return 0

    def traffic(self, node: Node, policy: Policy) -> Expr:
        """Off-chip traffic of a use in bytes (paper, table of metrics)."""
        return constant(0)

    def memory(self, node: Node, policy: Policy) -> Expr:
        """On-chip memory of a use in bytes."""
        return constant(0)

    def measured_memory(self, node: Node, sizes: Sizes) -> int:
        """`memory` for the sizes of a run, if it depends on extents known only at run time.

        By default an element of the first output.
        """
        return sizes.element(node.outputs[0])

    def measured_element(self, node: Node, sizes: Sizes) -> int:
        """Bytes of the largest buffer or tuple of the outputs, by default as of the inputs."""
        kind = type(node.outputs[0].dtype)
        return max(sizes.element(s) for s in node.inputs if isinstance(s.dtype, kind))

    def flops(self, node: Node, policy: Policy) -> Expr:
        """Arithmetic operations of a use over the run."""
        return constant(0)


class StandIn(Operator):
    """Placeholder for the producer of a feedback that is not connected yet."""

    def infer(self, call: Call) -> Sequence[Out]:
        """Its type is declared (`Graph.feedback`)."""
        return []

    def run(self, use: Any) -> Any:
        """Refuse the run."""
        raise StepError(f"{use.node.name}: the operator {use.node.op} has no meaning yet")


_STAND_IN = StandIn()


def face_of(node: Node) -> Operator:
    """The `Operator` of a node."""
    shipped = _shipped()
    return shipped[node.op] if node.op in shipped else own_operators().get(node.op, _STAND_IN)


def operators() -> dict[str, Operator]:
    """Every operator by name: one instance per file of ``stepgen/ops``, and users' own."""
    return dict(sorted((_shipped() | own_operators()).items())) if OWN else _shipped()


OWN: dict[str, type[Operator]] = {}
"""Users' own operators by name, if their modules are imported (`stepgen.ir.own`)."""


def own_operators() -> dict[str, Operator]:
    """Users' own operators by name."""
    return {name: _instance(kind) for name, kind in OWN.items()}


@cache
def _instance(kind: type[Operator]) -> Operator:
    return kind()


@cache
def _shipped() -> dict[str, Operator]:
    found = registry.classes(HOMES["operators"], Operator)  # type: ignore[type-abstract]
    return {name: cls() for name, cls in found.items()}


@cache
def functions() -> dict[str, Callable[..., Any]]:
    """The user-facing function of every operator that has one."""
    return {
        name: getattr(module, name)
        for name, module in registry.modules(HOMES["operators"]).items()
        if hasattr(module, name)
    }


def public(function: C) -> C:
    """Make an operator callable by users: with validated arguments, and also as a method.

    It becomes a method if the first of its stream parameters is a single, required `Stream`.
    """
    place = _place(inspect.signature(function))
    if place is not None:
        setattr(Methods, function.__name__, checked(_method(function, place)))
    return checked(function)


def as_method(signature: inspect.Signature) -> inspect.Signature:
    """The signature of an operator as a method.

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
        pattern = rf"`{name}`|\b{name}(?=(, \w+)* : )"
        method.__doc__ = re.sub(pattern, "self", function.__doc__ or "")
    method.__annotations__ = {**function.__annotations__, "self": hint}
    method.__qualname__ = f"Stream.{function.__name__}"
    return method
