"""Parameters of a program from the command line, converted to the types of the function."""

from __future__ import annotations

import ast
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Union

from stepgen.ir.errors import StepError

_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class _Unfit(ValueError):
    """A text does not fit a type; the message is the expected form."""


class _NoForm(_Unfit):
    """No text fits a type."""

    def __init__(self) -> None:
        super().__init__("set in Python, since the command line has no form for it")


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Split ``name=value`` texts.

    Parameters
    ----------
    texts : sequence of str
    option : str
        The option that they belong to, for messages.

    Raises
    ------
    StepError
        If one has no ``=`` or a name comes twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise StepError(f"{option} takes name=value, not {text!r}")
        if name in found:
            raise StepError(f"{option} {name} is given twice, {found[name]!r} and {value!r}")
        found[name] = value
    return found


def parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Named parameters of a program, with their annotations resolved where that is possible."""
    signature = inspect.signature(function)
    try:
        hints = typing.get_type_hints(getattr(function, "func", function))  # also of a partial
    except Exception:  # an annotation that can't be evaluated is ignored
        hints = {}
    return {
        name: p.replace(annotation=hints.get(name, inspect.Parameter.empty))
        for name, p in signature.parameters.items()
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    }


def bind(
    function: Callable[..., Any],
    settings: Mapping[str, str],
    given: Mapping[str, Any],
    name: str,
    *,
    option: str = "--set {}=...",
) -> dict[str, Any]:
    """The arguments to call a program with.

    Parameters
    ----------
    function : callable
        The program.
    settings : mapping of str to str
        From the command line.
    given : mapping of str to object
        Further arguments, used where the settings do not name them.
    name : str
        Name of the program, for messages.
    option : str
        How a parameter is given, for messages.

    Raises
    ------
    StepError
        If a parameter does not exist, has a value that does not fit, or is missing.
    """
    known = parameters(function)
    arguments = dict(given)
    for key, text in settings.items():
        if key not in known:
            some = f"it has {', '.join(known)}" if known else "it has none"
            raise StepError(f"{name} has no parameter {key!r}, {some}")
        try:
            arguments[key] = _convert(text, _type_of(known[key]))
        except _Unfit as unfit:
            raise StepError(f"{name} needs {key} to be {unfit}, not {text!r}") from None
    missing = [key for key, p in known.items() if p.default is p.empty and key not in arguments]
    if missing:
        raise StepError(
            f"{name} needs a value for {', '.join(missing)}: add {option.format(missing[0])}"
        )
    return arguments


def _type_of(parameter: inspect.Parameter) -> Any:
    if parameter.annotation is not parameter.empty:
        return parameter.annotation
    if parameter.default is not parameter.empty and parameter.default is not None:
        return type(parameter.default)
    return Any


def _convert(text: str, kind: Any) -> Any:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any or kind is object:
        return _literal(text)
    if origin in (Union, types.UnionType):
        return _any_of(text, args)
    if origin is Literal:
        for choice in args:
            if str(choice) == text:
                return choice
        raise _Unfit(f"one of {', '.join(str(a) for a in args)}")
    if kind is str:
        return text
    if kind is bool:
        if text.lower() not in _TRUTH:
            raise _Unfit("true or false")
        return _TRUTH[text.lower()]
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            raise _Unfit("an integer" if kind is int else "a number") from None
    if kind in (list, tuple) or origin in (list, tuple, Sequence):
        inner = args[0] if args else Any
        if typing.get_origin(inner) in (list, tuple, Sequence):
            raise _NoForm
        try:
            items = [_convert(part.strip(), inner) for part in text.split(",") if part.strip()]
        except _Unfit as unfit:
            raise _Unfit(f"a list with commas, each item {unfit}") from None
        return tuple(items) if (origin or kind) is tuple else items
    raise _NoForm


def _any_of(text: str, kinds: tuple[Any, ...]) -> Any:
    if type(None) in kinds and text.lower() == "none":
        return None
    unfit: _Unfit | None = None
    none = _Unfit("none")
    # A str takes everything, so it comes last.
    for kind in sorted((k for k in kinds if k is not type(None)), key=lambda k: k is str):
        try:
            return _convert(text, kind)
        except _NoForm as error:
            none = error
        except _Unfit as error:
            unfit = error
    raise unfit or none


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
