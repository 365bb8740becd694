"""Boards: one file each in ``boards/``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from typing import Any

from ..hw.board.top import Surroundings
from ..hw.design.table import Design
from ..hw.units.axi.params import Axi
from ..ir.errors import StepError
from ..ir.records import record
from ..synth.part import Part
from ..synth.part import named as part_named
from ..tools.shipped import shipped

LEAST_MEMORY = 1024
"""Bytes."""


@dataclass(frozen=True)
class Board:
    """A board.

    Attributes
    ----------
    name : str
        In full.
    part : str
        A file in ``boards/parts/``.
    package : str
        As place and route calls it.
    speed : int
        Grade of the part.
    page : str
        Where it is described.
    clock, link, memory, streams, led, program : mapping
        Pins and numbers, see the files.
    """

    name: str
    part: str
    package: str
    speed: int
    page: str
    clock: dict[str, Any]
    link: dict[str, Any]
    memory: dict[str, Any]
    streams: dict[str, Any]
    led: dict[str, Any]
    program: dict[str, Any]

    @property
    def chip(self) -> Part:
        """Its part, in the board's package."""
        return replace(part_named(self.part), package=self.package)

    @property
    def bit_cycles(self) -> int:
        """Clock cycles of a bit on the link."""
        return round(int(self.clock["design_hz"]) / int(self.link["baud"]))

    def around(self, design: Design) -> Surroundings:
        """What stands around a design on this board.

        Raises
        ------
        StepError
            If the board has too little memory for the design, or its link can't reach it.
        """
        bus, words = design.bus, 0
        if next(design.of_kind(Axi), None) is not None:
            if bus.data_bits < 32:
                raise StepError(
                    f"{design.name} has a memory bus of {bus.data_bits} bits, but on a board the "
                    f"host reads and writes words of 32: give --bus-bits 32 or more"
                )
            end = max((region.end for region in design.regions.values()), default=0)
            size = max(LEAST_MEMORY, 1 << (end - 1).bit_length())
            if size > self.memory["bytes"]:
                raise StepError(
                    f"the tensors of {design.name} end at {end:,} bytes, but {self.name} has "
                    f"{self.memory['bytes']:,} bytes of memory for them"
                )
            words = size // bus.bytes
        return Surroundings(
            clock=self.clock["design_hz"],
            bit_cycles=self.bit_cycles,
            memory_words=words,
            beats=self.streams["beats"],
        )


def boards() -> dict[str, Board]:
    """All boards by the names of their files."""
    return {path.stem: _read(path.stem) for path in sorted(shipped("boards").glob("*.toml"))}


def named(name: str) -> Board:
    """A board.

    Raises
    ------
    StepError
        Where there is none of this name.
    """
    known = sorted(path.stem for path in shipped("boards").glob("*.toml"))
    if name not in known:
        raise StepError(f"there is no board {name!r}, only {', '.join(known)}")
    return _read(name)


def _read(name: str) -> Board:
    path = shipped(f"boards/{name}.toml")
    return record(tomllib.loads(path.read_text()), Board, path.name)
