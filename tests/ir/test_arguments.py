"""Every public parameter takes every hostile value: a StepError, or a program that works."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import hostile
import numpy as np
import pytest
from hostile import refused, works
from programs import shipped_functions
from seeds import slow

import stepgen as sg
from stepgen.ir.function import function_types
from stepgen.ir.operator import functions
from stepgen.ir.text import dumps, loads


def world() -> SimpleNamespace:
    """A graph with a stream of each kind."""
    g = sg.Graph("world")
    w = SimpleNamespace(g=g)
    w.x, w.y = (g.input(name, sg.int8[2, 8], (4, 3)) for name in ("x", "y"))
    w.one = g.input("one", sg.int8[2, 8], (4, 1))
    w.f = g.input("f", sg.f32[2, 8], (4, 3))
    w.sel = g.input("sel", sg.Selector(2, hot=1), (4,))
    w.at = g.input("at", sg.address[1, 1], (3,))
    w.row = g.input("row", sg.int8[2, 8], (3,))
    w.t = g.tensor("t", (8, 16), sg.int8)
    w.out = g.tensor("out", (24, 8), sg.int8)
    w.rows = g.tensor("rows", (8, 8), sg.int8)
    return w


def _parts(w: SimpleNamespace) -> tuple[sg.Stream, ...]:
    return sg.partition(w.x, w.sel, rank=1)


def _back(w: SimpleNamespace) -> sg.Feedback:
    return w.g.feedback(sg.int8[2, 8], (4, 3), "back")


# What is called, and with what: all parameters, so that each can be replaced.
OPERATORS: dict[str, Callable[[SimpleNamespace], dict[str, Any]]] = {
    "accum": lambda w: {"fn": sg.fn.add(), "xs": (w.x,), "rank": 1, "init": 0},
    "bufferize": lambda w: {"x": w.x, "rank": 1, "most": None},
    "concat": lambda w: {"xs": (w.x, w.one), "dim": 0},
    "eager_merge": lambda w: {"xs": _parts(w), "rank": 1},
    "expand": lambda w: {"x": w.one, "ref": None, "rank": 1, "count": 3},
    "flat_map": lambda w: {
        "fn": sg.fn.retile_streamify("row"),
        "x": w.x,
        "rank": 0,
        "padding": None,
    },
    "flatten": lambda w: {"x": w.x, "lo": 0, "hi": 1},
    "fork": lambda w: {"x": w.x, "n": 2},
    "linear_offchip_load": lambda w: {
        "tensor": w.t,
        "tile": (4, 8),
        "shape": (2, 2),
        "stride": (2, 1),
        "offset": 0,
        "itensor": None,
        "ref": w.row,
    },
    "linear_offchip_store": lambda w: {"x": w.x, "tensor": w.out},
    "map": lambda w: {"fn": sg.fn.add(), "xs": (w.x, w.y)},
    "partition": lambda w: {"x": w.x, "sel": w.sel, "rank": 1, "num_consumers": 2},
    "promote": lambda w: {"x": w.x, "level": 1},
    "random_offchip_load": lambda w: {"addr": w.at, "tensor": w.t, "tile": (4, 8)},
    "random_offchip_store": lambda w: {
        "addr": w.at,
        "data": w.row,
        "tensor": w.rows,
        "tile": (2, 8),
    },
    "reassemble": lambda w: {"xs": _parts(w), "sel": w.sel, "rank": 1, "order": "index"},
    "reshape": lambda w: {"x": w.x, "dim": 0, "chunk": 2, "pad": 0},
    "scan": lambda w: {"fn": sg.fn.add(), "xs": (w.x,), "rank": 1, "init": 0},
    "split": lambda w: {"x": w.x, "sizes": (1, 2), "dim": 0},
    "streamify": lambda w: {
        "buf": w.x.bufferize(rank=1),
        "ref": None,
        "count": 2,
        "stride": (1,),
        "shape": (2,),
        "offset": 0,
        "itensor": None,
    },
    "unzip": lambda w: {"x": w.x.zip(w.y)},
    "zip": lambda w: {"x": w.x, "xs": (w.y,)},
}
MAKERS: dict[str, Callable[[SimpleNamespace], tuple[Callable[..., Any], dict[str, Any]]]] = {
    "example": lambda w: (sg.example, {"name": "moe"}),
    "Buffer": lambda w: (sg.Buffer, {"tile": sg.int8[2, 8], "shape": (sg.static(2),)}),
    "Graph": lambda w: (sg.Graph, {"name": "g"}),
    "Itensor": lambda w: (
        sg.Itensor,
        {"tile": (4, 8), "element": "int8", "loops": ((2, 4),), "map": ((0,), ())},
    ),
    "Selector": lambda w: (sg.Selector, {"n": 3, "hot": 1}),
    "Tile": lambda w: (sg.Tile, {"rows": 2, "cols": 8, "element": sg.int8}),
    "TupleType": lambda w: (sg.TupleType, {"items": (sg.int8[1, 4], sg.FLAG)}),
    "static": lambda w: (sg.static, {"extent": 3}),
    "dynamic": lambda w: (sg.dynamic, {"name": "D", "bound": 3, "positive": True}),
    "ragged": lambda w: (sg.ragged, {"name": "D", "bound": 3, "positive": True}),
    "metrics": lambda w: (sg.metrics, {"graph": w.g, "policy": "paper"}),
    "load": lambda w: (sg.load, {"path": "g.json"}),
    "save": lambda w: (sg.save, {"graph": w.g, "path": "g.json"}),
    "selector_counts": lambda w: (
        _parts(w) and sg.selector_counts,
        {"graph": w.g, "name": "sel", "mask": np.eye(4, 2, dtype=bool)},
    ),
    "Graph.input": lambda w: (w.g.input, {"name": "z", "dtype": sg.int8[1, 8], "shape": (4,)}),
    "Graph.output": lambda w: (w.g.output, {"stream": w.x, "name": "z"}),
    "Graph.tensor": lambda w: (
        w.g.tensor,
        {"name": "z", "shape": (4, 8), "element": sg.int8, "base": 0},
    ),
    "Graph.feedback": lambda w: (
        w.g.feedback,
        {"dtype": sg.int8[1, 8], "shape": (4,), "name": "z"},
    ),
    "Graph.add": lambda w: (
        w.g.add,
        {"op": "flatten", "inputs": (w.x,), "attrs": {"lo": 0, "hi": 1}, "name": "z"},
    ),
    "Graph.node": lambda w: (w.g.node, {"name": "x"}),
    "Graph.consumers": lambda w: (w.g.consumers, {"stream": w.x}),
    "Stream.fifo": lambda w: (w.x.fifo, {"depth": 4}),
    "Stream.dim": lambda w: (w.x.dim, {"level": 1}),
    "Stream.count": lambda w: (w.sel.count, {"consumer": 1}),
    "Feedback.connect": lambda w: (_back(w).connect, {"stream": w.x}),
    "Tensor.grid": lambda w: (w.t.grid, {"tile": (4, 8)}),
    "Metrics.evaluate": lambda w: (
        sg.metrics(_parts(w)[0].graph).evaluate,
        {"values": {"E0": 3, "E1": 1}},
    ),
    "ElementType.__getitem__": lambda w: (lambda shape: sg.int8[shape], {"shape": (2, 8)}),
}
MADE_BY_OTHERS = {
    *("Dim", "ElementType", "Feedback", "Function", "Metrics", "Node", "Stream", "StreamType"),
    *("Tensor", "StepError"),
}
"""Classes whose objects users get but do not construct."""
NOT_FOR_USERS = {"Graph.routing", "Graph.span", "Tensor.check_place"}


def test_everything_public_is_walked():
    walked = {*MAKERS, *OPERATORS}
    for name in (*sg.__all__, *functions()):
        thing = getattr(sg, name)
        if callable(thing) and name not in MADE_BY_OTHERS:
            assert name in walked, name
    for kind in (sg.Graph, sg.Stream, sg.Feedback, sg.Tensor, sg.Metrics):
        for name, method in vars(kind).items():
            if inspect.isfunction(method) and name[0] != "_" and len(_parameters(method)) > 1:
                assert f"{kind.__name__}.{name}" in walked | NOT_FOR_USERS, name
    for name, make in OPERATORS.items():
        assert {*make(world()), "name"} == _parameters(functions()[name]), name


def _parameters(function: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(function).parameters)


def call(function: Callable[..., Any], given: dict[str, Any]) -> Any:
    """Call with all parameters by name, or those behind ``*xs`` by place."""
    kinds = {n: p.kind for n, p in inspect.signature(function).parameters.items()}
    many = [n for n, kind in kinds.items() if kind is inspect.Parameter.VAR_POSITIONAL]
    if not many:
        return function(**given)
    first = list(kinds)[: list(kinds).index(many[0])]
    rest = given[many[0]]
    rest = rest if isinstance(rest, tuple) else (rest,)
    named = {n: v for n, v in given.items() if n not in (*first, *many)}
    return function(*(given[n] for n in first if n in given), *rest, **named)


def refused_at_the_call(error: sg.StepError) -> None:
    """The sentence names the user's line, or the file that can't be read or written."""
    refused(error)
    assert re.search(r" at test_arguments\.py:\d+|can't be (read|written)", str(error)), error


def walk(make: Callable[[SimpleNamespace], tuple[Callable[..., Any], dict[str, Any]]]) -> None:
    """Put every hostile value in the place of every parameter; what is refused changes nothing."""
    for key in make(world())[1]:
        w = None
        for what, value in hostile.values().items():
            if w is None:
                w = world()
                function, given = make(w)
                before = dumps(w.g)
            try:
                result = call(function, {**given, key: value})
            except sg.StepError as error:
                refused_at_the_call(error)
                continue
            except Exception as error:
                error.add_note(f"with {key} = {what}")
                raise
            try:
                works(result if isinstance(result, sg.Graph) else w.g)
            except Exception as error:
                error.add_note(f"later, with {key} = {what}")
                raise
            w = None
        assert w is None or dumps(w.g) == before


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    walk(lambda w: (getattr(sg, name), OPERATORS[name](w)))


def test_sets_have_no_order() -> None:
    """So they are not shapes, tiles or operands."""
    made = {n: lambda w, n=n: (getattr(sg, n), OPERATORS[n](w)) for n in OPERATORS} | MAKERS
    asked = set()
    for make in made.values():
        function, given = make(world())
        for key, value in given.items():
            if isinstance(value, tuple) and key != "xs":
                asked.add(key)
                with pytest.raises(sg.StepError, match=r"a set has no order|takes 2 extents") as e:
                    call(function, {**given, key: {*value}})
                refused_at_the_call(e.value)
    assert {"shape", "stride", "tile", "items", "inputs"} <= asked


@pytest.mark.parametrize("name", OPERATORS)
def test_what_is_missing_or_too_much_is_reported(name: str) -> None:
    w = world()
    given = OPERATORS[name](w)
    needed = {
        n
        for n, p in inspect.signature(functions()[name]).parameters.items()
        if p.default is p.empty and p.kind is not p.VAR_POSITIONAL
    }
    for key in needed - {"fn"}:
        rest = {"xs": ()} if name == "zip" else {}  # any stream can be its first
        with pytest.raises(sg.StepError, match=rf"^{name} at test_arguments.py:\d+: .*{key}"):
            call(getattr(sg, name), {k: v for k, v in {**given, **rest}.items() if k != key})
    with pytest.raises(sg.StepError, match=rf"^{name} at test_arguments.py:\d+: .*nonsense"):
        call(getattr(sg, name), {**given, "nonsense": 1})


@pytest.mark.parametrize("name", MAKERS)
def test_types_graphs_and_what_is_asked_of_them(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    walk(MAKERS[name])


VALID = {int: 2, float: 2, bool: False, str: "lt", Sequence[float]: range(256)}


Way = tuple[str, tuple[sg.Tile | sg.Selector, ...]]


OPS = ("map", "accum", "scan", "flat_map")
NAMES = shipped_functions()


def ways(arity: int, ops: Sequence[str]) -> Iterator[Way]:
    """Operators, and tiles for a function of so many operands."""
    kinds = [
        sg.int8[2, 8],
        sg.int8[8, 2],
        sg.int8[1, 1],
        sg.int32[2, 1],
        sg.int32[1, 2],
        sg.f32[2, 8],
        sg.address[1, 1],
        sg.address[1, 2],
        sg.bool_[1, 2],
        sg.bool_[2, 8],
        sg.Selector(2),
    ]
    return itertools.product(ops, itertools.product(kinds, repeat=arity))


def uses(function: sg.Function, tried: Iterable[Way]) -> Iterator[tuple[Way, sg.Graph]]:
    """Programs that use a function in the ways that it takes."""
    for op, dtypes in tried:
        try:
            apply(function, op, [operand(i, d) for i, d in enumerate(dtypes)])
        except sg.StepError as error:
            refused(error)
            continue
        g = sg.Graph("use")
        apply(function, op, [g.input(f"x{i}", d, (2, 3)) for i, d in enumerate(dtypes)])
        yield (op, dtypes), g


TRIED = sg.Graph("tried")
"""Where it is tried whether types fit: they mostly don't, and inputs take the most time."""


