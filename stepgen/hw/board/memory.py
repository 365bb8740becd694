"""Memories on the chip behind the AXI4 port of a design."""

from dataclasses import replace

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.utils import exact_log2

from stepgen.hw.axi import Axi4
from stepgen.hw.design import stages
from stepgen.hw.design.table import Channel
from stepgen.hw.fifo import Fifo
from stepgen.hw.primitives import BlockRam, SinglePortRam, delayed
from stepgen.ir.memory_timing import MemoryTiming

__all__ = ["BLOCK_TIMING", "SINGLE_TIMING", "BlockMemory", "SingleMemory", "queues"]

OPEN = 16
"""Bursts of each direction that may be open."""

BLOCK_TIMING = MemoryTiming(
    read_latency=5, read_outstanding=OPEN, write_latency=1, write_outstanding=OPEN
)
"""When a `BlockMemory` answers, by the rules of ``docs/memory-timing.md``."""

SINGLE_TIMING = replace(BLOCK_TIMING, read_interval=2, write_interval=2)
"""When a `SingleMemory` answers."""

LENGTH_BITS = 8
DATA_DEPTH = 8
"""Words read ahead: covers the cycles from a pop to the next arrival."""


def queues(data_bits: int, words: int) -> dict[str, Channel]:
    """The FIFOs of a memory: requests, words read and answers, by channel of the bus."""
    bits = LENGTH_BITS + exact_log2(words)
    return {
        "ar": Channel("ar", 0, bits, None, depth=OPEN),
        "aw": Channel("aw", 0, bits, None, depth=OPEN),
        "r": Channel("r", 0, 1 + data_bits, None, DATA_DEPTH, delay=stages.BLOCK_RAM),
        "b": Channel("b", 0, 1, None, depth=OPEN),
    }


