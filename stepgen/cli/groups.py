"""Commands made of groups of options, which are dataclasses."""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click
from click.core import ParameterSource

from stepgen.cli import config, outputs
from stepgen.ir.errors import StepError
from stepgen.ir.where import placed

OPTIONS = "Options"
"""Where in the help options stand that name no section."""

_GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
"""Where options come from that are not by default; the second is a file of settings."""

_LEFT_OUT = ("output", "json", "help")
"""Options that change nothing in what is reported."""


class _Spared(click.Parameter):
    """One that is required unless an option, which is eager, is given."""

    unless: str | None = None

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        # What was not given is not text yet: click has a mark for it.
        spared = self.unless is not None and isinstance(ctx.params.get(self.unless), str)
        if spared and self.value_is_missing(value):
            return None
        return super().process_value(ctx, value)


class _Option(_Spared, click.Option):
    def __init__(
        self,
        *names: Any,
        section: str = OPTIONS,
        unless: str | None = None,
        pairs: bool = False,
        **more: Any,
    ) -> None:
        if pairs:
            more["multiple"] = True
        super().__init__(*names, **more)
        self.section, self.unless, self.pairs = section, unless, pairs

    def consume_value(self, ctx: click.Context, opts: Any) -> tuple[Any, ParameterSource]:
        value, source = super().consume_value(ctx, opts)
        if self.pairs and source is ParameterSource.COMMANDLINE:
            # Names that only a file of settings has keep their values.
            given = {text.partition("=")[0] for text in value}
            others = ctx.lookup_default(str(self.name)) or ()
            value = (*(text for text in others if text.partition("=")[0] not in given), *value)
        return value, source


class _Argument(_Spared, click.Argument):
    def __init__(self, *names: Any, unless: str | None = None, **more: Any) -> None:
        super().__init__(*names, **more)
        self.unless = unless


class _Command(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing and any(p.name == config.OPTION for p in self.params):
            given, *_ = self.make_parser(ctx).parse_args([*args])
            named, program = (given.get(name) for name in (config.OPTION, "program"))
            if isinstance(named, str):
                ctx.obj = config.found(named, program if isinstance(program, str) else None)
                ctx.default_map = config.defaults(ctx.obj, self.params)
        try:
            return super().parse_args(ctx, args)
        except click.BadParameter as error:
            raise config.placed(ctx, error) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Option) and record is not None:
                section = getattr(parameter, "section", OPTIONS)
                sections.setdefault(section, []).append(record)
        for section, records in sections.items():
            with formatter.section(section):
                formatter.write_dl(records)


class Commands(UserDict[str, click.Command]):
    """The commands by name; the module of each is imported when it is asked for.

    Parameters
    ----------
    names : iterable of str
        Of the commands; their modules are called alike, see `grouped`.
    """

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__()
        self._names = [*names]

    def __getitem__(self, name: str) -> click.Command:
        if name in self._names and name not in self.data:
            module = f"{name}_" if iskeyword(name) else name
            self.data[name] = import_module(f"stepgen.cli.{module}").command
        return self.data[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class InOrder(click.Group):
    """Commands in the order in which they are added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(self.commands)


def option(help: str, *names: str, **more: Any) -> Any:
    """A field of a group that is an option.

    Parameters
    ----------
    help : str
    *names : str
        By default that of the field: ``"--bus-bits"`` of ``bus_bits``.
    **more
        Arguments of `click.Option`, and ``section``, where in the help it stands, and ``unless``,
        the parameter of an eager option beside which a required one may be missing, and
        ``pairs``, whether it takes ``NAME=VALUE`` and may be repeated.
    """

    def made(name: str) -> click.Parameter:
        return _Option([name, *(names or [f"--{name.replace('_', '-')}"])], help=help, **more)

    return dataclasses.field(metadata={"made": made})


def argument(**more: Any) -> Any:
    """A field of a group that is an argument, described as by `click.Argument` and `option`."""
    return dataclasses.field(metadata={"made": lambda name: _Argument([name], **more)})


def check_unused(why: str, *options: Any) -> None:
    """Check that options were not given that have no effect beside the others.

    Parameters
    ----------
    why : str
        What they are for and what to do: ``"is for a test bench: add --bench"``.
    *options : object
        Groups, or names of parameters.

    Raises
    ------
    StepError
        Where one was given.
    """
    context = click.get_current_context()
    names: set[str] = set()
    for one in options:
        names |= (
            {one} if isinstance(one, str) else {field.name for field in dataclasses.fields(one)}
        )
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        # A file of settings is for several commands.
        if parameter.name in names and source is ParameterSource.COMMANDLINE:
            raise StepError(f"{parameter.opts[-1]} {why}")


def given_options() -> dict[str, tuple[str, bool]]:
    """All options of the command that runs: their values, and whether they were given.

    Here or in a file of settings.
    """
    context, found = click.get_current_context(), {}
    for parameter in context.command.params:
        name = str(parameter.name)
        value = context.params.get(name)
        given = context.get_parameter_source(name) in _GIVEN
        if name not in _LEFT_OUT:
            found[_written(parameter, value)] = (_said(parameter, value), given)
    return found


def _written(parameter: click.Parameter, value: Any) -> str:
    """What a parameter is called on the command line; a flag that is off as ``--no-...``."""
    if isinstance(parameter, click.Argument):
        return str(parameter.name)
    off = value is False and parameter.secondary_opts
    return (parameter.secondary_opts if off else parameter.opts)[-1]


def _said(parameter: click.Parameter, value: Any) -> str:
    """Its value, as people read it."""
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    if isinstance(value, bool):
        return "" if parameter.secondary_opts else "yes" if value else "no"
    if value is None:  # the command chooses, and its help may say what
        usual = getattr(parameter, "show_default", None)
        return usual if isinstance(usual, str) else ""
    return str(value)


def grouped(function: Callable[..., Any]) -> click.Command:
    """Make a command, called like its module, of a function whose parameters are groups.

    A name that Python keeps for itself has an underscore behind it in the module.

    Parameters
    ----------
    function : callable
        Takes dataclasses of `option` and `argument`, and what `click.option` and `click.argument`
        add as plain parameters.
    """
    hints = typing.get_type_hints(function)
    groups: dict[str, Any] = {
        n: kind for n, kind in hints.items() if dataclasses.is_dataclass(kind)
    }
    fields = {name: dataclasses.fields(group) for name, group in groups.items()}

    @functools.wraps(function)
    def run(**values: Any) -> Any:
        from stepgen.tools.atomic import keeping

        context, json = click.get_current_context(), values.get("json")
        try:
            inputs = outputs.check(values, command.params)
            for name, group in groups.items():
                values[name] = group(**{f.name: values.pop(f.name) for f in fields[name]})
            with keeping(inputs):
                result = placed("the command line", lambda: function(**values))
        except StepError as error:
            said = config.placed(context, error)
            if said is error:
                raise
            raise said from error
        if not json:
            config.show(context)
        return result

    parameters = [f.metadata["made"](f.name) for group in fields.values() for f in group]
    command: click.Command = click.command(
        function.__module__.rpartition(".")[2].rstrip("_"),
        cls=_Command,
        params=parameters,
        short_help=function.__doc__,  # whole, where click would shorten it
    )(run)
    return command
