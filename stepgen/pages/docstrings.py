"""Docstrings in the style of numpydoc, taken apart and put into Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from typing import Any

_HEAD = re.compile(r"^([A-Z]\w+)\n-{3,}\n", re.MULTILINE)


def sections(doc: str) -> dict[str, str]:
    """Its sections by name; what stands before the first one is called ``Summary``."""
    summary, *rest = _HEAD.split(doc)
    bodies = [text.rstrip() for text in rest[1::2]]
    return {"Summary": summary.strip(), **dict(zip(rest[::2], bodies, strict=True))}


def of(thing: Any) -> dict[str, str]:
    """The sections of the docstring of a function or class."""
    return sections(inspect.getdoc(thing) or "")


def described(section: str) -> list[tuple[str, str, str]]:
    """The entries of a section such as ``Parameters``: name, type and meaning of each."""
    parts = re.split(r"^(?=\S)", section, flags=re.MULTILINE)
    found = []
    for part in filter(str.strip, parts):
        head, _, body = part.partition("\n")
        name, _, kind = head.partition(" : ")
        found.append((name.strip(), kind.strip(), flowing(body)))
    return found


def flowing(text: str) -> str:
    """Prose in one line, with the marks of Markdown."""
    return re.sub(r"``(.*?)``", r"`\1`", " ".join(text.split()))


def prose(text: str) -> str:
    """Paragraphs, each in one line."""
    return "\n\n".join(flowing(part) for part in re.split(r"\n\s*\n", text.strip()))


def first(text: str) -> str:
    """The first paragraph in one line."""
    return prose(text).partition("\n\n")[0]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table in Markdown, without the columns in which there is nothing."""
    body = [[*row] for row in rows]
    kept = [n for n in range(len(heads)) if any(row[n] for row in body)]

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    lines = [[cells[n] for n in kept] for cells in (heads, *body)]
    return [line(lines[0]), "|" + "---|" * len(kept), *map(line, lines[1:])]
