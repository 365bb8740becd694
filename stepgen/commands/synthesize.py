"""What a program takes of a board, and how fast its clock may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepgen.board.build import Bitstream, build
from stepgen.board.description import Board
from stepgen.board.project import check_open
from stepgen.board.summary import document
from stepgen.commands.call import called, notebook
from stepgen.commands.options import Circuit
from stepgen.commands.place import OnBoard
from stepgen.commands.source import Source
from stepgen.hw.design.table import Design
from stepgen.hw.picture import design_svg
from stepgen.ir.show import html_table
from stepgen.tools import waiting


@dataclass(frozen=True, repr=False)
class SynthesizeResult:
    """A design that was placed and routed for a board.

    Attributes
    ----------
    design : Design
        The circuit as units and channels.
    made : Bitstream
        What the tools said, and where their files are.
    """

    design: Design
    made: Bitstream

    @property
    def met(self) -> bool:
        """Whether the circuit is fast enough for its clock."""
        return self.made.met

    @property
    def hz(self) -> float:
        """The fastest clock."""
        return self.made.placed.hz

    @property
    def used(self) -> dict[str, int]:
        """What is taken of the board: ``lut``, ``ff``, ``multiplier``, ``block_ram``."""
        return dict(self.made.placed.used)

    @property
    def units(self) -> dict[str, dict[str, int]]:
        """The same for each unit, in the netlist before placement."""
        return {
            unit["unit"]: {what: unit[what] for what in self.used}
            for unit in self.document()["units"]
        }

    def document(self) -> dict[str, Any]:
        """What ``stepgen synth --json`` prints."""
        return document(self.made, self.design)

    def _repr_html_(self) -> str:
        """The circuit, each unit the greener the more of the LUTs it has, for notebooks."""
        units = self.units
        luts = sum(takes["lut"] for takes in units.values())
        shares = {name: takes["lut"] / max(1, luts) for name, takes in units.items()}
        rows = [(name, *(f"{n:,}" for n in takes.values())) for name, takes in units.items()]
        head = ("unit", *self.used)
        drawn = design_svg(self.design, busy=shares, what="LUTs")
        return notebook(self, drawn, html_table("taken by each unit", head, rows))

    def __repr__(self) -> str:
        board = self.made.board
        said = "met" if self.met else "NOT met"
        return (
            f"<synthesis of {self.design.name} for {board.key}: {self.used['lut']:,} LUTs, "
            f"{board.hz / 1e6:g} MHz {said}, at most {self.hz / 1e6:.1f}>"
        )


@called
def synthesize(source: Source, circuit: Circuit, on: OnBoard) -> SynthesizeResult:
    """Synthesize, place and route for a board, as ``stepgen synth`` does.

    A clock that is not met raises nothing, see `SynthesizeResult.met`.

    Parameters
    ----------
    program : Graph, Model or Config
    inputs : mapping of str to object, optional
        Not needed here.
    board : str
        One that ``stepgen board`` lists.
    clock, seeds
        See `stepgen.commands.place.OnBoard`.
    lanes, bus_bits, depth, ...
        See `stepgen.commands.options.Circuit`.
    seed, dim, transform
        See `stepgen.commands.source.Drawing`.
    phase, element, cache, ...
        Of a model, see `stepgen.program.models.parameters`.

    Raises
    ------
    StepError
        If the program has no circuit, does not fit, or a tool is missing.
    """
    board, auto = on.find()
    loaded = source.load(draw=False)
    check_open(board, loaded.name)
    with waiting.progress(quiet=True) as progress:
        design = circuit.fitting(loaded, board, progress=progress)
        return synthesized(design, board, auto=auto, seeds=on.seeds, progress=progress)


def synthesized(
    design: Design,
    board: Board,
    *,
    auto: bool,
    seeds: int = 1,
    progress: waiting.Progress,
    earlier: Sequence[Path] = (),
) -> SynthesizeResult:
    """Make or find the bitstream of a design; see `stepgen.board.build.build`."""
    made = build(design, board, auto=auto, seeds=seeds, earlier=earlier, progress=progress)
    return SynthesizeResult(design, made)
