"""Files of safetensors: names, shapes and numbers, nothing that is executed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from stepgen.frontend.weight import Array, Weight
from stepgen.ir.errors import StepError

_ELEMENTS: Final = {
    **{"BF16": "bf16", "F32": "f32", "F64": "f64", "I32": "int32", "I16": "int16", "I8": "int8"},
    **{"F16": "f32", "I64": "int32", "BOOL": "int32", "U8": "int32"},
}
"""Element types of files, and of the weights that they become."""


MOST_HEADER = 100_000_000
"""Bytes of a header that a file of safetensors may have."""


class TensorFile:
    """A file of safetensors; its numbers are read when they are needed.

    Parameters
    ----------
    path : Path

    Raises
    ------
    StepError
        If there is no such file, it is damaged, or it has numbers of an unknown type.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.weights: dict[str, Weight] = {}
        with self._open() as file:
            self.metadata: dict[str, str] = file.metadata() or {}
            for name in file.keys():  # noqa: SIM118
                piece = file.get_slice(name)
                element = _ELEMENTS.get(piece.get_dtype())
                if element is None:
                    raise StepError(
                        f"{path}: {name} has numbers of {piece.get_dtype()}, known are "
                        f"{', '.join(_ELEMENTS)}"
                    )
                self.weights[name] = Weight(piece.get_shape(), element, partial(self._read, name))

    def _open(self) -> Any:
        from safetensors import SafetensorError, safe_open

        if not self.path.is_file():
            raise StepError(f"there is no file {self.path}")
        try:
            return safe_open(self.path, framework="np")
        except (SafetensorError, OSError) as error:
            if (whole := self._whole()) > (size := self.path.stat().st_size):
                raise StepError(f"{self.path} is cut off at {size:,} of {whole:,} bytes") from None
            raise StepError(f"{self.path} is not a file of safetensors: {error}") from None

    def _whole(self) -> int:
        """The bytes that a damaged file should have, as far as it says so; else 0."""
        with self.path.open("rb") as file:
            start = file.read(8)
            length = int.from_bytes(start, "little")
            header = file.read(length) if length <= MOST_HEADER else b""
        if not header.startswith(b"{"):
            return 0
        if len(header) < length:
            return len(start) + length
        with suppress(ValueError, AttributeError, LookupError, TypeError):
            entries = json.loads(header).items()
            ends = [entry["data_offsets"][1] for name, entry in entries if name != "__metadata__"]
            return len(start) + length + int(max(ends, default=0))
        return 0

    def _read(self, name: str) -> Array:
        with self._open() as file:
            found: Array = file.get_tensor(name)
        if found.dtype == np.float16:
            return found.astype(np.float32)
        if found.dtype.kind in "iub" and found.dtype not in (np.int8, np.int16):
            return found.astype(np.int32)
        return found


def write(path: Path, weights: Mapping[str, Weight], metadata: Mapping[str, str]) -> None:
    """Write a file of safetensors.

    Parameters
    ----------
    path : Path
    weights : mapping of str to Weight
    metadata : mapping of str to str
        Texts in the header.
    """
    from safetensors.numpy import save_file

    arrays = {name: np.ascontiguousarray(w.numbers()) for name, w in sorted(weights.items())}
    # ascontiguousarray makes a dim of a single number.
    arrays = {name: a.reshape(weights[name].shape) for name, a in arrays.items()}
    save_file(arrays, path, dict(metadata))
