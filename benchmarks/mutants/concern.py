"""Which tests concern a file: those that import it, or a unit that does."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from benchmarks.mutants.rules import ROOT, UNITS

CONFORMANCE = "tests/test_conformance.py"
TESTS = (
    *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "tests/hw").glob("test_*.py")),
    "tests/timing/test_many_runs.py",
    "tests/timing/test_model.py",
    "tests/timing/test_sorting.py",
    CONFORMANCE,
)
MEMORY = ("tests/hw/test_off_chip.py", "tests/hw/test_soft_reset.py")


@cache
def imported(path: str) -> frozenset[str]:
    """The files of the repository that a file imports itself."""
    place = ROOT / path
    found: set[str] = set()
    for node in ast.walk(ast.parse(place.read_bytes())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = Path(path).parents[node.level - 1].as_posix().replace("/", ".")
                base = f"{package}.{base}".rstrip(".")
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            stem = name.replace(".", "/")
            for file in (f"{stem}.py", f"{stem}/__init__.py", f"tests/{stem}.py"):
                if (ROOT / file).exists():
                    found.add(file)
    return frozenset(found)


@cache
def concerning(path: str) -> tuple[tuple[str, ...], ...]:
    """Files of tests that concern a file: of its name, directly, by its units, drawn programs."""
    tests = [t for t in TESTS if t != CONFORMANCE]
    near = [t for t in tests if _concerns(t, path)]
    if not near and not path.startswith(UNITS):
        near = [t for t in tests if _uses(t, path)]
    if not near and "timing" not in path:  # what only designs with memory have
        near = list(MEMORY)
    near += [t for t in tests if t not in near and _is_named(t, path)]
    units = [u for u in _units() if path in _closure(u) and Path(u).parent != Path(path).parent]
    far = [
        t
        for t in TESTS
        if t != CONFORMANCE and t not in near and any(_concerns(t, unit) for unit in units)
    ]
    if not path.startswith(UNITS) and not units:  # whole designs are made of it
        far = [t for t in TESTS if t != CONFORMANCE and t not in near]
    named = [t for t in near if _is_named(t, path)]
    others = [t for t in near if t not in named]
    return tuple(named), tuple(others), tuple(far), (CONFORMANCE,)


def _is_named(test: str, path: str) -> bool:
    """Whether a test has the name of a file, or of the unit that it belongs to, or begins so.

    The tests of the engine of cycle models are those in its folder.
    """
    if path.startswith("stepgen/timing/"):
        return test.startswith("tests/timing/")
    names = (f"test_{Path(path).stem}", f"test_{Path(path).parent.name}")
    return any(f"{Path(test).stem}_".startswith(f"{name}_") for name in names)


def _uses(test: str, path: str) -> bool:
    """Whether a test imports a circuit that is not a unit and imports a file."""
    circuits = {file for file in imported(test) if file.startswith("stepgen/hw/")}
    return any(path in imported(c) for c in circuits if not c.startswith(UNITS))


@cache
def _concerns(test: str, path: str) -> bool:
    room = Path(path).parent.as_posix()
    files = {test} | {file for file in imported(test) if file.startswith("tests/")}
    for file in files:
        for one in imported(file):
            if one == path:
                return True
            if path.startswith(UNITS) and one.startswith(f"{room}/"):
                return True
    return False


@cache
def _units() -> list[str]:
    return [str(p.relative_to(ROOT)) for p in sorted((ROOT / UNITS).glob("*/rtl.py"))]


@cache
def _closure(path: str) -> frozenset[str]:
    found: set[str] = set()
    waiting = [path]
    while waiting:
        for file in imported(waiting.pop()):
            if file not in found and file.startswith("stepgen/hw"):
                found.add(file)
                waiting.append(file)
    return frozenset(found)
