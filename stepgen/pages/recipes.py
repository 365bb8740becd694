"""The recipes of ``examples/recipes.py``, with the types that their programs have."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from stepgen.pages import docstrings
from stepgen.program import program

FILE = "recipes"


def recipes() -> dict[str, Callable[..., Any]]:
    """The functions of the file, in its order."""
    module = inspect.getmodule(program.find(f"{FILE}:relu"))
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == getattr(module, "__name__", "")
    }


def entry(name: str, recipe: Callable[..., Any]) -> Iterator[str]:
    """What it does, its code, and the types of its streams."""
    summary = docstrings.of(recipe)["Summary"]
    source = textwrap.dedent(inspect.getsource(recipe))
    head, _, rest = source.partition('    """')
    body = rest.partition('"""\n')[2]
    yield from (f"### `{name}`", "", docstrings.prose(summary), "")
    yield from ("```python", *(head + body).rstrip().splitlines(), "```", "")
    graph = program.load(f"{FILE}:{name}").graph
    yield from ("```", *(f"{s.name:<24} {s}" for n in graph.nodes for s in n.outputs), "```", "")
