"""Which branches of the cycle models' step functions a run takes: of its actors, line by line."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from stepgen.fuzz.case import MAX_CYCLES, Case
from stepgen.timing import kernel as k
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.layout import Layout

UNITS = Path(__file__).parents[1] / "hw" / "units"
TIMING = Path(k.__file__).parent

Arc = tuple[str, int, int]
"""File, a line that was run, and the next one; 0 before the first and behind the last."""


@cache
def models() -> Mapping[str, ModuleType]:
    """The modules of cycle models, and of what several of them have, by file."""
    package = UNITS.relative_to(UNITS.parents[2]).parts
    names = sorted(path.parent.name for path in UNITS.glob("*/model.py"))
    found = [import_module(".".join((*package, name, "model"))) for name in names]
    shared = sorted(
        p.stem for p in TIMING.glob("*.py") if "\n@step\n" in p.read_text(encoding="utf-8")
    )
    found += [import_module(f"{k.__package__}.{name}") for name in shared]
    return {str(module.__file__): module for module in found}


_ENDS = "the circuit raises error: streams that end together do so in every valid program"
_FITS = "the circuit raises error: a valid program's streams have the same structure"
_FAULT = "a fault of numbers or selectors that no valid program has"
ERRORS = {
    "(kind_of(beat) == DONE) != (kind_of(head(M, flags)) == DONE)": _ENDS,
    "outer and (hole or kind != kind_of(element))": _FITS,
    "not outer and not hole and kind_of(element) != VALUE": _FITS,
    "ref != MISSING and kind_of(head(M, starts)) != (VALUE if hole else kind)": _FITS,
    "rest < 0 or (rest and M[a + P.rest] == MISSING)": _FITS,
    "free == MISSING": "the circuit raises error: no run stores more than the dims of inputs allow",
    "kind_of(head(M, sel)) != DONE and not M[a + P.surplus]": _ENDS,
    "kind_of(selector) == DONE or above != (kind_of(selector) == BARE)": _FITS,
    "kind_of(head(M, M[a + P.x + n])) != DONE": _ENDS,
    "not M[a + P.least] <= length <= M[a + P.most]": _FAULT,
    "element < 0": _FAULT,
    "number >= M[a + P.limit]": _FAULT,
    "kind == VALUE and number >= M[a + P.tiles]": _FAULT,
    "M[a + P.limit] and kind_of(position) == VALUE and aux_of(position) >= M[a + P.limit]": _FAULT,
    "kind == BARE and low_of(beat) <= TILE_LEVELS": _FAULT,
    "kind == VALUE and ends and not over": _FAULT,
}
"""Conditions that hold only for streams that contradict the program; and why."""


BEHIND = {
    ("acknowledge", "wait = ready(M, M[a + P.owners], t)"): (
        "a burst is answered after its data, whose turn is known no earlier than its owner"
    ),
    ("merge", "beat = head(M, x)"): (
        "the circuit raises error: no input ends where a selector of a valid program names it"
    ),
    ("flag_sent", ""): (
        "a program's reshape has flags, read or not: only designs of one's own have one without"
    ),
}
"""Likewise in no valid program, by function and the statement before; and why."""


@cache
def unreachable() -> Mapping[str, str]:
    """Branches that no valid program takes, named as in `every`, and why."""
    reasons = {_plain(test): why for test, why in ERRORS.items()}
    found: dict[str, str] = {}
    for file in models():
        for function in ast.parse(Path(file).read_text(encoding="utf-8")).body:
            if not isinstance(function, ast.FunctionDef):
                continue
            for before, node in _conditions(function):
                why = reasons.get(ast.unparse(node.test)) or BEHIND.get((function.name, before))
                if why:
                    found[f"{_short(file)}:{node.test.lineno} yes"] = why
    return found


def _short(file: str) -> str:
    """A file with its folder, which for a model is its unit's."""
    return "/".join(Path(file).parts[-2:])


def _conditions(function: ast.FunctionDef) -> Iterator[tuple[str, ast.If]]:
    """The conditions of a function, each with the statement before it in its block."""
    for block in ast.walk(function):
        for statements in (getattr(block, "body", []), getattr(block, "orelse", [])):
            before = ""
            for one in statements if isinstance(statements, list) else ():
                if isinstance(one, ast.If):
                    yield before, one
                is_text = isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
                before = "" if is_text else ast.unparse(one)


def _plain(condition: str) -> str:
    return ast.unparse(ast.parse(condition))


@cache
def every() -> Mapping[str, tuple[str, range, int]]:
    """All branches, as ``"UNIT/model.py:43 yes"``: file, lines of the condition, line behind it.

    Conditions of ``if`` and ``while`` in steps and helpers; conditional expressions are not
    counted.
    """
    found: dict[str, tuple[str, range, int]] = {}
    for file in models():
        for function in ast.parse(Path(file).read_text(encoding="utf-8")).body:
            if not isinstance(function, ast.FunctionDef) or not function.decorator_list:
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.If | ast.While):
                    lines = range(node.test.lineno, (node.test.end_lineno or 0) + 1)
                    name = f"{_short(file)}:{node.test.lineno}"
                    for answer in ("yes", "no"):
                        found[f"{name} {answer}"] = (file, lines, node.body[0].lineno)
    return found


def taken(case: Case, cycles: int) -> set[str]:
    """The branches that a run takes, in the interpreter instead of compiled.

    Parameters
    ----------
    case : Case
        One whose run ends.
    cycles : int
        How long it lasts, as the compiled model says.

    Raises
    ------
    RuntimeError
        If the interpreter comes to another number of cycles.
    """
    experiment = case.experiment()
    layout = DesignLayout(experiment.design).of_run(experiment.run_of(experiment.known))
    with _traced() as arcs:
        last = _run(layout)
    if last != cycles:
        raise RuntimeError(f"compiled the run has {cycles} cycles, interpreted {last}")
    return {
        name
        for name, (file, test, inside) in every().items()
        if any(
            where == file
            and before in test
            and line not in test
            and (line == inside) == name.endswith("yes")
            for where, before, line in arcs
        )
    }


def _run(layout: Layout) -> int:
    """Run a layout; the number of its cycles."""
    state: Any = layout.build().tolist()
    log, trace, why = state[k.LOG], state[k.TRACE], k.PAUSED
    while why in (k.PAUSED, k.LOG_FULL):
        state[k.LOG], state[k.TRACE] = log, trace
        why = k.run(layout.steps, state, MAX_CYCLES + 1 - layout.control, 1 << 30)
    return int(state[k.CYCLE]) - k.CONTROL_CYCLES + 1 + layout.control


@contextmanager
def _traced() -> Iterator[set[Arc]]:
    """Within the block, which line of a model was run after which."""
    arcs: set[Arc] = set()
    files = models()

    def entered(frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        file = frame.f_code.co_filename
        if file not in files:
            return None
        before = 0

        def inside(frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
            nonlocal before
            if event == "line":
                arcs.add((file, before, frame.f_lineno))
                before = frame.f_lineno
            elif event == "return":  # behind a condition that ends the function, if it is false
                arcs.add((file, before, 0))
            return inside

        return inside

    others = sys.gettrace()
    sys.settrace(entered)
    try:
        yield arcs
    finally:
        sys.settrace(others)
