"""Options from a file of settings, ``--config``; its keys are the options of the commands."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from stepgen.cli.outputs import INPUT, NAME, Output
from stepgen.ir.errors import StepError
from stepgen.program.config import ALONE, FILE, Config, Key, as_text, read

OPTION = "config"
"""Name of the parameter of commands that take settings from a file."""

NO_SETTING = (*ALONE, "selftest")
"""Parameters that only the command line has."""


def config(text: str | Path = FILE) -> Config:
    """Settings from a ``stepgen.toml``, to be given to `run`, `time` and the like as a program.

    Parameters
    ----------
    text : str or Path
        The name of settings in the file in the current folder, another file that ends in
        ``.toml``, or both: ``"FILE.toml:NAME"``.

    Raises
    ------
    StepError
        If there is no such file or name, or it has a key that is not an option of any command.
    """
    if not isinstance(text, str | Path):
        raise StepError(f"sg.config takes a name or a file of settings, not {text!r}")
    return found(str(text), None)


def found(text: str, program: str | None) -> Config:
    """Settings by their name, looked for beside a program."""
    return read(text, program, keys())


@functools.cache
def keys() -> Mapping[str, Key]:
    """What may stand in a file of settings: the options of all commands that read one."""
    return {key_of(parameter): _key(parameter) for parameter in _parameters()}


def _parameters() -> list[click.Parameter]:
    """Those of all commands that read a file of settings."""
    from stepgen.cli.app import app

    return [
        parameter
        for command in app.commands.values()
        if any(parameter.name == OPTION for parameter in command.params)
        for parameter in command.params
        if parameter.name not in NO_SETTING
    ]


def key_of(parameter: click.Parameter) -> str:
    """What a parameter is called in a file."""
    if isinstance(parameter, click.Argument):
        return str(parameter.name)
    return parameter.opts[-1].removeprefix("--")


def defaults(settings: Config, parameters: Iterable[click.Parameter]) -> dict[str, Any]:
    """The settings by name of parameter, as texts like those of a command line."""
    return {
        str(parameter.name): _given(key, settings.values[key_of(parameter)])
        for parameter in parameters
        if (key := keys().get(key_of(parameter)))
        and key_of(parameter) in settings.values
        and _meant(parameter, settings.values[key_of(parameter)])
    }


def given(context: click.Context) -> dict[str, Any]:
    """What the command line and the file say, as a file of settings would have it."""
    said: dict[str, Any] = {OPTION: None if context.obj is None else str(context.obj)}
    for parameter in context.command.params:
        name, key = str(parameter.name), keys().get(key_of(parameter))
        source = context.get_parameter_source(name)
        if key is None or source not in (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP):
            continue
        value = context.params.get(name)
        if key.pairs:
            value = dict(text.partition("=")[::2] for text in value or ())
        elif isinstance(value, tuple):
            value = [*map(_plain, value)]
        said[key_of(parameter)] = _plain(value)
    return said


def show_json(data: Mapping[str, Any]) -> None:
    """Print the document of a command as JSON, with its settings."""
    from stepgen.report import console

    context = click.get_current_context()
    takes = any(parameter.name == OPTION for parameter in context.command.params)
    console.show_json({**data, "settings": given(context)} if takes else data)


def show(context: click.Context) -> None:
    """Print which settings a run had, if they come from a file."""
    if context.obj is None:
        return
    from stepgen.report import console

    of_file: list[str] = []
    others: list[str] = []
    values = given(context)
    first = [key for key, value in values.items() if isinstance(value, dict)]
    for parameter in sorted(context.command.params, key=lambda p: key_of(p) not in first):
        key = key_of(parameter)
        value = values.get(key)
        if key == OPTION or value is None:
            continue
        if isinstance(value, dict):
            there = {name: as_text(one) for name, one in context.obj.values.get(key, {}).items()}
            for name, one in value.items():
                (of_file if there.get(name) == one else others).append(f"{key} {name}={one}")
        else:
            (of_file if _of_file(context, parameter) else others).append(f"{key}={as_text(value)}")
    line = f"settings of {context.obj}: {', '.join(of_file) or 'none for this command'}"
    console.show(line + (f"; of the command line: {', '.join(others)}" if others else ""))


def placed(context: click.Context, error: Exception) -> Exception:
    """A mistake in an option, with the line of the file that has it, if it is not given here."""
    settings = context.obj
    if not isinstance(settings, Config):
        return error
    own = {key_of(p): p for p in context.command.params}
    if isinstance(error, click.BadParameter):
        key = None if error.param is None else key_of(error.param)
        if isinstance(error, click.MissingParameter):
            return StepError(f"{settings} has no {key}, and the command line has none either")
        if error.param is None or not _of_file(context, error.param):
            return error
        return StepError(f"{settings.place(str(key))}: {error.format_message()}")
    for key in settings.values:
        if key in own and _of_file(context, own[key]) and _names(str(error), key, settings):
            return StepError(f"{settings.place(key)}: {error}")
    return error


def _names(sentence: str, key: str, settings: Config) -> bool:
    """Whether a sentence is about an option, or about a name that is given with it."""
    value = settings.values[key]
    names = [*value] if isinstance(value, dict) else []
    words = re.split(r"[^\w.]+", sentence) if key in sentence else ()
    return f"--{key} " in f"{sentence} " or any(
        repr(name) in sentence or name in words for name in names
    )


def _meant(parameter: click.Parameter, value: Any) -> bool:
    """Whether a value is for this command: an output may be a folder or a file."""
    kind = parameter.type
    if not isinstance(kind, Output) or not isinstance(value, str):
        return True
    ending = Path(value).suffix
    return ending in (kind.suffixes or ("",)) or ending not in _endings(key_of(parameter))


@functools.cache
def _endings(key: str) -> frozenset[str]:
    """How the outputs of all commands that have this option end; folders with nothing."""
    kinds = [p.type for p in _parameters() if key_of(p) == key and isinstance(p.type, Output)]
    return frozenset(ending for kind in kinds for ending in kind.suffixes or ("",))


def _of_file(context: click.Context, parameter: click.Parameter) -> bool:
    source = context.get_parameter_source(str(parameter.name))
    return source is ParameterSource.DEFAULT_MAP


def _key(parameter: click.Parameter) -> Key:
    return Key(
        pairs=getattr(parameter, "pairs", False),
        many=bool(getattr(parameter, "multiple", False)),
        flag=bool(getattr(parameter, "is_flag", False)),
        file=parameter.type is INPUT or isinstance(parameter.type, Output),
        place=parameter.type is NAME,
        endings=_endings(key_of(parameter)) - {""},
    )


def _given(key: Key, value: Any) -> Any:
    if key.pairs:
        return tuple(f"{name}={as_text(one)}" for name, one in value.items())
    if key.flag:
        return value
    if key.many:
        return tuple(map(as_text, value if isinstance(value, list) else [value]))
    return as_text(value)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value
