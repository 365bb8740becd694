"""Validation of users' arguments against annotations.

A parameter ``rank: int`` accepts the integers of Python and numpy and is converted to `int`;
anything else is an error at the user's line. So the signature of an operator, function or option
checks types, and the code only has to check values.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import math
import operator
import re
import reprlib
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, Union

from stepgen.ir.errors import StepError
from stepgen.ir.where import user_line

C = TypeVar("C", bound=Callable[..., Any])

Fitter = Callable[[Any], Any]
"""What `fit` does for one type."""

MOST_BITS = 63
"""Most bits of an integer: memories, numpy and circuits have no larger ones."""

ADDRESS_BITS = 64
"""Most bits of an off-chip byte address."""

Address = Annotated[int, ADDRESS_BITS]
"""Off-chip byte address: an integer that may have more bits than others."""

MOST_ITEMS = 1 << 16
"""Most items of a lazy sequence, which may be endless."""


class Unfit(Exception):
    """A value has another type; the message is the expected one: ``an integer``."""


def checked(function: C, name: str | None = None) -> C:
    """Make a function validate its arguments.

    Parameters
    ----------
    function : callable
        A function with annotated parameters, or a dataclass.
    name : str, optional
        Its name in messages, by default its own name.
    """
    called = name or function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

    @functools.cache
    def known() -> tuple[inspect.Signature, dict[str, Any]]:
        signature = inspect.signature(function)
        hints = typing.get_type_hints(function, include_extras=True)
        for key, parameter in signature.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                hints[key] = dict[str, hints.get(key, Any)]  # type: ignore[misc]
        return signature, {key: hints.get(key, Any) for key in signature.parameters}

    @functools.cache
    def plainly() -> tuple[list[str], set[str], dict[str, Fitter]] | None:
        """Parameters by place, those without a default, and what `fit` does for each; None if it
        takes any number."""
        signature, hints = known()
        parameters = signature.parameters
        kinds = {parameter.kind for parameter in parameters.values()}
        if not kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}:
            return None
        places = [k for k, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
        needed = {k for k, p in parameters.items() if p.default is p.empty}
        return places, needed, {k: _same if k == "name" else _fitter(h) for k, h in hints.items()}

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        plain = plainly()
        if plain is not None:  # `bind` takes longer than many functions
            places, needed, fitters = plain
            given = dict(zip(places, args, strict=False))
            given.update(kwargs)
            fits = len(given) == len(args) + len(kwargs) and given.keys() <= fitters.keys()
            if fits and needed <= given.keys():
                for key, value in given.items():
                    try:
                        given[key] = fitters[key](value)
                    except Unfit as unfit:
                        raise _refused(value, unfit, called, key) from None
                if not kwargs:
                    return function(*given.values())
                first = [given.pop(k) for k in itertools.takewhile(given.__contains__, places)]
                return function(*first, **given)
        signature, hints = known()
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise StepError(f"{called} at {user_line()}: {error}") from None
        for key, value in bound.arguments.items():
            if key == "name":
                continue  # `stepgen.ir.names` checks names, with better messages
            hint = hints[key]
            if signature.parameters[key].kind is inspect.Parameter.VAR_POSITIONAL:
                taken = tuple(take(one, hint, called, f"each of {key}") for one in value)
            else:
                taken = take(value, hint, called, key)
            bound.arguments[key] = taken
        return function(*bound.args, **bound.kwargs)

    call.__name__ = called
    shown_call: Any = call
    signature = inspect.signature(function)
    made = function.__name__ if isinstance(function, type) else signature.return_annotation
    shown_call.__signature__ = readable(signature.replace(return_annotation=made))
    return typing.cast(C, call)


class _Annotation(str):
    """An annotation as it is written, without quotes in a signature."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def readable(signature: inspect.Signature) -> inspect.Signature:
    """A signature with annotations as they are written, for ``help``."""

    def plain(hint: Any) -> Any:
        return _Annotation(hint) if isinstance(hint, str) else hint

    parameters = [p.replace(annotation=plain(p.annotation)) for p in signature.parameters.values()]
    made = plain(signature.return_annotation)
    return signature.replace(parameters=parameters, return_annotation=made)


