"""Sizes that can't be: a sentence, never an error of numpy."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

import stepgen as sg
from stepgen.program import program


def sizes() -> Iterator[Any]:
    """Each parameter of each example that is a number."""
    for name in program.examples():
        module = inspect.getmodule(program.find(f"{name}:{NAMES.get(name, name)}"))
        assert module is not None
        for function in vars(module).values():
            if not inspect.isfunction(function) or function.__module__ != module.__name__:
                continue
            hints = inspect.get_annotations(function)
            if not re.search("sg.(Graph|frontend.Model)", str(hints.get("return"))):
                continue
            for key, hint in hints.items():
                if key != "seed" and str(hint).split(" | ")[0] in ("int", "float"):
                    yield pytest.param(function, key, id=f"{name}:{function.__name__}-{key}")


NAMES = {
    "language_models": "gpt2",
    "models": "llama",
    "normalize": "rms_norm",
    "recipes": "relu",
    "transformer": "decode",
}


@pytest.mark.parametrize(("function", "key"), [*sizes()])
def test_of_no_elements(function: Callable[..., Any], key: str) -> None:
    for size in (0, -1):
        with suppress(sg.StepError):
            function(**{key: size})
