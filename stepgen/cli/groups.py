"""Groups of options that several commands share, as dataclasses."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any

from stepgen.cli import outputs
from stepgen.ir.where import placed


def grouped(command: Callable[..., Any]) -> Callable[..., Any]:
    """Turn a command whose parameters are groups into one with plain options, for typer.

    Every parameter that is a dataclass is replaced by its fields; the command is called with the
    dataclass. Fields are annotated as typer wants it, ``Annotated[int, typer.Option("--lanes")]``.

    Parameters
    ----------
    command : callable
        Takes groups and single parameters.
    """
    hints = typing.get_type_hints(command, include_extras=True)
    groups: dict[str, type[Any]] = {}
    single: list[inspect.Parameter] = []
    fields: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if dataclasses.is_dataclass(kind):
            groups[name] = typing.cast("type[Any]", kind)
            fields.extend(_parameters(groups[name]))
        else:
            single.append(parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))

    parameters = [*fields, *single]
    results = outputs_of(parameters)

    @functools.wraps(command)
    def run(**values: Any) -> Any:
        from stepgen.tools.atomic import keeping

        inputs = outputs.check(values, results, str(_argument(values) or ""))
        arguments = {
            name: group(**{f.name: values.pop(f.name) for f in dataclasses.fields(group)})
            for name, group in groups.items()
        }
        with keeping(inputs):
            return placed("the command line", lambda: command(**arguments, **values))

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    del run.__wrapped__
    return run


def outputs_of(parameters: list[inspect.Parameter]) -> dict[str, outputs.Output]:
    """The parameters that name output files."""
    found = {}
    for parameter in parameters:
        for note in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(note, outputs.Output):
                found[parameter.name] = note
    return found


def _argument(values: dict[str, Any]) -> Any:
    return next((values[key] for key in ("program", "name") if key in values), None)


def _parameters(group: type[Any]) -> list[inspect.Parameter]:
    hints = typing.get_type_hints(group, include_extras=True)
    found = []
    for field in dataclasses.fields(group):
        default = field.default
        if default is dataclasses.MISSING:
            default = inspect.Parameter.empty
            if field.default_factory is not dataclasses.MISSING:
                default = field.default_factory()
        found.append(
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=hints[field.name],
            )
        )
    return found
