"""Bitstreams: a design on a board through open tools, kept in the cache."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from stepgen.board.description import Board
from stepgen.board.fitting import check_room
from stepgen.board.instances import BOARD, groups
from stepgen.board.output_folder import DAMAGED, content_of, found
from stepgen.emit.elaborate import made_by
from stepgen.emit.elaborate import verilog as verilog_of
from stepgen.emit.kernels import compiled, kernel_files
from stepgen.emit.modules import kept_modules
from stepgen.hw.board.chip import CLOCK, Chip
from stepgen.hw.board.family import family
from stepgen.hw.board.top import BoardTop
from stepgen.hw.design.table import Design
from stepgen.hw.names import top_name
from stepgen.hw.primitives import Device
from stepgen.hw.verilog import pins_written, written
from stepgen.hw.verilog_kernel.params import sources_of
from stepgen.ir.errors import StepError
from stepgen.synth import flow, report
from stepgen.synth.report import Placed
from stepgen.synth.toolchain import Target, toolchain
from stepgen.tools import external
from stepgen.tools.cache import cache_folder, digest, kept
from stepgen.tools.waiting import Progress, quiet

KEEP = 30
MOST_CLOCKS = 4
"""That are tried for one that is met."""

VERSION = 2
"""Of what is in a folder."""


@dataclass(frozen=True)
class Bitstream:
    """A design for a board, and what was found out about it.

    Attributes
    ----------
    folder : Path
        All files of the tools.
    file : str
        The bitstream.
    board : Board
    placed : Placed
    clocks : list of float
        In Hz, of each placement; the fastest one is `placed`.
    groups : dict of str to dict of str to int
        Resources in the netlist, by name of the part of the circuit.
    seconds : float
        That it took.
    there : bool
        Whether it was there already.
    """

    folder: Path
    file: str
    board: Board
    placed: Placed
    clocks: Sequence[float]
    groups: Mapping[str, Mapping[str, int]]
    seconds: float
    there: bool

    @property
    def met(self) -> bool:
        """Whether the circuit is fast enough for the design's clock."""
        return self.placed.hz >= self.board.hz


def name_of(design: Design, board: Board) -> str:
    """Name of the top module, and of the files."""
    return f"{top_name(design)}_{board.key.replace('-', '_')}"


def build(
    design: Design,
    board: Board,
    *,
    auto: bool = False,
    seeds: int = 1,
    earlier: Sequence[Path] = (),
    progress: Progress = quiet,
) -> Bitstream:
    """Make the bitstream of a design, or find it where it was made before.

    Parameters
    ----------
    design : Design
    board : Board
    auto : bool
        Whether to make another one for the clock that is met, where that is slower than the
        board's.
    seeds : int
        Placements that are tried; the fastest one is kept.
    earlier : sequence of Path
        Folders in which it may be, beside the cache.
    progress : Progress

    Raises
    ------
    StepError
        If the design does not fit, or a tool is missing or fails.
    """
    made = _build(design, board, seeds, earlier, progress)
    for _ in range(MOST_CLOCKS - 1):
        if made.met or not auto:
            break
        made = _build(design, board.at(int(made.placed.hz)), seeds, earlier, progress)
    return made


def check_clock(design: Design, made: Bitstream) -> None:
    """Refuse a bitstream that is too slow for its clock.

    Raises
    ------
    StepError
        Which path is too slow.
    """
    if not made.met:
        raise StepError(
            f"{design.name} on {made.board.name} meets {made.placed.hz / 1e6:.1f} MHz, not the "
            f"{made.board.hz / 1e6:g} of its clock; the slowest path is from {made.placed.path}; "
            f"--clock auto goes on with the clock that is met"
        )


