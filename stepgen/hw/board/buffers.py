"""Buffers between the stream ports of a design and a host."""

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from stepgen.hw.board.access import Access
from stepgen.hw.board.protocol import COUNT_BITS, Count
from stepgen.hw.design import stages
from stepgen.hw.design.table import Channel
from stepgen.hw.fifo import Fifo
from stepgen.hw.primitives import BlockRam, delayed

__all__ = ["BufferIn", "BufferOut", "ahead_of", "places", "widths"]

AHEAD = 8
"""Beats read ahead of the design: covers the latency of block RAM."""


def places(width: int) -> int:
    """Words of 32 bits that a beat has in a buffer, a power of two."""
    return 1 << ceil_log2(-(-width // 32))


def widths(width: int) -> list[int]:
    """Bits of the memories that stand side by side for a beat."""
    return [min(32, width - low) for low in range(0, width, 32)]


def ahead_of(width: int) -> Channel:
    """The FIFO of beats that are read ahead of the design."""
    return Channel("ahead", 0, width, None, AHEAD, delay=stages.BLOCK_RAM)


class _Buffer(wiring.Component):
    """A ring of beats, which a host reads or writes by address.

    Parameters
    ----------
    width : int
        Of a beat, in bits.
    depth : int
        Beats, a power of two.

    Members
    -------
    beats : ``In(Access)``
        Word w of the beat in slot s at address ``places(width) * s + w``.
    counts : ``In(Access)``
        Words of `Count`.
    """

    def __init__(self, width: int, depth: int, port):
        self.width, self.depth = width, depth
        super().__init__({"beats": In(Access()), "counts": In(Access()), **port})

    def _rams(self, m):
        """RAMs of 32 bits side by side, and the slot and the word that the host asks for."""
        rams = []
        for k, width in enumerate(widths(self.width)):
            ram = BlockRam(width, self.depth)
            m.submodules[f"ram_{k}"] = ram
            rams.append(ram)
        bits = exact_log2(places(self.width))
        slot = self.beats.address[bits : bits + exact_log2(self.depth)]
        beyond = self.beats.address >> bits + exact_log2(self.depth) != 0
        return rams, slot, self.beats.address[:bits], beyond

    def _count(self, m, moved):
        """Answer accesses to the counts; the host's count, and whether it clears the port."""
        counts = self.counts
        given = Signal(COUNT_BITS)
        clear, once = Signal(), Signal()
        asked = counts.valid & ~counts.done
        m.d.comb += once.eq(asked & counts.write)
        m.d.sync += [
            counts.done.eq(asked),
            counts.refused.eq(counts.address >= len(Count)),
            counts.found.eq(Mux(counts.address == Count.MOVED, moved, given)),
            clear.eq(once & (counts.address == Count.MOVED)),
        ]
        with m.If(once & (counts.address == Count.GIVEN)):
            m.d.sync += given.eq(counts.word)
        with m.If(clear):
            m.d.sync += given.eq(0)
        return given, clear


class BufferIn(_Buffer):
    """Beats that a host has written, on their way into a design.

    Members
    -------
    o : ``Out(stream)``
        Payloads as bits: a beat in each cycle, as far as there are any.
    """

    def __init__(self, width: int, depth: int):
        super().__init__(width, depth, {"o": Out(stream.Signature(width))})

    def elaborate(self, platform):
        m = Module()
        rams, slot, word, beyond = self._rams(m)
        begun, taken = Signal(COUNT_BITS), Signal(COUNT_BITS)  # beats read, and gone
        given, clear = self._count(m, taken)
        ahead = Fifo(ahead_of(self.width))
        m.submodules.ahead = ResetInserter(clear)(ahead)
        for k, ram in enumerate(rams):
            m.d.comb += [
                ram.w_en.eq(self.beats.valid & self.beats.write & ~beyond & (word == k)),
                ram.w_addr.eq(slot),
                ram.w_data.eq(self.beats.word),
                ram.r_addr.eq(begun),
            ]
        asked = self.beats.valid & ~self.beats.done
        m.d.sync += [self.beats.done.eq(asked), self.beats.refused.eq(beyond | ~self.beats.write)]
        some, step = Signal(), Signal()  # whether there are beats to read: a register
        following = Signal(COUNT_BITS, init=1)  # begun + 1
        m.d.sync += some.eq(Mux(step, following != given, begun != given) & ~clear)
        m.d.comb += [
            step.eq(some & ahead.w.ready),
            ahead.w.valid.eq(some),
            ahead.w.payload.eq(Cat(ram.r_data for ram in rams)),
            self.o.valid.eq(ahead.r.valid),
            self.o.payload.eq(ahead.r.payload),
            ahead.r.ready.eq(self.o.ready),
        ]
        with m.If(step):
            m.d.sync += [begun.eq(following), following.eq(following + 1)]
        m.d.sync += taken.eq(taken + (self.o.valid & self.o.ready))
        with m.If(clear):
            m.d.sync += [begun.eq(0), following.eq(1), taken.eq(0)]
        return m


class BufferOut(_Buffer):
    """Beats of a design until a host has read them.

    Members
    -------
    i : ``In(stream)``
        Payloads as bits. Ready while fewer beats are stored than fit.
    """

    def __init__(self, width: int, depth: int):
        super().__init__(width, depth, {"i": In(stream.Signature(width))})

    def elaborate(self, platform):
        m = Module()
        rams, slot, word, beyond = self._rams(m)
        stored = Signal(COUNT_BITS)
        taken, clear = self._count(m, stored)
        moves, moved, room = Signal(), Signal(), Signal(init=1)
        m.d.comb += [moves.eq(self.i.valid & room), self.i.ready.eq(room)]
        # One place stays free, for the beat that comes while this is found out. What was stored two
        # cycles ago is compared with all that may have come since, so that no sum is in the way.
        level = Signal(range(self.depth + 1))
        fits = [level < self.depth - 1 - since for since in range(3)]
        m.d.sync += [
            level.eq(stored - taken),
            moved.eq(moves),
            room.eq(Mux(moves & moved, fits[2], Mux(moves | moved, fits[1], fits[0]))),
            stored.eq(stored + moves),
        ]
        with m.If(clear):
            m.d.sync += [stored.eq(0), level.eq(0), moved.eq(0), room.eq(1)]
        for k, ram in enumerate(rams):
            part = self.i.payload[32 * k : 32 * k + 32]
            m.d.comb += [
                ram.w_en.eq(delayed(m, moves, 1)),
                ram.w_addr.eq(delayed(m, stored, 1, reset_less=True)),
                ram.w_data.eq(delayed(m, part, 1, reset_less=True)),
                ram.r_addr.eq(slot),
            ]
        asked = self.beats.valid & ~self.beats.done
        waits = Signal(range(stages.BLOCK_RAM + 1))
        found = Mux(word == len(rams) - 1, rams[-1].r_data, 0)
        for k, ram in enumerate(rams[:-1]):
            found = Mux(word == k, ram.r_data, found)
        m.d.sync += [
            waits.eq(Mux(asked & (waits != stages.BLOCK_RAM), waits + 1, 0)),
            self.beats.done.eq(asked & (waits == stages.BLOCK_RAM)),
            self.beats.found.eq(found),
            self.beats.refused.eq(beyond | self.beats.write),
        ]
        return m
