"""A board in words: what its file and that of its part say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stepgen.board.description import Board


def overview(name: str, board: Board, ports: Sequence[str]) -> dict[str, str]:
    """What a board has, how designs are built for it, and how they get there.

    Parameters
    ----------
    name : str
        Of its file, as commands take it.
    board : Board
    ports : sequence of str
        Serial ports where it is plugged in.

    Returns
    -------
    dict of str to str
        Values by what they are of; pins have a line each.
    """
    return dict(_lines(name, board, ports))


def _lines(name: str, board: Board, ports: Sequence[str]) -> Iterator[tuple[str, str]]:
    chip, link = board.chip, board.link
    yield "board", f"{name}, {board.name}, {board.page}"
    yield "part", f"{chip.name}, package {chip.package}, speed grade {board.speed}"
    registers = f"{chip.ffs or chip.luts:,} registers"
    yield (
        "has",
        f"{chip.luts:,} LUTs, {registers}, {chip.multipliers} multipliers, {chip.block_rams} block "
        f"RAMs; stepgen board PROGRAM estimates what a program takes of them",
    )
    yield "clock", f"{board.clock.hz / 1e6:g} MHz on the board, {board.hz / 1e6:g} MHz for designs"
    kinds = {"block": "block RAM of the part", "spram": "single-port RAM of the part"}
    yield "memory", f"{board.memory_bytes:,} bytes, {kinds.get(board.memory.kind, 'SDRAM')}"
    yield "streams", f"buffers of {board.streams.beats:,} beats for each input and output"
    yield (
        "link",
        f"{link.baud:,} baud, USB {link.usb}, plugged in at {', '.join(ports) or 'no port'}",
    )
    pins = {pad: " ".join(sites) for pad, sites in board.pins().items()}
    standards = board.standards_of(pins)
    yield "pins", "\n".join(f"{pad}: {at} ({standards[pad]})" for pad, at in pins.items())
    by = "open tools"
    if board.vivado is not None:
        by = f"a project that it writes for Vivado, part {board.vivado.part}"
    yield "build", f"stepgen build PROGRAM --board {name} -o FOLDER, by {by}"
    yield "simulate", f"stepgen deploy PROGRAM --board virtual:{name}"
    if board.program is not None:
        options = " ".join(board.program.options)
        yield "program", f"stepgen deploy PROGRAM --board {name}, by openFPGALoader {options}"
