"""The reference of what programs are made of: element types, types of data, dims and graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from stepgen.ir.dims import dynamic, ragged, static
from stepgen.ir.dtypes import STORED, Buffer, DataType, Selector, Tile, TupleType, address
from stepgen.ir.feedback import Feedback
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Stream
from stepgen.pages import docstrings
from stepgen.pages.functions import signature
from stepgen.pages.probe import travels

_TYPES: tuple[type[DataType], ...] = (Tile, Selector, Buffer, TupleType)


def elements() -> Iterator[str]:
    """The element types as a table."""
    rows = []
    for name, element in STORED.items():
        low, high = element.limits or ("float", "")
        limits = f"{low}..{high}" if element.limits else "floating point"
        spelled = f"`sg.{name}_`" if name == "bool" else f"`sg.{name}`"
        size = str(element.bytes) if element.packed == 1 else f"1/{element.packed}"
        if element.packed > 1:
            built = f"in tensors, of which loads make {element.on_chip}"
        else:
            built = "yes" if travels(element[1, 8]) else "no"
        if element == address:
            built = "as a row, `[1, k]`" if travels(element[1, 2]) else "no"
        rows.append((spelled, str(element.bits), size, limits, built))
    yield from docstrings.table(("element type", "bits", "bytes", "numbers", "in circuits"), rows)


def types() -> Iterator[str]:
    """The types of data, dims, and what a graph is built with."""
    for kind in _TYPES:
        yield from entry(f"sg.{kind.__name__}", kind)
        if kind is Selector:
            yield f"In circuits: {'yes' if travels(Selector(2)) else 'no'}."
            yield ""
    for make in (static, dynamic, ragged):
        yield from entry(f"sg.{make.__name__}", make)


def programs() -> Iterator[str]:
    """How a graph is begun, and what streams can besides operators."""
    yield from entry("sg.Graph", Graph)
    for kind, names in (
        (Graph, ("input", "output", "tensor", "feedback")),
        (Feedback, ("connect",)),
        (Stream, ("fifo", "dim", "count")),
    ):
        for name in names:
            yield from entry(f"{kind.__name__}.{name}", getattr(kind, name))


def entry(name: str, thing: Callable[..., Any]) -> Iterator[str]:
    """One class, function or method: how it is called, what it takes and refuses."""
    doc = docstrings.of(thing)
    called = signature(thing).replace("(self, ", "(").replace("(self)", "()")
    yield from (f"### `{name}`", "", "```python", f"{name}{called}", "```", "")
    yield from (docstrings.prose(doc["Summary"]), "")
    rows = [(f"`{n}`", kind, meaning) for n, kind, meaning in _described(doc, "Parameters")]
    if rows:
        yield from (*docstrings.table(("parameter", "type", ""), rows), "")
    facts = [
        f"- {key} {what}" + (f": {meaning}" if meaning else ".")
        for key in ("Returns", "Raises")
        for what, _, meaning in _described(doc, key)
    ]
    if facts:
        yield from (*facts, "")


def _described(doc: dict[str, str], key: str) -> list[tuple[str, str, str]]:
    return docstrings.described(doc.get(key, ""))


def anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    kept = (c for c in heading.lower() if c.isalnum() or c in " _-")
    return "".join(kept).strip().replace(" ", "-")
