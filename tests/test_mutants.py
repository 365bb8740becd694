"""Mistakes put into circuits and models are found, and the measuring of that goes on working."""

from __future__ import annotations

import ast
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.bugs import BUGS, Bug
from benchmarks.mutants import attempted, tables
from benchmarks.mutants.concern import TESTS, concerning
from benchmarks.mutants.equivalent import EQUIVALENT
from benchmarks.mutants.forks import ended, forked
from benchmarks.mutants.rules import ROOT, Mutant, all_mutants, drawn, files, mutants
from benchmarks.mutants.session import FUZZER, NO_CIRCUIT, SUITE, Tried

UNITS = "stepgen/hw/units"
BROKEN = {
    SUITE: (
        (
            "promote/rtl.py",
            "m.d.comb += ahead.o.ready.eq(fire)",
            "m.d.comb += ahead.o.ready.eq(1)",
            SUITE,
        ),
        ("promote/rtl.py", "top = level - 1", "top = level - 0", SUITE),
    ),
    FUZZER: (
        ("source/model.py", "wait = room(M, M[a + P.y], t)", "wait = 0", FUZZER),
        ("source/model.py", "M[a + P.offered] = 0", "M[a + P.offered] = 1", FUZZER),
        ("sink/model.py", "if wait != READY:", "if wait == READY:", FUZZER),
    ),
}
"""By who looks: a file, a line before and after, and who finds it."""


def of(path: str, before: str, after: str) -> Mutant:
    """The mutant with a diff."""
    (found,) = (m for m in mutants(f"{UNITS}/{path}") if m.diff == (before, after))
    return found


def test_every_rule_is_drawn_and_every_mutant_is_python() -> None:
    every = all_mutants()
    assert {m.rule for m in every} == {m.rule for m in drawn(1, 300)}
    assert len({m.id for m in every}) == len(every)
    for mutant in drawn(2, 60):
        source = mutant.source()
        ast.parse(source)
        original = (ROOT / mutant.path).read_text()
        assert len(source.splitlines()) == len(original.splitlines())
        before, after = mutant.diff
        assert before != after


def test_no_two_rules_negate_the_same_condition() -> None:
    changed = {(m.path, m.start, m.end) for m in all_mutants() if m.rule == "comparison"}
    for m in all_mutants():
        if m.rule == "condition" and (m.path, m.start, m.end) in changed:
            (test,) = ast.parse((ROOT / m.path).read_bytes()[m.start : m.end]).body
            assert not re.search(r" (==|!=) ", ast.unparse(test)), m.id


def test_the_seed_decides_and_more_mutants_begin_with_the_same() -> None:
    assert drawn(3, 20) == drawn(3, 50)[:20]
    assert drawn(3, 20) != drawn(4, 20)


def test_tests_concern_every_file_that_is_broken() -> None:
    found = {path: {t for some in concerning(path) for t in some} for path in files()}
    assert not [path for path, tests in found.items() if len(tests) < 2 or not tests <= {*TESTS}]


def test_what_is_called_equivalent_is_still_a_mutant() -> None:
    assert EQUIVALENT.keys() <= {m.key for m in all_mutants()}


def test_what_is_broken_is_still_a_mutant() -> None:
    assert all(
        of(path, before, after) for some in BROKEN.values() for path, before, after, _ in some
    )


@pytest.mark.slow
@pytest.mark.parametrize("by", BROKEN)
def test_what_is_broken_is_found(by: str, tmp_path: Path) -> None:
    wanted = {of(path, before, after).id: who for path, before, after, who in BROKEN[by]}
    some = [of(path, before, after) for path, before, after, _ in BROKEN[by]]
    sources = {m.path: (ROOT / m.path).read_bytes() for m in some}
    found = attempted(some, tmp_path / "found.jsonl", by=by, programs=12)
    assert {one.id: one.by for one in found} == wanted
    assert all((ROOT / path).read_bytes() == text for path, text in sources.items())
    assert attempted(some, tmp_path / "found.jsonl", by=by) == found


def spins() -> dict[str, Any]:
    while True:
        pass


def waits() -> dict[str, Any]:
    time.sleep(1.5)
    return {"by": ""}


@pytest.mark.parametrize(("do", "by"), [(spins, signal.SIGXCPU), (waits, 0)])
def test_what_takes_too_much_processor_time_hangs(do: Callable, by: int) -> None:
    pid, fd = forked(do, seconds=1)
    with os.fdopen(fd) as output:
        assert bool(output.read()) == (by == 0)
    assert ended(pid) == by


def test_results_are_counted_and_what_was_not_found_is_listed() -> None:
    def one(by: str, number: int) -> Tried:
        return Tried(f"{UNITS}/x/rtl.py:{number}", "r", f"key {number}", "", by, programs=3)

    counts, listed = tables([one(by, n) for n, by in enumerate((SUITE, FUZZER, NO_CIRCUIT, ""))])
    assert counts.rows[-1] == ("all", 4, 1, 0, 0, 3, 1, 1, "3", 1, "66.7 %")
    assert listed.rows == [("no circuit", "`key 2`"), ("survives", "`key 3`")]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_bugs_of_the_past_can_be_put_back(bug: Bug) -> None:
    source = bug.source()
    compile(source, bug.path, "exec")
    assert source.count("\n") == (ROOT / bug.path).read_text().count("\n")
