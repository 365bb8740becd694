"""Stimulus, expected values and predicted cycles of a test bench, as ``.npz`` files of arrays.

`stimulus` holds ``<tensor>``, a matrix, and ``<stream>/stops``, ``<stream>/values`` and so on, see
`beats`. `expected` has the same of what leaves; ``<tensor>/stored`` says what of it is written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .beats import Port
from .tensors import Tensor

Array = npt.NDArray[Any]
Arrays = Mapping[str, Array]
_DECIDING = ("bool", "address")
"""Elements that decide where beats go, and how long something takes."""


def load(path: Path) -> dict[str, Array]:
    """All arrays of a file."""
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def stream(arrays: Arrays, name: str) -> dict[str, Array]:
    """The arrays of one stream."""
    head = f"{name}/"
    found = {key[len(head) :]: array for key, array in arrays.items() if key.startswith(head)}
    assert found, f"there is no stream {name}, only {', '.join(arrays)}"
    return found


def decisive(
    stimulus: Arrays, inputs: Iterable[Port], tensors: Iterable[Tensor], numbers: bool
) -> str:
    """A hash of all that the cycles of a run depend on.

    That is the structure of the input streams, selectors, flags and addresses; and `numbers`, where
    the design makes such of them.
    """
    h = hashlib.sha256()
    for port in inputs:
        arrays = stream(stimulus, port.name)
        for key in ("stops", "empties", "shapes", "values"):
            if key in arrays:
                decides = key != "values" or numbers or port.element in _DECIDING
                h.update(_said(f"{port.name}/{key}", arrays[key], decides))
    for tensor in tensors:
        if tensor.name in stimulus and (numbers or tensor.element in _DECIDING):
            h.update(_said(tensor.name, stimulus[tensor.name], True))
    return h.hexdigest()


def _said(name: str, array: Array, contents: bool) -> bytes:
    return f"{name} {array.shape} {array.tolist() if contents else ''};".encode()


def prediction(path: Path, stimulus: Arrays, design: Any) -> dict[str, Array]:
    """What is predicted of a run: the cycles of beats, its length, counters.

    Parameters
    ----------
    path : Path
    stimulus : mapping of str to array
    design : module
        What is known of the design.

    Returns
    -------
    dict of str to array
        Empty where nothing is predicted, or the stimulus is one with other cycles.
    """
    if not path.exists():
        return {}
    predicted = load(path)
    key = decisive(stimulus, design.INPUTS, design.TENSORS, design.NUMBERS_DECIDE)
    return predicted if predicted.pop("decisive").item() == key else {}


def renew(folder: Path, golden: Callable[[Arrays], Arrays | None]) -> None:
    """Compute anew what is expected, after a change of the stimulus.

    Parameters
    ----------
    folder : Path
        Of the test bench.
    golden : callable
        Gives what leaves, by name, for a stimulus: the rows that are written of each tensor, and
        arrays of streams.
    """
    computed = golden(load(folder / "stimulus.npz"))
    if computed is None:
        raise SystemExit("golden.py does not compute this stimulus: its expected() gives None")
    for path in folder.glob("*/expected.npz"):
        expected = load(path)
        for name, rows in computed.items():
            put(expected, name, rows)
        np.savez_compressed(path, allow_pickle=False, **expected)
        print(f"{path.relative_to(folder)}: {', '.join(computed)} as computed")


def put(expected: dict[str, Array], name: str, rows: Array) -> None:
    """Expect an array of a stream, or rows of a tensor: from its first on, and the others stay."""
    if "/" in name:
        expected[name] = rows
        return
    count = len(rows)
    stored = np.zeros(expected[name].shape, np.bool_)
    stored[:count] = True
    expected[name][:count] = rows
    expected[f"{name}/stored"] = stored


def beat_faults(port: Port, payloads: Sequence[int], expected: Arrays) -> Iterator[str]:
    """How the beats that came differ from the expected stream."""
    seen = [port.unpack(payload) for payload in payloads]
    wanted = [port.unpack(port.pack(beat)) for beat in port.beats(stream(expected, port.name))]
    for i, (came, due) in enumerate(zip(seen, wanted, strict=False)):
        if came != due:
            yield f"{port.name}: beat {i} is {came}, expected {due}"
            return
    if len(seen) != len(wanted):
        yield f"{port.name}: {len(seen)} beats came, {len(wanted)} were expected"


def tensor_faults(tensor: Tensor, before: bytes, after: bytes, expected: Arrays) -> Iterator[str]:
    """How a tensor after a run differs from the expected one; the rest must be as before."""
    wanted = np.frombuffer(before, np.uint8)
    if tensor.name in expected:
        due = np.frombuffer(tensor.pack(expected[tensor.name]), np.uint8)
        stored = expected[f"{tensor.name}/stored"]
        kept = tensor.in_order(stored).repeat(tensor.size // stored.size)
        wanted = np.where(kept, due, wanted)
    wrong = np.flatnonzero(np.frombuffer(after, np.uint8) != wanted)
    if wrong.size:
        size = tensor.size // (tensor.rows * tensor.cols)
        places = tensor.matrix(np.arange(tensor.rows * tensor.cols))
        row, col = np.argwhere(places == wrong[0] // size)[0].tolist()
        seen, due = tensor.unpack(after)[row, col], tensor.unpack(wanted.tobytes())[row, col]
        yield f"{tensor.name}[{row}, {col}] is {seen}, expected {due}; {wrong.size} bytes differ"


def cycle_faults(name: str, seen: Sequence[int], predicted: Array) -> Iterator[str]:
    """How the cycles in which beats moved differ from the predicted ones."""
    for i, (cycle, due) in enumerate(zip(seen, predicted.tolist(), strict=False)):
        if cycle != due:
            yield f"{name}: beat {i} moved in cycle {cycle}, predicted {due}"
            return
    if len(seen) != len(predicted):
        yield f"{name}: {len(seen)} beats moved, {len(predicted)} were predicted"
