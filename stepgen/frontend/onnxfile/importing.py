"""Import of an ONNX file."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from stepgen.frontend.builder import Builder
from stepgen.frontend.drawing import drawn
from stepgen.frontend.imported import Imported
from stepgen.frontend.model import Model
from stepgen.frontend.onnxfile.reading import OnnxFile
from stepgen.frontend.onnxfile.translating import Translator
from stepgen.ir.arguments import checked
from stepgen.ir.errors import StepError

MOST_ERROR = 1e-4
"""Largest error of an import, as a part of the largest output; else it is refused."""


@checked
def from_onnx(path: str | Path, tokens: int = 1024) -> Model:
    """A model from an ONNX file of linears, norms and functions, as an MLP or a classifier's head.

    Rows are the tokens of the model: the first dim of the inputs, or the second behind a batch of
    1. Functions and norms that the file has as several nodes are recognised by their numbers.

    Parameters
    ----------
    path : str or Path
    tokens : int
        Most rows of one run.

    Raises
    ------
    StepError
        If the package onnx is missing, the file is damaged, it has an operation that models have
        not, or the model differs from the file on random input.
    """
    return imported(Path(path), tokens).model


def imported(path: Path, tokens: int = 1024) -> Imported:
    """The same, with the largest error against the reference implementation of ONNX."""
    if tokens < 1:
        raise StepError(f"{path}: a run must have at least 1 token, not {tokens}")
    file = OnnxFile(path)
    name = re.sub(r"\W", "_", path.stem)
    translator = Translator(file, Builder(name, (1, tokens)))
    outputs = [translator.value(output) for output in file.outputs]
    model = translator.b.model(*(value.handle for value in outputs))
    count = file.rows or min(tokens, 5)
    error = _compared(model, file, count)
    if not error <= MOST_ERROR:
        raise StepError(
            f"{path}: the model differs from the file by {error:.1e} of the largest output on "
            f"random input; it has an operation that was not understood"
        )
    return Imported(model, str(path), {}, error, count)


def _compared(model: Model, file: OnnxFile, count: int) -> float:
    """The largest difference on random input, as a part of the largest output."""
    random = drawn(model, {}, tokens=count)
    given = {}
    for x in file.inputs:
        kind = x.type.tensor_type
        dims = [d.dim_value or count for d in kind.shape.dim]
        given[x.name] = random[x.name].reshape(dims).astype(_numpy(kind.elem_type))
    wants, found, worst = file.run(given), model.run(random), 0.0
    for name, want in zip(model.outputs, wants, strict=True):
        true = np.asarray(want, np.float64).reshape(found[name].shape)
        worst = max(worst, float(np.abs(found[name] - true).max() / max(np.abs(true).max(), 1e-30)))
    return worst


def _numpy(element: int) -> np.dtype[np.generic]:
    from stepgen.frontend.onnxfile.needed import onnx

    found: np.dtype[np.generic] = onnx().helper.tensor_dtype_to_np_dtype(element)
    return found
