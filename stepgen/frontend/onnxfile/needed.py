"""The package onnx, which is an extra of stepgen."""

from __future__ import annotations

from typing import Any

from stepgen.ir.errors import StepError


def onnx() -> Any:
    """The package.

    Raises
    ------
    StepError
        If it is missing.
    """
    try:
        import onnx as found
        import onnx.reference
    except ImportError:
        raise StepError(
            "importing an ONNX file needs the package onnx, which is missing: "
            "pip install 'stepgen[onnx]'"
        ) from None
    return found
