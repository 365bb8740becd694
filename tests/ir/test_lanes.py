"""One default for lanes, since they decide the order of sums."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import stepgen

ROOT = Path(stepgen.__file__).parent


def defaults(text: str) -> Iterator[ast.expr]:
    """The defaults of all parameters and fields that are called lanes."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arguments):
            plain = [*node.posonlyargs, *node.args]
            given = plain[len(plain) - len(node.defaults) :]
            pairs = [*zip(given, node.defaults, strict=True)]
            pairs += [*zip(node.kwonlyargs, node.kw_defaults, strict=True)]
            yield from (value for arg, value in pairs if arg.arg == "lanes" and value)
        elif isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "lanes":
            yield from [node.value] if node.value else []


def test_all_defaults_are_equal() -> None:
    found = {
        (str(path.relative_to(ROOT)), ast.unparse(value))
        for path in ROOT.rglob("*.py")
        if "lanes" in (text := path.read_text())
        for value in defaults(text)
    }
    given = {value for _, value in found if value != "None"}
    assert {value for value in given if "**LANES_OPTION" not in value} == {"LANES"}
    assert len(found) >= 6


def test_another_default_is_seen() -> None:
    for text in (
        "def f(*, lanes=16): ...",
        "def f(lanes=16): ...",
        "class A:\n    lanes: int = 16",
    ):
        assert [ast.unparse(value) for value in defaults(text)] == ["16"]
