"""What tests need that simulate with four states."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable

import pytest

needs_icarus = pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="Icarus Verilog is not installed"
)

SIMULATORS = [
    pytest.param("verilator", marks=pytest.mark.slow),
    pytest.param("icarus", marks=needs_icarus),
]
"""Of tests that do the same with either; Icarus has nothing to compile."""


def without_reset(module: str, register: str) -> Callable[[str], str]:
    """Take the reset of a register in the first module of a kind."""

    def change(text: str) -> str:
        head = re.search(rf"^module \\?\S*{module} *\(", text, re.MULTILINE)
        assert head
        end = text.index("endmodule", head.start())
        body = text[head.start() : end]
        (next_state,) = re.findall(rf"^    {register} <= (\S+) ;$", body, re.MULTILINE)
        wire = re.escape(f"assign {next_state}  = ")
        body, count = re.subn(rf"({wire})rst \? \S+ : ", r"\1", body)
        assert count == 1
        return text[: head.start()] + body + text[end:]

    return change
