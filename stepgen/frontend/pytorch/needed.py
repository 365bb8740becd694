"""PyTorch, which is an extra of stepgen."""

from __future__ import annotations

import re
from typing import Any

from stepgen.ir.errors import StepError

OLDEST = (2, 6)
"""Version of PyTorch whose export is known."""


def torch() -> Any:
    """The package.

    Raises
    ------
    StepError
        If it is missing or too old.
    """
    try:
        import torch as found
    except ImportError:
        raise StepError(
            "importing a module needs PyTorch, which is missing: pip install 'stepgen[torch]'; a "
            "checkpoint's folder needs none"
        ) from None
    version = tuple(map(int, re.findall(r"\d+", found.__version__)[:2]))
    if version < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise StepError(
            f"importing a module needs PyTorch {oldest} or later, not {found.__version__}: "
            f"pip install --upgrade torch"
        )
    return found
