"""Models as files: one in the format of safetensors, whose header has the operations as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from stepgen.frontend.kind import TOKENS, Kind, Value, kinds
from stepgen.frontend.model import Model, Op
from stepgen.frontend.tensors import TensorFile, write
from stepgen.frontend.weight import Weight
from stepgen.ir.arguments import checked, shown
from stepgen.ir.errors import StepError
from stepgen.ir.function import Function, function
from stepgen.ir.records import parsed
from stepgen.ir.versions import stamped, unstamped
from stepgen.ir.where import placed
from stepgen.tools.atomic import atomic_file

FORMAT = 1
"""Of the operations."""

KEY = "stepgen"
"""Of the operations in the header."""

SUFFIX = ".stepgen"
"""Of files with a model."""


def is_model(spec: str) -> bool:
    """Whether a text names a file with a model."""
    return spec.endswith(SUFFIX)


def dumps(model: Model) -> str:
    """The operations as JSON, without the weights.

    Parameters
    ----------
    model : Model
    """
    entries: dict[str, Any] = {
        "name": model.name,
        "tokens": list(model.tokens),
        "inputs": {name: _value(value) for name, value in model.inputs.items()},
        "outputs": list(model.outputs),
        "ops": [_op(op) for op in model.ops],
    }
    if model.characters:
        entries["characters"] = model.characters
    return json.dumps(stamped(FORMAT, entries), indent=1)


def _value(value: Value) -> dict[str, Any]:
    return {"shape": list(value.shape), "element": value.element}


def _op(op: Op) -> dict[str, Any]:
    attrs = {key: _attribute(value) for key, value in op.kind.attributes().items()}
    return {
        "kind": op.kind.name,
        "name": op.name,
        "inputs": list(op.inputs),
        "attrs": attrs,
        "weights": dict(op.weights),
        "path": op.path,
        "line": op.line,
    }


def _attribute(value: Any) -> Any:
    if isinstance(value, Function):
        return {"fn": value.name, **value.parameters()}
    if isinstance(value, tuple):
        return [_op(item) if isinstance(item, Op) else item for item in value]
    return value


def loads(text: str, weights: Mapping[str, Weight], place: str = "the text") -> Model:
    """The model of operations as JSON, and weights.

    Parameters
    ----------
    text : str
        Written by `dumps`.
    weights : mapping of str to Weight
    place : str
        Origin of the text, for messages.

    Raises
    ------
    StepError
        If the text has not the format of `dumps` or a newer one, or the model is not possible.
    """
    data = parsed(text, f"{place} is not a model", infinite=True)
    with unstamped(data, FORMAT, place, stamp=True) as entries:
        try:
            return placed(place, lambda: _model(entries, weights, place))
        except StepError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise StepError(f"{place}: its operations do not fit together") from None


def _take(entry: Any, what: str, **hints: type) -> list[Any]:
    """The fields of a JSON object, which has these and no others."""
    if not isinstance(entry, dict):
        raise StepError(f"{what} must be an object, not {shown(entry)}")
    for key in entry:
        if key not in hints:
            raise StepError(f"{what} has no field {shown(key)}, it has {', '.join(hints)}")
    for key, hint in hints.items():
        if key not in entry:
            raise StepError(f"{what} lacks {shown(key)}")
        if type(entry[key]) is not hint:
            raise StepError(f"{what} has a {key!r} that is {shown(entry[key])}")
    return [entry[key] for key in hints]


def _texts(values: list[Any], what: str) -> tuple[str, ...]:
    for value in values:
        if not isinstance(value, str) or not value.isprintable():
            raise StepError(f"{what} has {shown(value)}, which is not a name")
    return tuple(values)


def _model(entries: dict[str, Any], weights: Mapping[str, Weight], place: str) -> Model:
    characters = entries.pop("characters", "")
    if not isinstance(characters, str):
        raise StepError(f"{place}: characters must be a text, not {shown(characters)}")
    name, tokens, inputs, outputs, ops = _take(
        entries, place, name=str, tokens=list, inputs=dict, outputs=list, ops=list
    )
    if len(tokens) != 2 or any(type(n) is not int for n in tokens):
        raise StepError(f"{place}: tokens must be two integers, not {shown(tokens)}")
    _texts([name], place)
    return Model(
        name,
        (tokens[0], tokens[1]),
        {key: _read_value(entry, f"{place}: input {key}") for key, entry in inputs.items()},
        _texts(outputs, f"{place}: outputs"),
        tuple(_read_op(entry, f"operation {i} of {place}") for i, entry in enumerate(ops)),
        weights,
        characters,
    )


def _read_value(entry: Any, what: str) -> Value:
    shape, element = _take(entry, what, shape=list, element=str)
    if element not in ("f32", "int32"):
        raise StepError(f"{what} is of f32 or int32, not of {shown(element)}")
    if shape[:1] != [TOKENS]:
        raise StepError(f"{what}: its first dim must be {TOKENS!r}, not {shown(shape[:1])}")
    for extent in shape[1:]:
        if type(extent) is not int or extent < 1:
            raise StepError(
                f"{what}: only its first dim may be dynamic, and {shown(extent)} is not an extent"
            )
    return Value(tuple(shape), element)


def _read_op(entry: Any, what: str) -> Op:
    kind, name, inputs, attrs, weights, path, line = _take(
        entry, what, kind=str, name=str, inputs=list, attrs=dict, weights=dict, path=str, line=str
    )
    if kind not in kinds():
        raise StepError(
            f"{what}: there is no operation {shown(kind)}, those are {', '.join(kinds())}"
        )
    _texts([name, path, line, *weights, *weights.values()], what)
    made = _kind(kinds()[kind], attrs, f"{what}, {kind} {name}")
    return Op(made, name, _texts(inputs, what), weights, path, line)


def _kind(kind: type[Kind], attrs: dict[str, Any], what: str) -> Kind:
    known = [f.name for f in fields(kind)]
    for key in attrs:
        if key not in known:
            has = ", ".join(known) or "none"
            raise StepError(f"{what} has no attribute {shown(key)}, its attributes are {has}")
    for key in known:
        if key not in attrs:
            raise StepError(f"{what} lacks the attribute {key}")
    made = {key: _read_attribute(value, key, what) for key, value in attrs.items()}
    return kind(**made)


def _read_attribute(value: Any, key: str, what: str) -> Any:
    if isinstance(value, dict):
        parameters = dict(value)
        return function(parameters.pop("fn", None), **parameters)
    if isinstance(value, list):
        return tuple(
            _read_op(item, f"operation {i} of {what}") if isinstance(item, dict) else item
            for i, item in enumerate(value)
        )
    return value


@checked
def save(model: Model, path: str | Path) -> None:
    """Write a model to a file.

    Parameters
    ----------
    model : Model
    path : str or Path
        Ends in ``.stepgen``; an existing file is replaced.

    Raises
    ------
    StepError
        If the file can't be written; what was there before stays.
    """
    path = Path(path)
    if path.suffix != SUFFIX:
        raise StepError(f"a model is saved in a file that ends in {SUFFIX}, not in {path}")
    with atomic_file(path) as partial:
        write(partial, model.weights, {KEY: dumps(model)})


@checked
def load(path: str | Path) -> Model:
    """Read a model from a file that `save` wrote.

    Weights are read when they are needed. Nothing in the file is executed.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    StepError
        If the file can't be read or is not a model.
    """
    file = TensorFile(Path(path))
    text = file.metadata.get(KEY)
    if text is None:
        raise StepError(
            f"{path} has weights but no model: stepgen import makes one of a checkpoint's folder"
        )
    return loads(text, file.weights, str(path))
