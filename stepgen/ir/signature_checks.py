"""Checks the inputs and parameters of a use against the signature of its operator.

Programs from files are not calls that Python checks, so they are checked here by the same
signatures.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from stepgen.ir.arguments import take
from stepgen.ir.itensor import Itensor
from stepgen.ir.operator import Call, functions, operators
from stepgen.ir.stream import Stream
from stepgen.ir.tensor import Tensor


@cache
def _signature(function: Callable[..., Any]) -> tuple[int, int | None, dict[str, tuple[Any, Any]]]:
    """Least and most streams, and annotation and default of every other parameter."""
    plain = inspect.unwrap(function)
    hints = typing.get_type_hints(plain)
    least, most, many = 0, 0, False
    rest: dict[str, tuple[Any, Any]] = {}
    for key, parameter in inspect.signature(plain).parameters.items():
        hint = hints.get(key)
        kinds = (hint, *typing.get_args(hint))
        if Stream in kinds:
            any_more = most > 0 and parameter.kind is parameter.VAR_POSITIONAL
            many |= parameter.kind is parameter.VAR_POSITIONAL
            many |= typing.get_origin(hint) is Sequence
            most += 1
            least += parameter.default is parameter.empty and not any_more
        elif key not in ("self", "name") and Itensor not in kinds:  # those give other parameters
            rest[key] = str if hint is Tensor else hint, parameter.default
    return least, None if many else most, rest


def _function(op: str) -> Callable[..., Any]:
    from stepgen.ir.graph import Graph

    face: Any = operators()[op]
    if callable(face):  # a user's own
        call: Callable[..., Any] = face.__call__
        return call
    if face.port is None:
        return functions()[op]
    return Graph.input if face.port == "in" else Graph.output


def conform(call: Call) -> None:
    """Check a use against the signature of its operator; converts parameters.

    Raises
    ------
    StepError
        If streams or parameters are missing, too many, or of another type.
    """
    if call.op not in operators():
        call.fail(f"there is no operator of this name, those are {', '.join(operators())}")
    least, most, rest = _signature(_function(call.op))
    if len(call.inputs) < least:
        call.fail(f"it needs at least {least} stream{'s' if least > 1 else ''}")
    if most is not None and len(call.inputs) > most:
        call.fail(f"it takes at most {most} stream{'s' if most > 1 else ''}")
    for key in call.attrs:
        if key not in rest:
            some = f"it has {', '.join(rest)}" if rest else "it has none"
            call.fail(f"it has no parameter {key!r}, {some}")
    for key, (hint, default) in rest.items():
        if key in call.attrs:
            call.attrs[key] = take(call.attrs[key], hint, call.op, key, call.where)
        elif default is inspect.Parameter.empty:
            call.fail(f"it needs a value for {key}")
        else:
            call.attrs[key] = default


def check_order(call: Call) -> None:
    """Reject a second use of a tensor if the order of both accesses is undefined.

    Raises
    ------
    StepError
        If one of them is a linear store.
    """
    tensor, face = call.attrs.get("tensor", ""), operators()[call.op]
    for node in call.graph.users.get(tensor, ())[:1]:  # a linear store is alone
        if face.writes_unnoticed or node.face.writes_unnoticed:
            call.fail(
                f"{node.name} at {node.where} uses tensor {tensor} too, and their order is "
                f"undefined; a linear store needs a tensor of its own"
            )
