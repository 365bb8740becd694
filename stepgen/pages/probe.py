"""What functions take and give, and which units are built of them, found by trying.

Types are those that the type rule lets through, units those that the lowering chooses.
"""

from __future__ import annotations

import inspect
import itertools
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from stepgen.compile.lower import Lowering
from stepgen.compile.memory_map import place_tensors
from stepgen.hw.arithmetic.operations import LOOKUP_ROWS
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Bus
from stepgen.ir.docstrings import appliers
from stepgen.ir.dtypes import (
    ELEMENTS,
    NUMBERS,
    DataType,
    ElementType,
    Selector,
    Tile,
    address,
    bool_,
    int8,
    wide,
)
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr
from stepgen.ir.function import Function, maker
from stepgen.ir.graph import Graph
from stepgen.ir.operator import functions, operators
from stepgen.ir.stream import Node, Stream
from stepgen.ir.wire import LANES

EXTENTS: dict[str, int | str] = {name: name for name in "RCNDK"}
"""Dims by name: of tiles R, C and N, of streams D, and K within a chunk."""

NUMBERED: dict[str, int | str] = {"R": 4, "C": 8, "N": 16, "D": 6, "K": 3}
"""The same as numbers, for circuits."""

SELECTORS = (Selector(4), Selector(4, hot=1))

Shape = tuple[int | str, int | str]

_FIRST: tuple[Shape, ...] = (("R", "C"), ("R", 1), (1, "C"))
_OTHERS: tuple[Shape, ...] = (("C", "N"), ("N", "C"), ("R", "C"), (1, "C"))
_OF_ADDRESSES: tuple[Shape, ...] = ((1, 1), (1, 2))
_ANY_INTEGER, _ANY_NUMBER, _OWN = 8, 2, {"k": 2, "table": [0] * LOOKUP_ROWS}


def parameters(kind: type[Function]) -> list[dict[str, Any]]:
    """Parameters to try a function with: every choice where there are few, else one that fits."""
    hints = typing.get_type_hints(kind)
    tried: list[list[tuple[str, Any]]] = []
    for name, parameter in inspect.signature(kind).parameters.items():
        hint = hints[name]
        if typing.get_origin(hint) is Literal:
            tried.append([(name, choice) for choice in typing.get_args(hint)])
        elif ElementType in typing.get_args(hint) and parameter.default is not None:
            tried.append([(name, element) for element in (*NUMBERS, address)])
        elif hint is bool:
            tried.append([(name, choice) for choice in (False, True)])
        elif parameter.default is parameter.empty:
            number = _ANY_INTEGER if hint is int else _ANY_NUMBER
            tried.append([(name, _OWN.get(name, number))])
    return [dict(chosen) for chosen in itertools.product(*tried)]


@dataclass(frozen=True)
class Operand:
    """The type of what a function is given, with extents by name.

    Attributes
    ----------
    element : ElementType or Selector
        Of a tile its element type, or a selector.
    shape : tuple of int or str
        Rows and columns of a tile.
    """

    element: ElementType | Selector
    shape: Shape = (1, 1)

    def dtype(self, extents: Mapping[str, int | str]) -> DataType:
        """The type, with these extents."""
        if isinstance(self.element, Selector):
            return self.element
        rows, cols = (extents[n] if isinstance(n, str) else n for n in self.shape)
        return self.element[rows, cols]


def operands(element: ElementType, number: int) -> Iterator[tuple[Operand, ...]]:
    """So many tiles that a function may be given, the most general first.

    They are of one element type, but for addresses, what int8 scales, rows where sums start, and
    flags that choose.
    """
    tiles = [Operand(element, shape) for shape in _FIRST]
    others = [Operand(element, shape) for shape in _OTHERS]
    addresses = [Operand(address, shape) for shape in _OF_ADDRESSES]
    if element == address:
        tiles += addresses
    if number > 2:
        tiles += [Operand(bool_, shape) for shape in _FIRST]
    narrow = [Operand(int8, shape) for shape in _OTHERS[2:] if element != int8]
    sums = [Operand(wide(element), (1, "N"))] if number > 2 else []
    rest = (*others, addresses[0], *narrow, *sums)
    for first in tiles:
        yield from ((first, *more) for more in itertools.product(rest, repeat=number - 1))


@dataclass(frozen=True)
class FunctionUse:
    """One use of a function that its type rule lets through.

    Attributes
    ----------
    op : str
        The operator that applies it.
    parameters : dict
        Of the function.
    operands : tuple of Operand
        What it is given.
    made : Stream
        What comes out.
    units : tuple of UnitParams
        The units that it becomes; empty without a circuit.
    """

    op: str
    parameters: Mapping[str, Any]
    operands: tuple[Operand, ...]
    made: Stream
    units: tuple[UnitParams, ...]

    @property
    def function(self) -> Function:
        """The function."""
        made: Function = self.made.node.attrs["fn"]
        return made

    @property
    def flops(self) -> Expr:
        """Operations on one element."""
        tiles = [s.dtype for s in self.made.node.inputs]
        return self.function.flops(*(t for t in tiles if isinstance(t, Tile)))


