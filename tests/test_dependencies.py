"""What stepgen imports is declared, and what its files refer to is there."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import stepgen

ROOT = Path(stepgen.__file__).parents[1]
SOURCES = ("stepgen", "examples", "sim", "templates", "boards", "benchmarks", "tests")
OWN = {"stepgen", *SOURCES}


def _declared(extras: bool) -> set[str]:
    """Distributions that are declared, with what they have to be called in an import."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = list(project["dependencies"])
    for some in project["optional-dependencies"].values() if extras else ():
        lines += some
    return {_plain(re.match(r"[\w.-]+", line)[0]) for line in lines}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def _imports(path: Path) -> frozenset[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.add(node.module.partition(".")[0])
    return frozenset(found)


def _undeclared(folder: str, declared: set[str]) -> dict[str, str]:
    """By module from a library that is not declared, a file that imports it."""
    made_by = packages_distributions()
    found = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        for name in _imports(path):
            makers = {_plain(maker) for maker in made_by.get(name, ())} - {"stepgen"}
            if name not in sys.stdlib_module_names and makers and not makers & declared:
                found[name] = str(path.relative_to(ROOT))
    return found


# Extras are for the commands that need them, tests and benchmarks.
@pytest.mark.parametrize(
    ("folder", "extras"),
    [(folder, folder in ("stepgen", "tests", "benchmarks")) for folder in SOURCES],
)
def test_what_is_imported_is_declared(folder: str, extras: bool) -> None:
    assert not _undeclared(folder, _declared(extras))


def test_what_is_not_declared_is_seen() -> None:
    assert "numpy" in _undeclared("stepgen", _declared(True) - {"numpy"})


def test_pages_that_files_refer_to_are_there() -> None:
    named = re.compile(r"\bdocs/[\w.-]+\.(?:md|png)\b")
    missing = {}
    for folder in SOURCES:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".toml", ".v", ".sv", ".cpp", ".h", ".c", ".j2", ".txt"):
                text = path.read_text(encoding="utf-8", errors="replace")
                pages = [page for page in named.findall(text) if not (ROOT / page).exists()]
                if pages:
                    missing[str(path.relative_to(ROOT))] = pages
    assert not missing


def test_what_is_checked_before_a_commit_is_what_make_lint_checks() -> None:
    hooks = re.findall(r"entry: ([^,]+),", (ROOT / ".pre-commit-config.yaml").read_text())
    makefile = (ROOT / "Makefile").read_text()
    (line,) = re.findall(r"^lint:.*\n\t(.*)$", makefile, re.MULTILINE)
    checks = [part.strip().removeprefix("$(BIN)/") for part in line.split("&&")[1:]]
    assert [check.removesuffix(" .") for check in checks] == hooks
