"""The reference of operators: signature, shapes, parameters, an example, and the circuit."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import stepgen
from stepgen.compile.circuit import circuits
from stepgen.ir import registry
from stepgen.ir.graph import Graph
from stepgen.ir.methods import Methods
from stepgen.ir.operator import as_method, functions, operators
from stepgen.ir.stream import Node
from stepgen.pages import docstrings, probe
from stepgen.pages.functions import described, signature


def overview() -> Iterator[str]:
    """A table with a row for each."""
    rows = []
    for name, function in functions().items():
        summary = docstrings.first(docstrings.of(function)["Summary"])
        units = dict.fromkeys(described(e.units, short=True) for e in examples(name) if e.units)
        built = "no unit" if name in circuits() and circuits()[name].bundles else "none yet"
        rows.append((f"[`{name}`](#{name})", summary, ", ".join(units) or built))
    yield from docstrings.table(("operator", "", "circuit"), rows)


def entry(name: str, function: Callable[..., Any]) -> Iterator[str]:
    """All about one operator."""
    doc = docstrings.of(function)
    yield from (f"### `{name}`", "", "```python", *_calls(name, function), "```", "")
    yield from (docstrings.prose(doc["Summary"]), "", f"Shapes: {_rule(name)}", "")
    rows = docstrings.described(doc["Parameters"])
    named = [(f"`{n}`", kind, meaning) for n, kind, meaning in rows if n != "name"]
    yield from (*docstrings.table(("parameter", "type", ""), named), "")
    yield from ("```python", doc["Examples"], "```", "")
    for key in ("Returns", "Raises"):
        for what, _, meaning in docstrings.described(doc.get(key, "")):
            yield f"- {key} {what}: {meaning}" if meaning else f"- {key} {what}."
    yield f"- {_faces(name)}"
    yield f"- Source: {docstrings.flowing(doc['Notes'])}"
    yield ""


def _calls(name: str, function: Callable[..., Any]) -> Iterator[str]:
    """As a function and, where it is one, as a method."""
    plain = inspect.signature(function)
    yield f"sg.{name}{signature(function)}"
    if hasattr(Methods, name):
        (gone,) = {*plain.parameters} - {*as_method(plain).parameters} or {"x"}
        method = getattr(stepgen.Stream, name)
        yield f"{gone}.{name}{signature(method).replace('self, ', '').replace('(self)', '()')}"


def _rule(name: str) -> str:
    """The shapes from the docstring of the operator's class."""
    doc = inspect.getdoc(type(operators()[name])) or ""
    return docstrings.flowing(re.split(r"\s(?:The inputs of a node|Attributes)\b", doc)[0])


def _faces(name: str) -> str:
    timed = name in registry.modules("stepgen.timing.tiles.ops")
    faces = ["reference", *(["timing on tiles"] if timed else [])]
    if name not in circuits():
        return f"Faces: {', '.join(faces)}; no circuit yet: {operators()[name].circuit_needs}."
    if circuits()[name].bundles:
        return f"Faces: {', '.join(faces)}, circuit: no unit, each item of tuples is a stream."
    covers = circuits()[name].covers
    built = (
        f"`{e.source}` becomes {described(e.units)}" if e.units else f"`{e.source}` has none yet"
        for e in examples(name)
    )
    limits = f" for {covers}" if covers else ""
    return f"Faces: {', '.join(faces)}, circuit{limits}: {'; '.join(built)}."


@dataclass(frozen=True)
class Example:
    """A line of an example in which the operator is used, and the units that it becomes."""

    source: str
    units: tuple[Any, ...]


def examples(name: str) -> list[Example]:
    """The uses of an operator in the examples of its docstring."""
    doc = inspect.getdoc(functions()[name]) or ""
    scope: dict[str, Any] = {"sg": stepgen, "np": np}
    found, seen = [], set[Node]()
    for example in doctest.DocTestParser().get_examples(doc):
        exec(example.source, scope)
        graphs = [value for value in scope.values() if isinstance(value, Graph)]
        for node in {n for g in graphs for n in g.nodes} - seen:
            seen.add(node)
            if node.op == name:
                found.append(Example(example.source.strip(), probe.circuit(node)[0]))
    return found