@cache
def uses(kind: type[Function]) -> tuple[FunctionUse, ...]:
    """One use per operator, parameters and element type: the most general one."""
    return (*_uses(kind),)


def _uses(kind: type[Function]) -> Iterator[FunctionUse]:
    ops = {type(face).__name__: op for op, face in operators().items()}
    for op, given in itertools.product([ops[name] for name in appliers(kind)], parameters(kind)):
        for element in ELEMENTS.values():
            # A function of two tiles may fold one stream: the other tile is the state.
            numbers = dict.fromkeys((kind.arity, 1))
            tried = (o for number in numbers for o in operands(element, number))
            yield from itertools.islice(_fitting(kind, op, given, tried), 1)
            for more in range(1, kind.optional + 1):
                further = _fitting(kind, op, given, operands(element, kind.arity + more))
                yield from itertools.islice(further, 1)
        selectors = ((Operand(s),) * kind.arity for s in SELECTORS)
        yield from _fitting(kind, op, given, selectors)


def _fitting(
    kind: type[Function],
    op: str,
    given: Mapping[str, Any],
    tried: Iterable[tuple[Operand, ...]],
) -> Iterator[FunctionUse]:
    try:
        function = maker(kind)(**given)
    except StepError:
        return
    for candidate in tried:
        made = _made(function, op, candidate, EXTENTS)
        if made is None and any(
            "C" in o.shape for o in candidate if isinstance(o.element, ElementType)
        ):
            # a row of static length
            made = _made(function, op, candidate, {**EXTENTS, "C": NUMBERED["C"]})
        if made is not None:
            numbered = _made(function, op, candidate, NUMBERED)
            units = () if numbered is None else circuit(numbered.node)[0]
            yield FunctionUse(op, given, candidate, made, units)


def repeats(use: FunctionUse) -> bool:
    """Whether the other tiles of a use may have extents of 1, which are repeated."""
    kind, (first, *others) = type(use.function), use.operands
    if not others or any(o.shape != first.shape for o in others):
        return False
    tried = [(first, *(replace(o, shape=shape) for o in others)) for shape in ((1, "C"), ("R", 1))]
    return len([*_fitting(kind, use.op, use.parameters, tried)]) == len(tried)


def _made(
    function: Function,
    op: str,
    candidate: tuple[Operand, ...],
    extents: Mapping[str, int | str],
) -> Stream | None:
    """What a use gives, or None where the types do not fit."""
    hints = inspect.signature(functions()[op]).parameters
    flat, nested = (extents["D"],), (extents["D"], extents["K"])
    # Without a rank the dims of the stream do not matter.
    folds = "rank" in hints
    ways = [(s, {"rank": n}) for s in (flat, nested) for n in (0, 1)] if folds else [(flat, {})]
    init = {"init": None} if "init" in hints else {}
    dtypes = [_dtype(o, tuple(extents.items())) for o in candidate]
    for shape, rank in ways:
        attrs = {"fn": function, **rank, **init}
        try:
            _TRIED.add(op, [_input(n, d, shape) for n, d in enumerate(dtypes)], attrs)
        except StepError:
            continue
        g = Graph()
        xs = [g.input(f"x{n}", d, shape) for n, d in enumerate(dtypes)]
        return g.add(op, xs, attrs).outputs[0]
    return None


_TRIED = Graph()
"""Where it is tried whether types fit: they mostly don't, and inputs take the most time."""


@cache
def _dtype(operand: Operand, extents: tuple[tuple[str, int | str], ...]) -> DataType:
    """An operand's type with some extents."""
    return operand.dtype(dict(extents))


@cache
def _input(n: int, dtype: DataType, shape: tuple[int | str, ...]) -> Stream:
    """An operand's input there."""
    return _TRIED.input(f"x{len(_TRIED.inputs)}", dtype, shape)


def circuit(node: Node) -> tuple[tuple[UnitParams, ...], str]:
    """The units that a node becomes, or none and why not."""
    graph = node.graph
    lowering = Lowering(graph, LANES, Bus(), place_tensors(graph))
    needed = {node}
    for other in reversed(graph.nodes):
        if other in needed:
            needed |= {x.node for x in other.inputs}
    try:
        for other in graph.nodes:
            if other in needed:
                lowering.lower(other)
    except StepError as error:
        return (), str(error).partition(": ")[2]
    made = {lowering.made(stream) for stream in node.outputs}
    units = [u for u in lowering.units if u.origin == node.name or made & {*u.outputs.values()}]
    return tuple(u.params for u in units), ""


def travels(dtype: DataType) -> bool:
    """Whether a stream of such elements has a form in hardware."""
    g = Graph()
    return bool(circuit(g.input("x", dtype, (4,)).node)[0])