@cache
def operand(i: int, dtype: sg.Tile | sg.Selector) -> sg.Stream:
    """An operand there."""
    return TRIED.input(f"x{len(TRIED.inputs)}", dtype, (2, 3))


def apply(function: sg.Function, op: str, xs: list[sg.Stream]) -> None:
    if op == "map":
        sg.map(function, *xs)
    elif op == "flat_map":
        sg.flat_map(function, xs[0], rank=1)
    else:
        getattr(sg, op)(function, *xs, rank=1)


@pytest.mark.parametrize(
    ("name", "ops"),
    [
        *((name, OPS if function_types()[name].arity < 3 else OPS[:1]) for name in NAMES),
        *(slow((name, OPS)) for name in NAMES if function_types()[name].arity > 2),
    ],
)
def test_functions(name: str, ops: tuple[str, ...]) -> None:
    """Those of three operands are tried in Map alone, by slow tests in all operators."""
    kind = function_types()[name]
    hints = typing.get_type_hints(kind)
    fields = [f.name for f in dataclasses.fields(kind)]
    own = {"compare": "lt", "retile_streamify": "row"} | {"top_k": 1, "top_k_scores": 1}
    to = sg.int16 if name.startswith("requantize") else sg.f32
    if name.startswith("arg"):
        to = sg.int32
    given = {f: to if f == "to" else own.get(name, VALID.get(hints[f])) for f in fields}
    if name == "compare":  # its number stands for an operand
        given = {"op": "lt", "c": None}
    if name == "where":  # as do these
        given = dict.fromkeys(fields)
    taken = [way for way, _ in uses(getattr(sg.fn, name)(**given), ways(kind.arity, ops))]
    assert taken
    for key in fields:
        for what, value in hostile.values().items():
            try:
                function = getattr(sg.fn, name)(**{**given, key: value})
            except sg.StepError as error:
                refused_at_the_call(error)
                continue
            except Exception as error:
                error.add_note(f"with {key} = {what}")
                raise
            for _, graph in uses(function, taken):
                try:
                    works(graph)
                except Exception as error:
                    error.add_note(f"later, with {key} = {what} in {graph}")
                    raise


def test_an_iterator_is_read_once() -> None:
    """One with a wrong value is refused; read again, it would have nothing in it."""
    g = sg.Graph()
    with pytest.raises(sg.StepError, match="shape must be a sequence, each of them an integer"):
        g.input("x", sg.int8[1, 8], iter([None, 4]))  # type: ignore[arg-type]
    assert g.input("x", sg.int8[1, 8], iter([3, 4])).shape == (3, 4)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers() -> None:
    g = sg.Graph()
    w = g.tensor("w", (np.int64(2), 3), "int8", base=np.uint8(0))
    x = g.input("x", sg.int8[np.int32(2), 8], np.array([4, 3]))
    assert w.shape == (2, 3)
    assert type(w.shape[0]) is type(w.base) is int
    assert x.flatten(np.int8(0), hi=np.int64(1)).shape == (12,)
    assert loads(dumps(g)) == g
