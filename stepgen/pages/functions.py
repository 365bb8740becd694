"""The reference of functions: what each takes, gives, costs and becomes."""

from __future__ import annotations

import inspect
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from stepgen.hw.design.params import UnitParams
from stepgen.ir.arguments import shown
from stepgen.ir.dims import Dim
from stepgen.ir.docstrings import about
from stepgen.ir.dtypes import DataType, ElementType, Selector, Tile
from stepgen.ir.function import Cut, Folded, Function, function_types
from stepgen.ir.setting import Setting
from stepgen.ir.wire import LANES
from stepgen.pages import docstrings, probe, stubs
from stepgen.pages.probe import FunctionUse, Operand
from stepgen.semantics import tables
from stepgen.semantics.numbers import DTYPES


@dataclass(frozen=True)
class Theme:
    """The functions of one module.

    Attributes
    ----------
    name : str
        Of the module.
    about : str
        The first line of its docstring.
    kinds : list of type
        Their classes.
    """

    name: str
    about: str
    kinds: list[type[Function]]


def themes() -> list[Theme]:
    """The functions that come with stepgen."""
    found: dict[str, list[type[Function]]] = defaultdict(list)
    for kind in function_types().values():
        if kind.__module__.startswith("stepgen."):
            found[kind.__module__].append(kind)
    return [
        Theme(m.rpartition(".")[2], docstrings.first(inspect.getdoc(sys.modules[m]) or ""), kinds)
        for m, kinds in sorted(found.items())
    ]


def overview(kinds: Sequence[type[Function]]) -> Iterator[str]:
    """A table with a row for each."""
    rows = []
    for kind in kinds:
        uses = probe.uses(kind)
        ops = dict.fromkeys(use.op for use in uses)
        rows.append(
            (
                f"[`fn.{kind.name}`](#fn{kind.name})",
                docstrings.first(docstrings.of(kind)["Summary"]),
                ", ".join(_link(op) for op in ops),
                _circuits(uses, short=True),
            )
        )
    yield from docstrings.table(("function", "", "for", "circuit"), rows)


def entry(kind: type[Function]) -> Iterator[str]:
    """All about one function."""
    doc = docstrings.of(kind)
    uses = probe.uses(kind)
    yield from (
        f"### `fn.{kind.name}`",
        "",
        "```python",
        f"fn.{kind.name}{signature(kind)}",
        "```",
        "",
    )
    yield from (docstrings.prose(doc["Summary"]), "")
    if rows := docstrings.described(doc.get("Parameters", "")):
        yield from (*docstrings.table(("parameter", "type", ""), _quoted(rows)), "")
    yield from docstrings.table(("for", "with", "of", "takes", "gives", "operations"), _typed(uses))
    yield ""
    yield from (f"- {line}" for line in _facts(kind, uses))
    yield ""


def signature(thing: Any) -> str:
    """A signature as users call it."""
    plain = inspect.signature(thing)
    parameters = [
        p for p in plain.parameters.values() if p.name != "name" or p.kind != p.KEYWORD_ONLY
    ]
    shown = plain.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    return stubs.shown(shown)


