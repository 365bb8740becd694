"""Calls from Python: keywords become the options of a command."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from html import escape
from typing import Any, TypeVar

from stepgen.commands.named import of_config
from stepgen.commands.source import Drawing, Given
from stepgen.ir.arguments import readable, take
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.where import user_line
from stepgen.program.config import Config

R = TypeVar("R")


def called(function: Callable[..., R]) -> Callable[..., R]:
    """Make a function of a program and keywords of one whose parameters are groups of options.

    Parameters
    ----------
    function : callable
        Takes a `Source` first, dataclasses of options, and plain keywords.
    """
    name = function.__name__

    @functools.wraps(function)
    def call(program: Any, inputs: Mapping[str, Any] | None = None, **options: Any) -> R:
        hints = typing.get_type_hints(function)
        groups = {key: hint for key, hint in hints.items() if dataclasses.is_dataclass(hint)}
        groups.pop("return", None)
        known = set(call.__signature__.parameters) - {"program", "inputs"}  # type: ignore[attr-defined]
        settings: dict[str, Any] = {}
        if isinstance(program, Config):
            options = _with_file(program, options, known)
        else:
            settings = _settings(program, options, name)
        for key in sorted(options.keys() - known):
            near = get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(sorted(known))}"
            raise StepError(f"{name} at {user_line()} has no option {key!r}, {hint}")
        for key, parameter in call.__signature__.parameters.items():  # type: ignore[attr-defined]
            if parameter.default is parameter.empty and key not in {"program", *options}:
                raise StepError(f"{name} at {user_line()} needs {key}=...")
        filled: dict[str, Any] = {
            key: typing.cast(Any, group)(**_taken(options, typing.get_type_hints(group), name))
            for key, group in {"drawing": Drawing, **groups}.items()
        }
        own = _taken(options, {k: h for k, h in hints.items() if k not in groups}, name)
        inputs = take({} if inputs is None else inputs, Mapping[str, Any], name, "inputs")
        drawing = filled.pop("drawing")
        if not isinstance(program, Config):
            return function(Given(program, inputs, drawing, settings), **filled, **own)
        if inputs:
            raise StepError(
                f"{name} at {user_line()} takes no inputs beside {program}, whose key inputs "
                f"names a file"
            )
        return function(of_config(program, drawing), **filled, **own)

    call.__signature__ = _signature(function)  # type: ignore[attr-defined]
    return call


def notebook(result: object, drawn: str, *tables: str) -> str:
    """A result as HTML: what it is, a picture, and folded tables.

    Parameters
    ----------
    result : object
        Its text is the first line.
    drawn : str
        SVG, or nothing.
    *tables : str
        HTML.
    """
    said = escape(repr(result).strip("<>"))
    folded = [f"<details><summary>tables</summary>\n{table}\n</details>" for table in tables]
    shown = folded if drawn else tables
    return "\n".join(["<div>", f"<p>{said}</p>", drawn, *shown, "</div>"])


def _with_file(config: Config, options: dict[str, Any], known: set[str]) -> dict[str, Any]:
    """The options, and those of a file of settings that a function has; outputs are folders."""
    filled = dict(options)
    for key, value in config.values.items():
        name = key.replace("-", "_")
        if name not in known or key in config.files:
            continue
        if isinstance(value, dict) and isinstance(options.get(name), Mapping):
            filled[name] = {**value, **options[name]}
        else:
            filled.setdefault(name, value)
    return filled


def _taken(options: dict[str, Any], hints: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The options of these names and types, which are taken out."""
    return {
        key: take(options.pop(key), hint, name, key)
        for key, hint in hints.items()
        if key in options
    }


def _settings(program: Any, options: dict[str, Any], name: str) -> dict[str, Any]:
    """The options that are parameters of the program of a model, which are taken out."""
    from stepgen.program import models

    model = models.is_made(program)
    if not model and not isinstance(program, Graph):
        raise StepError(
            f"{name} at {user_line()} takes a Graph, a model or sg.config(...), not "
            f"{type(program).__name__}: of a function that returns a Graph and its inputs give "
            f"*function()"
        )
    asked = {key: options.pop(key) for key in [*options] if key in models.settings()}
    if asked and not model:
        raise StepError(
            f"{name} at {user_line()} takes no {next(iter(asked))} here: {program.name} is "
            f"a graph, and that is for a model"
        )
    return asked


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """With each option as a keyword, for help and completion."""
    kinds = inspect.Parameter
    written = inspect.signature(function)
    namespace = {"Drawing": Drawing, **vars(inspect.getmodule(function))}
    found = [
        kinds("program", kinds.POSITIONAL_OR_KEYWORD, annotation="Graph | Model | Config"),
        kinds("inputs", kinds.POSITIONAL_OR_KEYWORD, default=None, annotation="Mapping | None"),
    ]
    drawing = kinds("drawing", kinds.KEYWORD_ONLY, annotation="Drawing")
    for parameter in [drawing, *list(written.parameters.values())[1:]]:
        group = namespace.get(str(parameter.annotation))
        if not dataclasses.is_dataclass(group):
            found.append(parameter)
            continue
        for field in dataclasses.fields(group):
            made = field.default_factory
            default = field.default if made is dataclasses.MISSING else made()
            default = kinds.empty if default is dataclasses.MISSING else default
            one = kinds(field.name, kinds.KEYWORD_ONLY, default=default, annotation=field.type)
            found.append(one)
    required = [p for p in found[2:] if p.default is kinds.empty]
    optional = [p for p in found[2:] if p.default is not kinds.empty]
    return readable(written.replace(parameters=[*found[:2], *required, *optional]))
