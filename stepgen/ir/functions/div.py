"""div: quotients of pairs."""

from __future__ import annotations

from typing import ClassVar

from stepgen.ir.function import FLOATS, Binary


class Div(Binary):
    """``a / b``, 1 operation per element."""

    elements: ClassVar = FLOATS
