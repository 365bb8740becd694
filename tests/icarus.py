"""What tests need that simulate with four states."""

from __future__ import annotations

import shutil

import pytest

needs_icarus = pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="Icarus Verilog is not installed"
)