class BlockMemory(wiring.Component):
    """Memory in block RAM that answers as `BLOCK_TIMING` says; words read and written each cycle.

    Parameters
    ----------
    address_bits, data_bits : int
        Of the bus.
    words : int
        Bus words, a power of two.

    Members
    -------
    port : ``In(Axi4)``
    """

    def __init__(self, address_bits: int, data_bits: int, words: int):
        self.address_bits, self.data_bits, self.words = address_bits, data_bits, words
        self.queues = queues(data_bits, words)
        super().__init__({"port": In(Axi4(address_bits, data_bits))})

    def elaborate(self, platform):
        m = Module()
        w_en, w_addr, r_addr = Signal(), Signal(range(self.words)), Signal(range(self.words))
        step, found = Signal(), Signal(self.data_bits)
        self._cells(m, w_en, w_addr, step, r_addr, found)
        self._read(m, step, r_addr, found)
        self._write(m, w_en, w_addr)
        return m

    def _cells(self, m, w_en, w_addr, step, r_addr, found):
        """The memory: what is read where and when `step` is high is `found` two cycles later."""
        port, read = self.port, []
        for k in range(self.data_bits // 8):
            # A RAM for each byte: strobes need no reading.
            m.submodules[f"byte_{k}"] = ram = BlockRam(8, self.words)
            m.d.comb += [
                ram.w_en.eq(delayed(m, w_en & port.wstrb[k], 1)),
                ram.w_addr.eq(delayed(m, w_addr, 1, reset_less=True)),
                ram.w_data.eq(delayed(m, port.wdata.word_select(k, 8), 1, reset_less=True)),
                ram.r_addr.eq(r_addr),
            ]
            read.append(ram.r_data)
        m.d.comb += found.eq(Cat(read))

    def _rests(self, m, moved):
        """Whether no word of a direction may move, after one that has."""
        return Const(0, 1)

    def _bursts(self, m, way):
        """Requests of a direction, first words and lengths, while not all possible are open."""
        port = self.port
        valid, ready, addr, length = (
            getattr(port, f"a{way}{name}") for name in ("valid", "ready", "addr", "len")
        )
        bits = exact_log2(self.words)
        m.submodules[f"a{way}"] = bursts = Fifo(self.queues[f"a{way}"])
        count = Signal(range(OPEN + 1))
        ends = Signal()
        m.d.comb += [
            ready.eq(count != OPEN),
            bursts.w.valid.eq(valid & ready),
            bursts.w.payload.eq(Cat(length, addr[exact_log2(self.data_bits // 8) :][:bits])),
        ]
        m.d.sync += count.eq(count + bursts.w.valid - ends)
        return bursts.r, ends

    def _read(self, m, step, r_addr, found):
        port = self.port
        head, ends = self._bursts(m, "r")
        m.submodules.r = words = Fifo(self.queues["r"])
        reading, left, last = Signal(), Signal(LENGTH_BITS), Signal()
        given, moved = Signal(), Signal()
        begins, holds = self._rests(m, step), self._rests(m, moved)
        m.d.comb += [
            last.eq(left == 0),
            step.eq(reading & words.w.ready & ~begins),
            words.w.valid.eq(reading & ~begins),
            words.w.payload.eq(Cat(delayed(m, last, stages.BLOCK_RAM, reset_less=True), found)),
            head.ready.eq(~reading | step & last),
            given.eq(words.r.valid & ~holds),
            moved.eq(given & port.rready),
            port.rvalid.eq(given),
            words.r.ready.eq(moved),
            port.rlast.eq(words.r.payload[0]),
            port.rdata.eq(words.r.payload[1:]),
            ends.eq(moved & port.rlast),
        ]
        with m.If(head.ready):
            m.d.sync += [reading.eq(head.valid), Cat(left, r_addr).eq(head.payload)]
        with m.Elif(step):
            m.d.sync += [left.eq(left - 1), r_addr.eq(r_addr + 1)]

    def _write(self, m, w_en, w_addr):
        port = self.port
        head, ends = self._bursts(m, "w")
        m.submodules.b = answers = Fifo(self.queues["b"])
        beat = Signal(LENGTH_BITS)
        m.d.comb += [
            port.wready.eq(head.valid & ~self._rests(m, w_en)),
            w_en.eq(port.wvalid & port.wready),
            w_addr.eq(head.payload[LENGTH_BITS:] + beat),
            head.ready.eq(w_en & (beat == head.payload[:LENGTH_BITS])),
            answers.w.valid.eq(head.ready),
            port.bvalid.eq(answers.r.valid),
            answers.r.ready.eq(port.bready),
            ends.eq(port.bvalid & port.bready),
        ]
        with m.If(w_en):
            m.d.sync += beat.eq(beat + 1)
        with m.If(head.ready):
            m.d.sync += beat.eq(0)


class SingleMemory(BlockMemory):
    """A memory with one port, which answers as `SINGLE_TIMING` says.

    Each direction moves a word in two cycles at most, and a read has the port as soon as it asks.
    So a word that is to be written, which waits in a register, has the port in one of the two
    cycles until the next one comes: neither direction sees the other.
    """

    def _cells(self, m, w_en, w_addr, step, r_addr, found):
        port = self.port
        m.submodules.ram = ram = SinglePortRam(self.data_bits, self.words)
        waits, place = Signal(), Signal.like(w_addr)
        data, strobes = Signal.like(port.wdata), Signal.like(port.wstrb)
        m.d.sync += waits.eq(w_en | waits & step)
        with m.If(w_en):
            m.d.sync += [place.eq(w_addr), data.eq(port.wdata), strobes.eq(port.wstrb)]
        m.d.comb += [
            ram.active.eq(step | waits),
            ram.writes.eq(~step),
            ram.addr.eq(Mux(step, r_addr, place)),
            ram.strobes.eq(strobes),
            ram.w_data.eq(data),
            found.eq(delayed(m, ram.r_data, stages.BLOCK_RAM - 1, reset_less=True)),
        ]

    def _rests(self, m, moved):
        return delayed(m, moved, 1)
