"""The interface of the tools that make bitstreams for a family of FPGAs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stepgen.ir.errors import StepError
from stepgen.ir.registry import classes
from stepgen.synth.part import Part

RESOURCES = ("lut", "ff", "multiplier", "block_ram")
"""What is counted."""

MEASURED = (*RESOURCES, "lut_ram")
"""What is said of a circuit: `RESOURCES`, and how many of the LUTs are memory."""

FAMILY = "ecp5"
"""Of the parts for which circuits are synthesized by themselves, and estimated."""

LUT_RAM = "TRELLIS_DPR16X4"
"""Its cell of memory made of LUTs."""


@dataclass(frozen=True)
class Target:
    """A part on a board, and the clock that is asked of it.

    Parameters
    ----------
    part : Part
    speed : int
        Grade.
    clock : str
        Pin's name.
    clock_hz, hz : int
        Of the clock at that pin, and of the design.
    pins : mapping of str to sequence of str
        Sites of each pad, lowest bit first.
    standards : mapping of str to str
        Electrical, by pad.
    """

    part: Part
    speed: int
    clock: str
    clock_hz: int
    hz: int
    pins: Mapping[str, Sequence[str]]
    standards: Mapping[str, str]


class Toolchain(ABC):
    """Commands of a family's tools, which run in a folder and find their files there.

    Attributes
    ----------
    tools : tuple of str
        Synthesis, place and route, packer: names of `stepgen.tools.external`.
    constraints, bitstream : str
        Suffixes of files.
    cells : dict of str to dict of str to int
        By type of cell in a netlist, what of `RESOURCES` it takes.
    bels : dict of str to dict of str to int
        By resource, what is counted in the report of place and route, and as how many; nothing
        where the netlist says how many there are.
    """

    tools: tuple[str, str, str]
    constraints: str
    bitstream: str
    cells: Mapping[str, Mapping[str, int]]
    bels: Mapping[str, Mapping[str, int]]

    @abstractmethod
    def synthesis(self, top: str) -> str:
        """Commands of yosys that make ``<top>.json``."""

    @abstractmethod
    def constraints_text(self, target: Target) -> str:
        """The file of constraints."""

    @abstractmethod
    def place(self, top: str, target: Target, seed: int, used: Mapping[str, int]) -> list[str]:
        """Options of place and route of what takes `used`; its report is ``<top>.report.json``."""

    @abstractmethod
    def intermediate(self, top: str) -> list[str]:
        """Large files that nobody needs once there is a bitstream."""

    @abstractmethod
    def pack(self, top: str, target: Target) -> list[str]:
        """Options of the packer."""


def toolchain(family: str) -> Toolchain:
    """The tools for a family.

    Raises
    ------
    StepError
        If there are no open ones.
    """
    known = classes(f"{__package__}.toolchains", Toolchain)  # type: ignore[type-abstract]
    if family not in known:
        raise StepError(f"no open tools place parts of {family}, only those of {', '.join(known)}")
    return known[family]()


def sites(pad: str, pins: Sequence[str]) -> list[tuple[str, str]]:
    """Names of the single wires of a pad, with their sites."""
    if len(pins) == 1:
        return [(pad, pins[0])]
    return [(f"{pad}[{k}]", pin) for k, pin in enumerate(pins)]