def take(value: Any, hint: Any, called: str, key: str, line: str | None = None) -> Any:
    """One argument, validated and converted by `fit`.

    Parameters
    ----------
    value : object
        The user's value.
    hint : type
        The annotation.
    called, key : str
        Names of the function and of the parameter, for messages.
    line : str, optional
        The user's line, by default the current one.

    Raises
    ------
    StepError
        If it does not fit.
    """
    try:
        return fit(value, hint)
    except Unfit as unfit:
        raise _refused(value, unfit, called, key, line) from None


def _refused(value: Any, unfit: Unfit, called: str, key: str, line: str | None = None) -> StepError:
    """The error of an argument that does not fit, which is not looked at again: an iterator that
    was read is empty, and would fit."""
    return StepError(
        f"{called} at {line or user_line()}: {key} must be {unfit}, not {shown(value)}"
    )


def take_fields(made: Any) -> None:
    """Validate the fields of a dataclass that users construct; called by `__post_init__`."""
    kind: Any = type(made)
    for key, fitted in _fields(kind):
        value = getattr(made, key)
        try:
            taken = fitted(value)
        except Unfit as unfit:
            raise _refused(value, unfit, kind.__name__, key) from None
        if taken is not value:
            object.__setattr__(made, key, taken)


@functools.cache
def _fields(kind: Any) -> list[tuple[str, Fitter]]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return [(f.name, _fitter(hints[f.name])) for f in dataclasses.fields(kind)]


class _Repr(reprlib.Repr):
    def repr_int(self, x: int, level: int) -> str:
        """Python can't convert integers of thousands of digits to text."""
        return repr(x) if x.bit_length() <= 128 else f"an integer of {x.bit_length()} bits"


_REPR = _Repr()
_REPR.maxstring = _REPR.maxother = 70


def shown(value: Any) -> str:
    """A value for a message: one line, shortened, also if its `repr` fails."""
    text = " ".join(_REPR.repr(value).split())
    return re.sub(" at 0x[0-9a-f]+", "", text)[:100]


def fit(value: Any, hint: Any) -> Any:
    """A value in the plain form of a type: numpy's numbers as Python's, lists as tuples.

    Raises
    ------
    Unfit
        If the value does not fit.
    """
    return _fitter(hint)(value)


