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
    """Take the reset of a register in the first module of a kind that has it."""

    def change(text: str) -> str:
        for head in re.finditer(rf"^module \\?\S*{module} *\(", text, re.MULTILINE):
            end = text.index("endmodule", head.start())
            body = text[head.start() : end]
            if found := re.search(rf"^    {register} <= (\S+) ;$", body, re.MULTILINE):
                wire = re.escape(f"assign {found[1]}  = ")
                body, count = re.subn(rf"({wire})rst \? \S+ : ", r"\1", body)
                assert count == 1
                return text[: head.start()] + body + text[end:]
        raise AssertionError(f"no {module} has a register {register}")

    return change
