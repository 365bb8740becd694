"""What is said where a stream is not a value of Python, and where a name is not there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from stepgen.ir.absent import RECIPES
from stepgen.ir.function import function_types
from stepgen.ir.operator import functions
from stepgen.pages.recipes import recipes

DECISIONS: dict[str, Callable[[Any], Any]] = {
    "if": lambda x: 1 if x else 2,
    "not": lambda x: not x,
    "and": lambda x: x and x,
    "any": lambda x: any([x]),
    "== 0": lambda x: x == 0,
    "0 ==": lambda x: 0 == x,  # noqa: SIM300
    "!= 0.5": lambda x: x != 0.5,
    "== True": lambda x: x == True,  # noqa: E712
    "== numpy": lambda x: x == np.int8(3),
    "numpy ==": lambda x: np.arange(3) == x,
    "in": lambda x: x in [1, 2],
}


def stream() -> sg.Stream:
    return sg.Graph("g").input("x", sg.int8[1, 4], (3,))


@pytest.mark.parametrize("what", DECISIONS)
def test_python_does_not_decide_by_a_stream(what: str) -> None:
    with pytest.raises(sg.StepError, match=r"at test_absent.py:\d+: x\.0 has elements only when"):
        DECISIONS[what](stream())


def test_handles_are_compared() -> None:
    x = stream()
    assert x == x.fifo(4)
    assert x != stream()
    assert x != "x"
    assert x in [stream(), x]


@pytest.mark.parametrize("name", functions())
@pytest.mark.parametrize("door", [lambda: sg, stream], ids=["sg", "stream"])
def test_names_that_are_almost_an_operator(door: Callable[[], Any], name: str) -> None:
    there = {n for n in dir(door()) if n[0] != "_"}
    for at in range(len(name)):
        wrong = name[:at] + name[at + 1 :]
        if not wrong or wrong in there:
            continue
        with pytest.raises(AttributeError, match=f"no attribute '{wrong}', did you mean") as error:
            getattr(door(), wrong)
        (meant,) = re.findall(r"did you mean (?:sg\.)?(\w+)\?", str(error.value))
        assert meant in {*there, *functions()}


@pytest.mark.parametrize("door", [lambda: sg, stream], ids=["sg", "stream"])
def test_names_of_functions_and_recipes(door: Callable[[], Any]) -> None:
    assert [*recipes()] == [*RECIPES]
    for name in {*function_types()} - {n for n in dir(door())}:
        with pytest.raises(AttributeError, match=rf"'{name}', which is a function: .* sg\.fn\."):
            getattr(door(), name)
    for name in RECIPES:
        message = f"'{name}', which is a recipe: stepgen show recipes:{name}"
        for place in (door(), sg.fn):
            with pytest.raises(AttributeError, match=message):
                getattr(place, name)
    with pytest.raises(AttributeError, match=r"no attribute 'quux'$"):
        _ = door().quux


def test_a_word_that_is_cut_short_is_completed() -> None:
    with pytest.raises(AttributeError, match=r"no function 'max', did you mean maximum\?"):
        sg.fn.max()
    with pytest.raises(AttributeError, match=r"no function 'maxmum', did you mean maximum\?"):
        sg.fn.maxmum()
