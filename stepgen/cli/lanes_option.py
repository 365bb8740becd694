"""The option ``--lanes``: a number for all operators, and others by name."""

from __future__ import annotations

from typing import Any

import click

from stepgen.ir.wire import LANES


class _LanesText(click.ParamType[int | str]):
    """A number, or a text that `stepgen.ir.lanes.lanes_from` reads."""

    name = "lanes"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        from stepgen.ir.errors import StepError
        from stepgen.ir.lanes import lanes_from

        text = str(value)
        try:
            lanes = lanes_from(text)
        except StepError as error:
            self.fail(str(error), param, ctx)
        return lanes if isinstance(lanes, int) else text


LANES_OPTION: dict[str, Any] = {
    "type": _LanesText(),
    "metavar": "N[,NAME=N,...]",
    "show_default": str(LANES),
}
"""Arguments of the option in every command that has it."""
