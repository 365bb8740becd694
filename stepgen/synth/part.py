"""FPGA parts and their limits: one file each in ``boards/parts/``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field

from ..ir.errors import StepError
from ..tools.shipped import shipped


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
        used = {"multiplier": multipliers, "block_ram": block_rams}
        limits = [self.limits_mhz[b] for b, count in used.items() if count and b in self.limits_mhz]
        return min(limits, default=float("inf")) * self.grade_scale.get(str(speed), 1.0)


def named(name: str) -> Part:
    """Read a part's file.

    Raises
    ------
    StepError
        Where there is none of this name.
    """
    known = sorted(path.stem for path in shipped("boards/parts").glob("*.toml"))
    if name not in known:
        raise StepError(f"there is no part {name!r}, only {', '.join(known)}")
    data = tomllib.loads(shipped(f"boards/parts/{name}.toml").read_text(encoding="utf-8"))
    blocks = data.pop("blocks")
    return Part(**{**data, **blocks, "speed_grades": tuple(data["speed_grades"])})
