"""What Verilator's linter says of the designs that ship: nothing but what is waived."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from drawing import draw
from programs import every_unit, example

from stepgen.compile.design import Bus, Design
from stepgen.compile.lower import lower
from stepgen.flow.elaborate import verilog
from stepgen.flow.lint import control_file, waivers
from stepgen.flow.tools import verilator
from stepgen.hw.verilog import top_name

NEVER = {"WIDTHTRUNC", "CASEINCOMPLETE", "LATCH", "MULTIDRIVEN"}
SMALL = {"tokens": 9, "experts": 3, "width": 8, "hidden": 16, "columns": 8, "tile": 2, "top": 1}


def designs() -> Iterator[tuple[str, Design]]:
    """Examples that lower, and drawn programs."""
    moe = example("moe").moe
    for tiling in ("static", "dynamic"):
        yield f"moe, {tiling}", lower(moe(**SMALL, tiling=tiling)[0])
        yield (
            f"moe, {tiling}, narrow bus",
            lower(moe(**SMALL, tiling=tiling)[0], lanes=8, bus=Bus(data_bits=32, burst=4)),
        )
    yield "every unit", lower(every_unit())
    for seed in (1, 5, 6, 9):
        yield f"drawn {seed}", lower(draw(seed)[0].graph, lanes=2)


DESIGNS = dict(designs())


def said(text: str, name: str, place: Path) -> list[str]:
    """Warnings and errors of the linter."""
    (place / f"{name}.v").write_text(text)
    (place / f"{name}.vlt").write_text(control_file(text, f"{name}.v"))
    tool = verilator()
    done = subprocess.run(
        [tool.binary, "--lint-only", "-Wall", f"{name}.vlt", f"{name}.v"],
        cwd=place,
        env=os.environ | {"VERILATOR_ROOT": str(tool.root)},
        capture_output=True,
        text=True,
        check=False,
    )
    return [line for line in done.stderr.splitlines() if line.startswith("%")]


@pytest.mark.parametrize("which", DESIGNS)
def test_designs_are_clean(which: str, tmp_path: Path) -> None:
    text = verilog(DESIGNS[which])
    assert said(text, top_name(DESIGNS[which]), tmp_path) == []
    assert not re.search(r"\[-\d+:|\bcase[xz]?\b", text)


def test_what_a_waiver_may_not_hide() -> None:
    for waiver in waivers():
        assert waiver.rule not in NEVER
        assert waiver.why
        assert waiver.signal != "*"
