"""Keeps frames that came whole until they are carried out."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from stepgen.hw.board.crc import FRAME_BYTE, START, following
from stepgen.hw.board.protocol import BUFFER_BYTES, CHECK_BYTES, CRC_RESIDUE
from stepgen.hw.design import stages
from stepgen.hw.primitives import BlockRam

__all__ = ["Requests"]


class Requests(wiring.Component):
    """A FIFO of frames: frames with a bad CRC, or for which there is no room, are dropped.

    Members
    -------
    byte, content, ends, whole : ``In``
        As `cobs.Decoder` gives them.
    o : ``Out(stream)``
        Bytes of frames without their CRC, see `crc.FRAME_BYTE`; one in a few cycles.
    bad : ``Out(1)``
        For one cycle: a frame was not taken.
    """

    def __init__(self):
        super().__init__(
            {
                "byte": In(1),
                "content": In(8),
                "ends": In(1),
                "whole": In(1),
                "o": Out(stream.Signature(FRAME_BYTE)),
                "bad": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bits = exact_log2(BUFFER_BYTES)
        m.submodules.ram = ram = BlockRam(FRAME_BYTE, BUFFER_BYTES)
        kept, tail, head = Signal(bits), Signal(bits), Signal(bits)

        # The last bytes wait, since they may be the CRC.
        waiting = Signal(8 * (CHECK_BYTES + 1))
        count = Signal(range(CHECK_BYTES + 2))
        register = Signal(32, init=START)
        full, beyond = Signal(), Signal()
        some, good = Signal(), Signal()
        sound = Signal()  # many cycles pass from a byte to the end of a frame
        m.d.sync += sound.eq(register == CRC_RESIDUE)
        m.d.comb += [
            some.eq(count == CHECK_BYTES + 1),
            good.eq(self.whole & some & ~beyond & ~full & sound),
            ram.w_addr.eq(tail),
            ram.w_data.eq(Cat(waiting[:8], self.ends)),
            ram.w_en.eq(some & (self.byte | self.ends) & ~full),
            full.eq(tail + 1 == head),
        ]
        m.d.sync += self.bad.eq(self.ends & (count != 0) & ~good)
        with m.If(self.ends):
            m.d.sync += [count.eq(0), register.eq(START), beyond.eq(0)]
            m.d.sync += [tail.eq(Mux(good, tail + 1, kept)), kept.eq(Mux(good, tail + 1, kept))]
        with m.Elif(self.byte):
            m.d.sync += [
                waiting.eq(Cat(waiting[8:], self.content)),
                register.eq(following(register, self.content)),
            ]
            with m.If(~some):
                m.d.sync += count.eq(count + 1)
            with m.Elif(full):
                m.d.sync += beyond.eq(1)
            with m.Else():
                m.d.sync += tail.eq(tail + 1)

        waits = Signal(range(stages.BLOCK_RAM + 1))
        m.d.comb += [
            ram.r_addr.eq(head),
            self.o.payload.eq(ram.r_data),
            self.o.valid.eq(waits == stages.BLOCK_RAM),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [head.eq(head + 1), waits.eq(0)]
        with m.Elif((head != kept) & ~self.o.valid):
            m.d.sync += waits.eq(waits + 1)
        return m