def _quoted(rows: Iterable[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    return [(f"`{name}`", kind, meaning) for name, kind, meaning in rows]


def _link(op: str) -> str:
    return f"[`{op}`](#{op})"


def _typed(uses: Sequence[FunctionUse]) -> list[tuple[str, ...]]:
    """A row for all uses that differ only in element types, operator or irrelevant parameters."""
    by_use: dict[tuple[str, str], dict[tuple[str, ...], list[tuple[str, str]]]] = {}
    for use in uses:
        rows = by_use.setdefault((use.op, _given(use)), defaultdict(list))
        shapes = " and ".join(_operand(o, use.operands[0]) for o in use.operands)
        cells = (shapes, _made(use), f"`{use.flops}`" if use.flops else "0")
        rows[cells].append((str(use.operands[0].element), element(use.made.dtype)))
    same: dict[tuple[tuple[str, ...], ...], list[tuple[str, str]]] = defaultdict(list)
    for key, rows in by_use.items():
        same[tuple((_types(types), *cells) for cells, types in rows.items())].append(key)
    choices = {given for _, given in by_use}
    one = all({given for _, given in keys} == choices for keys in same.values())
    return [
        (
            ", ".join(dict.fromkeys(_link(op) for op, _ in keys)),
            "" if one else ", ".join(dict.fromkeys(f"`{given}`" for _, given in keys)),
            *cells,
        )
        for rows, keys in same.items()
        for cells in rows
    ]


def _types(pairs: Iterable[tuple[str, str]]) -> str:
    """Element types that are taken and given: ``int8 → int32; bf16, f32 → f32``."""
    by_made: dict[str, list[str]] = defaultdict(list)
    for taken, made in dict.fromkeys(pairs):
        by_made[made].append(taken)
    if all(taken == [made] for made, taken in by_made.items()):
        return ", ".join(by_made)
    return "; ".join(f"{', '.join(taken)} → {made}" for made, taken in by_made.items())


def element(dtype: DataType) -> str:
    """What a stream is made of, in a word: the element type of tiles."""
    return str(dtype.element) if isinstance(dtype, Tile) else str(dtype)


def _given(use: FunctionUse) -> str:
    """The parameters that a function was tried with."""
    return ", ".join(
        f"{name}={value}" if isinstance(value, ElementType) else f"{name}={shown(value)}"
        for name, value in use.parameters.items()
    )


def _extents(dims: Iterable[Dim | int | str]) -> str:
    return f"`[{', '.join(map(str, dims))}]`"


def _operand(operand: Operand, first: Operand) -> str:
    if isinstance(operand.element, Selector):
        return "selectors"
    other = "" if operand.element == first.element else f"{operand.element} "
    return other + _extents(operand.shape)


def _made(use: FunctionUse) -> str:
    """Shape of what comes out."""
    tiles = _extents(use.made.dtype.dims) if isinstance(use.made.dtype, Tile) else "selectors"
    cut = isinstance(use.function, Cut)
    return tiles + (f" in a stream {_extents(use.made.shape)}" if cut else "")


def _facts(kind: type[Function], uses: Sequence[FunctionUse]) -> Iterator[str]:
    if any(probe.repeats(use) for use in uses):
        yield "Extents of 1 are repeated."
    if issubclass(kind, Folded):
        yield f"State of a fold: {_state(uses)}"
    errors = tables.MAX_ULP.get(kind.name, {})
    if errors:
        listed = ", ".join(f"{error} in {name}" for name, error in errors.items())
        yield f"Largest error in units in the last place: {listed}; 0.5 is correctly rounded."
    held = {
        f"`{bytes_}` ({use.operands[0].element})": None
        for use in uses
        if (bytes_ := use.function.held(*_tiles(use)))
    }
    if held:
        yield f"Bytes of operands on chip, in the paper's accounting: {', '.join(held)}."
    (wrong,) = docstrings.described(docstrings.sections(about(kind))["Raises"])
    yield f"Raises {wrong[0]}: {wrong[2]}"
    yield f"Circuit: {_circuits(uses)}."


def _tiles(use: FunctionUse) -> list[Tile]:
    return [s.dtype for s in use.made.node.inputs if isinstance(s.dtype, Tile)]


def _state(uses: Sequence[FunctionUse]) -> str:
    starts: dict[str, list[str]] = defaultdict(list)
    for use in uses:
        function, out = use.function, use.made.dtype
        folds = "init" in use.made.node.attrs
        if folds and isinstance(function, Folded) and isinstance(out, Tile):
            if function.grows:
                return f"tiles joined, its {function.grows} grow with the chunk."
            if not function.begins:
                return "the best element so far and its number; a chunk needs an element."
            start = function.identity(Setting(out, DTYPES[out.element.name], LANES))
            starts[str(start)].append(str(out.element))
    said = (f"{number} ({', '.join(dict.fromkeys(types))})" for number, types in starts.items())
    one = f"{next(iter(starts))}" if len(starts) == 1 else ", ".join(said)
    return f"one tile, which starts at {one} where the program gives no `init`."


def _circuits(uses: Sequence[FunctionUse], *, short: bool = False) -> str:
    """The units that uses become, with the types that they do for."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    choices = {_given(use) for use in uses}
    built = {_given(use) for use in uses if use.units}
    for use in uses:
        if use.units:
            types = str(use.operands[0].element), element(use.made.dtype)
            some = f" with `{_given(use)}`" if built != choices and not short else ""
            found[described(use.units, short=short) + some].append(types)
    if short:
        return ", ".join(found) or "none yet"
    return "; ".join(f"{u} for {_types(types)}" for u, types in found.items()) or "none yet"


def described(units: Sequence[UnitParams], *, short: bool = False) -> str:
    """Units by kind, with their pipelines."""
    if short:
        return " and ".join(dict.fromkeys(f"`{u.kind}`" for u in units))
    shown = []
    for unit in units:
        stages = unit.delay(LANES)
        shown.append(f"`{unit.kind}`" + (f" (pipeline of {stages} stages)" if stages else ""))
    return " and ".join(dict.fromkeys(shown))
