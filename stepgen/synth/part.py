"""FPGA parts and their limits: one file each in ``boards/parts/``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from stepgen.hw.board.family import family
from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError
from stepgen.ir.records import record
from stepgen.tools.shipped import settings, shipped

NAME = re.compile(r"[A-Za-z0-9_/-]+")
LIMITED = ("multiplier", "block_ram")
MOST_MHZ = 10_000


@dataclass(frozen=True)
class Part:
    """A part, with the limits that place and route does not model.

    Parameters
    ----------
    name, family, device, package : str
        As tools name it.
    speed_grades : tuple of int
        Slowest first.
    luts, multipliers, block_rams : int
        Available resources.
    ffs : int
        Registers, where they are not as many as LUTs.
    limits_mhz : dict of str to float
        Fastest clock of the hard blocks at the fastest grade: ``multiplier``, ``block_ram``. None
        where place and route knows them.
    grade_scale : dict of str to float
        Speed of a grade, the fastest being 1.
    """

    name: str
    family: str
    device: str
    package: str
    speed_grades: tuple[int, ...]
    luts: int
    multipliers: int
    block_rams: int
    limits_mhz: dict[str, float] = field(default_factory=dict)
    grade_scale: dict[str, float] = field(default_factory=dict)
    ffs: int = 0

    def limit(self, multipliers: int, block_rams: int, speed: int) -> float:
        """Highest clock in MHz that the hard blocks in use allow, at a speed grade."""
        used = dict(zip(LIMITED, (multipliers, block_rams), strict=True))
        limits = [self.limits_mhz[b] for b, count in used.items() if count and b in self.limits_mhz]
        return min(limits, default=float("inf")) * self.grade_scale.get(str(speed), 1.0)


def named(name: str) -> Part:
    """Read a part's file.

    Raises
    ------
    StepError
        If there is no part of this name, or its file is wrong.
    """
    known = sorted(path.stem for path in shipped("boards/parts").glob("*.toml"))
    if name not in known:
        raise StepError(f"there is no part {name!r}, only {', '.join(known)}")
    file = f"boards/parts/{name}.toml"
    part = record(settings(shipped(file), file), Part, file)
    _check(part, file)
    return part


def _check(part: Part, file: str) -> None:
    """Raise what is wrong in a part's file."""

    def must(holds: object, key: str, wanted: str, value: Any) -> None:
        if not holds:
            raise StepError(f"{file}: {key} must be {wanted}, not {shown(value)}")

    for key in ("name", "device", "package"):
        value = getattr(part, key)
        must(NAME.fullmatch(value), key, "letters, digits, -, / and _", value)
    try:
        family(part.family)
    except StepError as error:
        raise StepError(f"{file}: family: {error}") from None
    grades = part.speed_grades
    must(
        grades and sorted({*grades}) == [*grades],
        "speed_grades",
        "numbers from the slowest grade on",
        grades,
    )
    for key in ("luts", "multipliers", "block_rams", "ffs"):
        must(getattr(part, key) >= 0, key, "0 or more", getattr(part, key))
    must(part.luts, "luts", "1 or more", part.luts)
    for key, value in part.limits_mhz.items():
        must(key in LIMITED, "a key of limits_mhz", " or ".join(LIMITED), key)
        must(0 < value < MOST_MHZ, f"limits_mhz: {key}", f"above 0 and below {MOST_MHZ:,}", value)
    known = [str(grade) for grade in grades]
    for grade, value in part.grade_scale.items():
        must(grade in known, "a key of grade_scale", f"one of {', '.join(known)}", grade)
        must(0 < value <= 1, f"grade_scale: {grade}", "above 0 and at most 1", value)