def _build(
    design: Design, board: Board, seeds: int, earlier: Sequence[Path], progress: Progress
) -> Bitstream:
    """See `build`."""
    tools = toolchain(board.chip.family)
    name = name_of(design, board)
    versions = [str(external.find(tool).version) for tool in tools.tools]
    key = key_of(design, board, [*versions, str(seeds)])
    for place in earlier:
        with suppress(*DAMAGED):
            if (entry := found(place, key)) is not None:
                return _bitstream(place, board, {**entry, "there": True})
    folder = cache_folder() / "bitstreams" / f"{name}-{key}"

    def make(place: Path) -> dict[str, object]:
        begun = time.monotonic()
        sources = write_sources(place, name, design, board, progress)
        netlist = flow.synthesize(place, name, sources, tools, progress=progress)
        check_room(design, board, netlist.used)
        target = target_of(board, design)
        named, report_file = groups(design), place / f"{name}.report.json"
        of_placement = {report_file.name, f"{name}.nextpnr.log", *tools.intermediate(name)}
        tried: list[Placed] = []
        for seed in range(1, 1 + seeds):
            which = f"placement {seed} of {seeds}: " if seeds > 1 else ""
            shown = partial(_prefixed, progress, which)
            flow.place(place, name, tools, target, netlist.used, seed=seed, progress=shown)
            now = report.read(report_file, tools.bels, named, board.chip, board.speed)
            faster = all(now.hz > one.hz for one in tried)
            tried.append(now)
            for made in sorted(of_placement - {f"{name}.json"}) if seeds > 1 else ():
                best = place / f"{made}.best"
                (place / made).replace(best) if faster else (place / made).unlink()
        for best in place.glob("*.best"):
            best.replace(best.with_suffix(""))
        progress("packing the bitstream", 0.95)
        file = flow.pack(place, name, tools, target)
        placed = max(tried, key=lambda one: one.hz)
        uncounted = {what: netlist.used[what] for what, bels in tools.bels.items() if not bels}
        placed = dataclasses.replace(placed, used={**placed.used, **uncounted})
        for large in tools.intermediate(name):
            (place / large).unlink()
        return {
            "board": board.key,
            "placed": dataclasses.asdict(placed),
            "clocks": [one.hz for one in tried],
            "groups": netlist.by_group(named),
            "seconds": round(time.monotonic() - begun, 1),
            "file": file,
            "files": {path.name: content_of(path) for path in sorted(place.iterdir())},
        }

    made = _bitstream(folder, board, kept(folder, key, make, keep=KEEP))
    progress("bitstream is up to date" if made.there else "bitstream is made", 1.0)
    return made


def _prefixed(progress: Progress, before: str, what: str, share: float) -> None:
    progress(f"{before}{what}", share)


def _bitstream(folder: Path, board: Board, kept_data: Mapping[str, Any]) -> Bitstream:
    return Bitstream(
        folder,
        kept_data["file"],
        board,
        report.placed_of(kept_data["placed"]),
        kept_data["clocks"],
        kept_data["groups"],
        kept_data["seconds"],
        kept_data["there"],
    )


def key_of(design: Design, board: Board, more: Iterable[str]) -> str:
    """Hash of all that a bitstream depends on, with what is not in the design and this package."""
    room = Path(flow.__file__).parent
    return digest(
        design.hash,
        made_by(design),
        json.dumps([dataclasses.asdict(board), dataclasses.asdict(board.chip)]),
        str(VERSION),
        *more,
        *(p.read_bytes() for p in sorted([Path(__file__), *room.rglob("*.py")])),
        *(text for file in sorted(sources_of(design).items()) for text in file),
    )


def write_sources(
    place: Path, name: str, design: Design, board: Board, progress: Progress
) -> list[str]:
    """Write the Verilog of a board with a design; names of the files."""
    progress("writing Verilog", 0.0)
    device, inner = Device(board.chip.family), f"{name}_{BOARD}"
    around = board.around(design)
    kept = kept_modules()
    text = written(
        inner,
        lambda part: BoardTop(design, around, part=part),
        contents=False,  # nothing reads what was not written, and large memories are many lines
        platform=device,
        kept=kept,
    )
    top = BoardTop(design, around)
    pads = {pad: len(sites) for pad, sites in board.pins(memory=top.pins).items()}
    clock = board.sdram_clock if top.pins else None
    step = None if clock is None else clock.step
    chip = Chip(inner, top, family(device.family), board.pll, pads, step)
    (place / f"{name}.v").write_text(
        f"{text}\n{pins_written(name, chip, device, kept=kept)}", encoding="utf-8"
    )
    kernels = kernel_files(design, verilog_of(design))
    for file, content in kernels.items():
        (place / file).write_text(content, encoding="utf-8")
    return [f"{name}.v", *compiled(kernels)]


def target_of(board: Board, design: Design) -> Target:
    pins = board.pins(memory=board.around(design).sdram is not None)
    standards = board.standards_of(pins)
    return Target(board.chip, board.speed, CLOCK, board.clock.hz, board.hz, pins, standards)
