"""Block RAM that a design takes of a board, with what stands around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stepgen.board.description import Board
from stepgen.board.instances import CONTROL, LINK, MEMORY, STREAMS
from stepgen.hw.board import cobs
from stepgen.hw.board.buffers import ahead_of, widths
from stepgen.hw.board.crc import FRAME_BYTE
from stepgen.hw.board.family import family
from stepgen.hw.board.memory import queues
from stepgen.hw.board.protocol import BUFFER_BYTES
from stepgen.hw.board.top import Surroundings
from stepgen.hw.counters import totals
from stepgen.hw.design.block_rams import Blocks
from stepgen.hw.design.counting import counted
from stepgen.hw.design.ram import Ram
from stepgen.hw.design.sdram import sdram_queues
from stepgen.hw.design.table import Design
from stepgen.hw.units.sink.params import Sink
from stepgen.hw.units.source.params import Source
from stepgen.synth.contents import MOST_FREE

BYTE = 8

OWN = "units and FIFOs"
LESS = {
    OWN: "a cap on the rows of dynamic tiles (capped_tiling)",
    MEMORY: "smaller tensors or a narrower bus (--bus-bits)",
    STREAMS: "fewer lanes (stream buffers hold whole beats)",
}
"""What takes fewer blocks, by part."""


@dataclass(frozen=True)
class Taken:
    """Block RAMs that a design takes of a board.

    Attributes
    ----------
    design : int
        Those of its units and FIFOs.
    around : mapping of str to int
        Those of what stands around it, by part.
    total : int
        All together; less than the sum where memories share blocks.
    there : int
        How many the board has.
    """

    design: int
    around: Mapping[str, int]
    total: int
    there: int

    @property
    def missing(self) -> int:
        """How many the board has too few."""
        return max(0, self.total - self.there)

    @property
    def less(self) -> str:
        """What takes fewer: of parts that make up half of what is missing, the largest first."""
        parts = {OWN: self.design, **self.around}
        order = sorted(LESS, key=lambda part: -parts[part])
        some = [part for part in order if 2 * parts[part] >= self.missing]
        return ", or ".join(LESS[part] for part in some or order[:1])

    def __str__(self) -> str:
        """As in "it takes …"."""
        others = ", ".join(f"{count:,} in {part}" for part, count in self.around.items() if count)
        return (
            f"{self.total:,} block RAMs of {self.there:,}, {self.missing:,} too many "
            f"({self.design:,} in {OWN}, {others})"
        )


def taken(design: Design, board: Board) -> Taken:
    """Block RAMs of a design on a board, counted in its table.

    They are those of the hard blocks that circuits instantiate on ECP5 and Gowin. Elsewhere tools
    choose, and may take fewer.

    Raises
    ------
    StepError
        If the design can't stand on the board.
    """
    blocks = family(board.chip.family).blocks
    own = [*blocks.design(design)]
    around = {part: [*rams] for part, rams in _around(design, board.around(design), blocks)}
    return Taken(
        blocks.total(own),
        {part: blocks.total(rams) for part, rams in around.items()},
        blocks.total([*own, *(ram for rams in around.values() for ram in rams)]),
        board.chip.block_rams,
    )


def alone(design: Design, board: Board) -> int:
    """Block RAMs of the units and FIFOs of a design, wherever it stands."""
    blocks = family(board.chip.family).blocks
    return blocks.total(blocks.design(design))


def _around(
    design: Design, around: Surroundings, blocks: Blocks
) -> Iterator[tuple[str, Iterator[Ram]]]:
    """The memories around a design, by part."""
    yield MEMORY, _memory(design, around, blocks)
    yield STREAMS, _streams(design, around.beats, blocks)
    yield LINK, iter([Ram(FRAME_BYTE, BUFFER_BYTES), Ram(BYTE, cobs.BLOCK_BYTES)])
    yield CONTROL, _counters(len(design.channels) if counted(design) else 0)


def _memory(design: Design, around: Surroundings, blocks: Blocks) -> Iterator[Ram]:
    if not around.memory_words:
        return
    bus, words = design.bus, around.memory_words
    if around.sdram is not None:
        fifos = sdram_queues(around.sdram, bus)
    else:
        fifos = queues(bus.data_bits, words)
        if not around.single_port:
            yield from bus.bytes * [Ram(BYTE, words)]
    for channel in fifos.values():
        yield from blocks.fifo(channel)


def _streams(design: Design, beats: int, blocks: Blocks) -> Iterator[Ram]:
    for unit in design.units:
        if isinstance(unit.params, Source | Sink):
            (name,) = (*unit.inputs.values(), *unit.outputs.values())
            width = design.channel[name].width
            yield from (Ram(bits, beats) for bits in widths(width))
            if isinstance(unit.params, Source):
                yield from blocks.fifo(ahead_of(width))


def _counters(channels: int) -> Iterator[Ram]:
    """Of a memory that is read at two places."""
    rows, bits = totals(channels)
    if rows > MOST_FREE:
        yield from 2 * [Ram(bits, rows)]