@functools.cache
def _fitter(hint: Any) -> Fitter:
    """What `fit` does for a type, which is taken apart once."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    if hint is Any or hint is object or isinstance(hint, TypeVar):
        return _same
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return functools.partial(_integer, most_bits=hint.__metadata__[0])
    if origin in (Union, types.UnionType):
        some = [_fitter(one) for one in inner if one is not type(None)]
        return functools.partial(_one_of, some=some, none=type(None) in inner)
    if origin is Literal:
        return functools.partial(_literal, names=inner)
    if origin in (tuple, list, Sequence, Iterable):
        fixed = origin is tuple and inner[-1:] != (...,)
        each = [_fitter(one) for one in (inner if fixed else inner[:1] or [Any])]
        return functools.partial(_sequence, origin=origin, each=each, fixed=fixed)
    if origin in (dict, Mapping):
        key, item = map(_fitter, inner or (Any, Any))
        return functools.partial(_mapping, key=key, item=item)
    if origin is Callable or hint is Callable:
        return _callable
    kind = origin or hint
    if getattr(kind, "_is_protocol", False) or not isinstance(kind, type):
        return _same  # protocols, such as those of `numpy.typing.ArrayLike`, can't be checked
    return functools.partial(_of_class, kind=kind)


def _same(value: Any) -> Any:
    return value


def _literal(value: Any, names: Sequence[str]) -> str:
    if isinstance(value, str) and value in names:
        return value
    raise Unfit(f"one of {', '.join(names)}")


def _callable(value: Any) -> Any:
    if callable(value):
        return value
    raise Unfit("a function")


def _of_class(value: Any, kind: type[Any]) -> Any:
    if isinstance(value, kind):
        return value
    raise Unfit(_instance(kind, value))


def _instance(kind: type[Any], value: Any) -> str:
    """Description of a class for messages: ``a data type such as int8[1, 64]``."""
    words = " ".join(re.findall("[A-Z][a-z0-9]*|[a-z0-9]+", kind.__name__)).lower()
    described = f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
    maker = getattr(value, "__wrapped__", None)
    if isinstance(maker, type) and issubclass(maker, kind):
        door = "sg.fn" if kind.__name__ == "Function" else "sg"
        return f"{described} (call it: {door}.{value.__name__}())"
    if isinstance(value, type) and issubclass(value, kind):
        return f"{described} (call it: {value.__name__}())"
    example = getattr(kind, "EXAMPLE", None)
    return f"{described} such as {example}" if example else described


def _one_of(value: Any, some: Sequence[Fitter], *, none: bool) -> Any:
    if none and value is None:
        return None
    expected = []
    for fitter in some:
        try:
            return fitter(value)
        except Unfit as unfit:
            expected.append(str(unfit))
    raise Unfit(" or ".join(dict.fromkeys(expected)))


def _sequence(
    value: Any, origin: Any, each: Sequence[Fitter], *, fixed: bool
) -> tuple[Any, ...] | list[Any]:
    """`each` has what `fit` does for each item, one for all if their number is not `fixed`."""
    if isinstance(value, set | frozenset):
        raise Unfit("a sequence, and a set has no order")
    if type(value) in (list, tuple) and not fixed:
        (fitter,) = each
        try:
            fitted = [fitter(item) for item in value]
        except Unfit as unfit:
            raise Unfit(f"a sequence, each of them {unfit}") from None
        return fitted if origin is list else tuple(fitted)
    array = _is_numpy(value, "ndarray")
    most = None if array or isinstance(value, list | tuple) else MOST_ITEMS
    kind = Iterable if origin is Iterable else Sequence
    try:
        if isinstance(value, str | bytes | bytearray | Mapping):
            raise TypeError
        if not array and not isinstance(value, kind):
            raise TypeError
        items = list(
            itertools.islice(iter(value), most and most + 1)
        )  # TypeError for an array without dims
        if (most and len(items) > most) or (fixed and len(items) != len(each)):
            raise TypeError
        rest = each if fixed else [*each] * len(items)
        made = [fitter(item) for item, fitter in zip(items, rest, strict=True)]
    except (TypeError, Unfit) as error:
        many = f"{len(each)} values" if fixed else "a sequence"
        one = str(error) if isinstance(error, Unfit) else _described(each[0]) if each else ""
        raise Unfit(f"{many}, each of them {one}" if each else "empty") from None
    return made if origin is list else tuple(made)


def _mapping(value: Any, key: Fitter, item: Fitter) -> dict[Any, Any]:
    try:
        if not isinstance(value, Mapping):
            raise Unfit
        return {key(k): item(v) for k, v in value.items()}
    except Unfit:
        raise Unfit(f"a mapping from {_described(key)} to {_described(item)}") from None


def _described(fitter: Fitter) -> str:
    """Description of a type for messages."""
    try:
        fitter(_Nothing())
    except Unfit as unfit:
        return str(unfit)
    return "anything"


class _Nothing:
    """A value of no type but `object`."""


def _is_numpy(value: Any, name: str) -> bool:
    """Whether a value is of a type of numpy, which is loaded where there are such values."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, getattr(numpy, name))


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool) or _is_numpy(value, "bool_")


def _integer(value: Any, most_bits: int = MOST_BITS) -> int:
    whole = value if type(value) is int else _index(value)
    if whole.bit_length() > most_bits:
        raise Unfit(f"an integer of at most {most_bits} bits")
    return whole


def _index(value: Any) -> int:
    if _is_truth(value) or not hasattr(value, "__index__"):
        raise Unfit("an integer")
    try:
        return operator.index(value)
    except Exception:  # an array of several elements, or a user's own `__index__`
        raise Unfit("an integer") from None


def _number(value: Any) -> float:
    if isinstance(value, float) or _is_numpy(value, "floating"):
        if math.isnan(value):
            raise Unfit("a number")
        return float(value)
    try:
        return _integer(value)
    except Unfit as unfit:
        raise Unfit(str(unfit).replace("an integer", "a number")) from None


def _truth(value: Any) -> bool:
    if not _is_truth(value):
        raise Unfit("True or False")
    return bool(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Unfit("a string")
    return str(value)


def _none(value: Any) -> None:
    if value is not None:
        raise Unfit("None")


_PLAIN: dict[Any, Fitter] = {
    int: _integer,
    float: _number,
    bool: _truth,
    str: _text,
    type(None): _none,
    None: _none,
}
