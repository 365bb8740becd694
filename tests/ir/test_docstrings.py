"""Public docstrings have parameters, results, errors and sources."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import stepgen as sg
from stepgen.ir.dtypes import ELEMENTS
from stepgen.ir.function import Mapped, function_types
from stepgen.ir.methods import Methods
from stepgen.ir.operator import functions

NOT_FOR_USERS = {"Graph.routing", "Graph.span"}


def sections(doc: str) -> dict[str, str]:
    """The sections of a docstring in the style of numpydoc."""
    parts = re.split(r"^([A-Z]\w+)\n-{3,}\n", doc, flags=re.MULTILINE)
    assert parts[0].strip(), "there is no summary"
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def lacking(thing: Callable[..., Any]) -> list[str]:
    """What the docstring of a function, method or class does not say."""
    found = sections(inspect.getdoc(thing) or "")
    documented = {
        name.strip("* ")
        for names in re.findall(r"^(\S.*?)(?: :.*)?$", found.get("Parameters", ""), re.MULTILINE)
        for name in names.split(",")
    }
    signature = inspect.signature(thing)
    wrong = [
        name
        for name, parameter in signature.parameters.items()
        if name not in documented
        and not (name == "self" and parameter.annotation is parameter.empty)
    ]
    gives = signature.return_annotation not in (None, "None", inspect.Signature.empty)
    wrong += ["Returns"] if gives and "Returns" not in found else []
    refuses = hasattr(thing, "__wrapped__") or inspect.isclass(thing)
    return wrong + (["Raises"] if refuses and "StepError" not in found.get("Raises", "") else [])


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in functions():
        yield name, getattr(sg, name)
        if hasattr(Methods, name):
            yield f"Stream.{name}", getattr(sg.Stream, name)
    for name in function_types():
        yield f"fn.{name}", getattr(sg.fn, name)
    for name in set(sg.__all__) - {"fn"}:
        if inspect.isroutine(getattr(sg, name)):
            yield name, getattr(sg, name)
    for kind in (sg.Selector, sg.Tile, sg.TupleType, sg.Buffer, sg.Graph):
        yield kind.__name__, kind
    for kind in (sg.Graph, sg.Stream, sg.Feedback, sg.Tensor, sg.Metrics, sg.Dim):
        for key, method in vars(kind).items():
            name = f"{kind.__name__}.{key}"
            if inspect.isfunction(method) and key[0] != "_" and name not in NOT_FOR_USERS:
                yield name, method


PUBLIC = dict(sorted(public()))


def test_sections() -> None:
    assert not {name: wrong for name, thing in PUBLIC.items() if (wrong := lacking(thing))}


def test_an_operator_says_where_it_is_from() -> None:
    notes = {name: sections(inspect.getdoc(PUBLIC[name]) or "")["Notes"] for name in functions()}
    assert not [name for name, said in notes.items() if "paper" not in said]


REQUIRED = {"convert": {"to": "f32"}, "compare": {"op": "lt"}, "row_broadcast": {"cols": 2}}
REQUIRED |= {"lookup": {"table": [0] * 256}, "top_k": {"k": 1}, "top_k_scores": {"k": 1}}


@pytest.mark.parametrize("name", [n for n, k in function_types().items() if issubclass(k, Mapped)])
def test_a_function_says_which_elements_it_takes(name: str) -> None:
    doc = inspect.getdoc(getattr(sg.fn, name)) or ""
    said = re.search(r"For Map(?: and Accum|, Accum and Scan)?, (.*?)[.;]", doc, re.DOTALL)
    if said is None:
        assert name in {
            "mask_causal",
            "mask_cols",
            "mask_rows",
            "matmul",
            "matmul_add",
            "place_row",
            "place_rows",
            "requantize_by",
            "span_end",
            "where",
        }
        return
    words = set(re.findall(r"\w+", said[1].rpartition(" of ")[2])) - {"or"}
    kind = function_types()[name]
    given = REQUIRED.get(name, {"c": 1} if "c" in inspect.signature(kind).parameters else {})
    for element in ELEMENTS.values():
        g = sg.Graph()
        rows = 1 if name.startswith(("top_k", "as_range", "as_selector", "compare", "arg")) else 3
        cols = 2 if name == "rotate_pairs" else 1
        xs = [g.input(f"x{i}", element[rows, cols], (2,)) for i in range(kind.arity)]
        if name == "as_selector":  # flags tell their number themselves
            given = {"consumers": 2} if element == sg.address else {}
        try:
            out = sg.map(getattr(sg.fn, name)(**given), *xs)
        except sg.StepError:
            assert element.name not in words
        else:
            assert element.name in words
            assert "-> [R, C]" not in said[1] or out.tile.dims == (3, cols)


def test_what_is_missing_is_seen() -> None:
    def bare(x: int, y: int) -> int:
        """What it does.

        Parameters
        ----------
        x : int
            A number.
        """
        return x + y

    assert lacking(bare) == ["y", "Returns"]
    assert lacking(sg.Graph.output.__wrapped__) == []  # type: ignore[attr-defined]
