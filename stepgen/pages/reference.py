"""The reference page: all operators, functions and types of data."""

from __future__ import annotations

from collections.abc import Iterator

from stepgen.ir.operator import functions as all_operators
from stepgen.ir.wire import LANES
from stepgen.pages import data, docstrings, functions, operators, recipes

_INTRODUCTION = f"""# Reference

Every operator, function and type of data. `python -m stepgen.pages` writes this page from the
code: from docstrings, from the types that type rules let through, and from the units that programs
become when they are lowered with {LANES} lanes.

Programs start with `import stepgen as sg` and `fn = sg.fn`. An operator is a function,
`sg.partition(x, …)`, and a method of its first stream, `x.partition(…)`; each takes a `name=` for
its node too. A shape `[D_a..D_0]` has its outermost dim first. [Glossary](glossary.md)."""

_LETTERS = """`[R, C]` is a tile of R rows and C columns, D the stream's dim and K that of a chunk;
they may be decided at run time. Operations are those on one element. Circuit "none yet" means that
the function is checked, costed, run on the reference and timed on machines, but not built. A
pipeline's stages are the cycles that a result takes longer than through a register."""


def page() -> str:
    """The page in Markdown."""
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    yield from (_INTRODUCTION, "", "## Contents", "")
    yield from (f"- [{head}](#{data.anchor(head)}): {summary}" for head, summary in _contents())
    yield from ("", "## How to write", "")
    found = recipes.recipes()
    rows = [(f"[`{name}`](#{name})", docstrings.of(r)["Summary"]) for name, r in found.items()]
    yield from docstrings.table(("recipe", ""), [(n, docstrings.first(t)) for n, t in rows])
    yield from ("", "## Operators", "", *operators.overview(), "")
    for theme in functions.themes():
        head = (f"## Functions: {theme.name}", "", theme.about, "")
        yield from (*head, *functions.overview(theme.kinds), "")
    yield from ("## Element types", "", *data.elements(), "")
    yield from ("## Types of data", "", *data.types())
    yield from ("## Graphs and streams", "", *data.programs())
    yield from ("## Operators one by one", "")
    for name, function in all_operators().items():
        yield from operators.entry(name, function)
    yield from ("## Functions one by one", "", _LETTERS, "")
    for theme in functions.themes():
        for kind in theme.kinds:
            yield from functions.entry(kind)
    yield from ("## Recipes", "", "They are in `examples/recipes.py`:", "", "```console")
    yield from (f"$ stepgen run {recipes.FILE}:{name}" for name in found)
    yield from ("```", "")
    for name, recipe in found.items():
        yield from recipes.entry(name, recipe)


def _contents() -> Iterator[tuple[str, str]]:
    """Headings, and what is found under each."""
    yield "How to write", ", ".join(f"[{name}](#{name})" for name in recipes.recipes())
    yield "Operators", ", ".join(f"[{name}](#{name})" for name in all_operators())
    for theme in functions.themes():
        links = (f"[{kind.name}](#fn{kind.name})" for kind in theme.kinds)
        yield f"Functions: {theme.name}", ", ".join(links)
    yield "Element types", "bits, numbers, and which have a form in circuits"
    yield "Types of data", "tiles, selectors with `hot`, buffers, tuples, dims"
    yield "Graphs and streams", "inputs, outputs, tensors, feedback, FIFOs"
