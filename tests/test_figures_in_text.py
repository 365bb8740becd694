"""Measured figures stand where a command writes them, and nowhere else: they would grow old."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import stepgen

ROOT = Path(stepgen.__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
CODE = [
    p
    for room in ("stepgen", "examples", "benchmarks", "tests")
    for p in (ROOT / room).rglob("*.py")
]
OTHERS = [
    p
    for room in ("sim", "templates", "boards")
    for p in (ROOT / room).rglob("*")
    if p.is_file() and p.suffix != ".css"  # whose figures are sizes
]

_NUMBER = r"(?:\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|some|about an?|half an)"
MEASURED = re.compile(
    rf"\b{_NUMBER}\s*(?:"
    r"LUTs?\b|flip-flops|MHz\b|kc/s|%(?![\w(])|per\s+cent|seconds?\b(?!\s(?:stream|stop|use))|minutes?\b|hours?\b"
    r"|times\s+(?:as|faster|slower|longer|less|more)\b)"
    r"|\b(?:a|one)\s+(?:third|quarter|half|tenth)\s+(?:faster|slower|longer|smaller)"
    r"|\bone\s+in\s+(?:two|three|four|five|six|eight|ten)\b",
    re.IGNORECASE,
)
_WRITTEN = re.compile(
    r"^<!-- (?:python -m stepgen\.pages:|stepgen figure) .*?^<!-- end -->$", re.M | re.S
)
_BREAK = re.compile(r"\s*\n[\s#]*")
"""Between lines of one text; files that have no figure then need not be parsed."""
_SHOWN = re.compile(r"^```.*?^```$", re.M | re.S)


def of_code(text: str) -> Iterator[str]:
    """Docstrings, strings that stand alone, and comments."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    yield " ".join(t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT)


def measured(text: str) -> set[str]:
    return {" ".join(found[0].split()) for found in MEASURED.finditer(text)}


def test_pages_have_figures_that_commands_write() -> None:
    texts = {page: _SHOWN.sub("", _WRITTEN.sub("", page.read_text())) for page in PAGES}
    assert not {page: found for page, text in texts.items() if (found := measured(text))}


def test_code_has_no_figures() -> None:
    found = {
        (str(path.relative_to(ROOT)), figure)
        for path in CODE
        if path != Path(__file__)
        if MEASURED.search(_BREAK.sub(" ", source := path.read_text()))
        for text in of_code(source)
        for figure in measured(text)
    }
    found |= {(str(p.relative_to(ROOT)), f) for p in OTHERS for f in measured(p.read_text())}
    assert not found


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("speed grade 8: 55 LUTs and 469 MHz", {"55 LUTs", "469 MHz"}),
        ("takes 60 % of the time", {"60 %"}),
        ("which takes some 4 seconds", {"4 seconds"}),
        ("takes up to a minute, about an hour", {"about an hour"}),
        ("takes three\n    times as long", {"three times as"}),
        ("a third faster", {"a third faster"}),
        ("Two: a second copy, 2 times; D_0 times the length", set()),
    ],
)
def test_a_figure_is_seen(text: str, figure: set[str]) -> None:
    assert measured(text) == figure
