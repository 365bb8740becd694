"""The examples of the page on transforms run."""

from __future__ import annotations

import re
from pathlib import Path

import stepgen
from stepgen.compile import transforms

PAGE = Path(stepgen.__file__).parents[1] / "docs" / "transforms.md"


def test_examples_run() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    exec("".join(blocks), {})


def test_every_transform_is_described() -> None:
    text = PAGE.read_text()
    assert [n for n in transforms.__all__ if n.islower() and f"`{n}(" not in text] == []
