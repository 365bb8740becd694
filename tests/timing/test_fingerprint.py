"""Code is named after all that it is compiled from."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from stepgen.timing.fingerprint import fingerprint

SOURCE = """
from collections import namedtuple

RECORD = namedtuple("record", "first second")(0, 1)
LIMIT = 3
SCALES = (1, (2, 3))


def once(x):
    return x + 1


def twice(x):
    return once(once(x))


def step(M, a, t):
    inner = [each for each in (1, 2)]
    more = helpers.more(t) + inner[0] + (t in {5, 6})
    return twice(M[a + RECORD.second]) + min(LIMIT, t) + SCALES[0] + more
"""


def named(source: str = SOURCE, *, more: Callable[..., Any] = lambda t: t) -> str | None:
    """The name of `step` in a source."""
    module = ModuleType("helpers")
    module.more = more  # type: ignore[attr-defined]
    known: dict[str, Any] = {"__name__": "source", "helpers": module}
    exec(source, known)
    return fingerprint(known["step"])


def test_the_same_source_has_the_same_name() -> None:
    assert named() == named() is not None
    assert named() == named("\n\n" + SOURCE)  # lines may move
    assert named() == named(SOURCE + "\n\ndef other(x):\n    return x\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x + 1", "x + 2"),
        ("once(once(x))", "once(x)"),
        ("LIMIT = 3", "LIMIT = 4"),
        ("LIMIT = 3", "LIMIT = True"),
        ("(1, (2, 3))", "(1, (2, 4))"),
        ("first second", "second first"),
        ("min(LIMIT", "max(LIMIT"),
        ("in (1, 2)", "in (1, 3)"),
        ("in {5, 6}", "in {5, 7}"),
        ("def once(x):", "def once(x, y=1):"),
    ],
)
def test_what_it_uses_changes_its_name(before: str, after: str) -> None:
    assert SOURCE.count(before)
    assert named(SOURCE.replace(before, after)) != named()


def test_a_function_of_a_module_changes_its_name() -> None:
    assert named(more=lambda t: t + 1) != named()


def test_captured_values_change_its_name() -> None:
    def made(number: int) -> Callable[[int], int]:
        def add(x: int) -> int:
            return x + number

        return add

    assert fingerprint(made(1)) == fingerprint(made(1))
    assert fingerprint(made(1)) != fingerprint(made(2))


def test_recursion_ends() -> None:
    def down(x: int) -> int:
        return 0 if x < 1 else down(x - 1)

    assert fingerprint(down) is not None


OTHER = namedtuple("OTHER", "x")(object())


def test_what_has_no_text_has_no_name() -> None:
    assert fingerprint(lambda: OTHER.x) is None
