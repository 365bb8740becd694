"""The forms of an error: one line, the whole traceback, or JSON."""

from __future__ import annotations

import pytest

WRONG = """
import stepgen as sg


def call(what="add"):
    g = sg.Graph()
    x = g.input("x", sg.int8[1, 4], (2, 3))
    g.output(x.accum(getattr(sg.fn, what), rank=1), "y")
    return g


def flat():
    g = sg.Graph()
    x = g.input("x", sg.int8[1, 4], (2,))
    g.output(x.accum(sg.fn.add(), rank=1), "y")
    return g


def inner():
    return {}["no"]


def broken():
    return inner()
"""


@pytest.fixture
def wrong(here):
    (here / "w.py").write_text(WRONG)
    return here


def test_one_line_or_all_of_it(stepgen, wrong) -> None:
    said = stepgen("show w.py:broken")
    assert said.err == "stepgen: w.py:broken can't be built: KeyError at w.py:20: 'no'\n"
    for line in ("show w.py:broken --traceback", "--traceback show w.py:broken"):
        shown = stepgen(line)
        assert shown.code == 2
        assert shown.err.endswith(said.err)
        assert "in inner" in shown.err
        assert "in broken" in shown.err
    said = stepgen("show w.py:flat --traceback")
    assert "in flat" in said.err


def test_no_range_without_a_choice(stepgen, wrong) -> None:
    said = stepgen("show w.py:flat")
    assert "x.0 must have a rank of at least 1, but it is Stream[int8 1x4; 2] of rank 0" in said.err


@pytest.mark.parametrize("what", ["add", "matmul", "retile_row"])
def test_a_function_that_was_not_called(stepgen, wrong, what) -> None:
    assert f"call it: sg.fn.{what}()" in stepgen(f"show w.py:call --set what={what}").err
