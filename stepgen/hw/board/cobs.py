"""Consistent overhead byte stuffing: frames without a byte 0, which ends them."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.board.crc import FRAME_BYTE
from stepgen.hw.primitives import BlockRam

__all__ = ["BLOCK_BYTES", "LONGEST", "Decoder", "Encoder"]

LONGEST = 254
"""Most bytes of a block."""

BLOCK_BYTES = 256
"""Bytes of the memory of a block."""


class Decoder(wiring.Component):
    """Takes frames out of a row of bytes, a byte in each cycle at most.

    Members
    -------
    valid, data, broken : ``In``
        As `uart.Receiver` gives them.
    byte : ``Out(1)``
        For one cycle: `content` is the next byte of a frame.
    content : ``Out(8)``
    ends : ``Out(1)``
        For one cycle: a frame has ended, with or without content.
    whole : ``Out(1)``
        With `ends`: none of its bytes were broken or missing.
    """

    def __init__(self):
        super().__init__(
            {
                "valid": In(1),
                "data": In(8),
                "broken": In(1),
                "byte": Out(1),
                "content": Out(8),
                "ends": Out(1),
                "whole": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        left = Signal(8)  # bytes of the block that follow
        zero = Signal()  # a byte 0 stands between this block and the next one
        hurt = Signal()
        m.d.sync += [self.byte.eq(0), self.ends.eq(0), self.content.eq(self.data)]
        with m.If(self.broken):
            m.d.sync += hurt.eq(1)
        with m.Elif(self.valid & (self.data == 0)):
            m.d.sync += [
                self.ends.eq(1),
                self.whole.eq(~hurt & (left == 0)),
                left.eq(0),
                zero.eq(0),
                hurt.eq(0),
            ]
        with m.Elif(self.valid & (left == 0)):
            m.d.sync += [
                left.eq(self.data - 1),
                zero.eq(self.data != LONGEST + 1),
                self.byte.eq(zero),
                self.content.eq(0),
            ]
        with m.Elif(self.valid):
            m.d.sync += [left.eq(left - 1), self.byte.eq(1)]
        return m


class Encoder(wiring.Component):
    """Makes rows of bytes of frames.

    Members
    -------
    i : ``In(stream)``
        Bytes of frames, see `crc.FRAME_BYTE`.
    o : ``Out(stream)``
        Bytes, 0 behind each frame.

    Notes
    -----
    A block of a frame is stored before its first byte leaves.
    """

    def __init__(self):
        super().__init__({"i": In(stream.Signature(FRAME_BYTE)), "o": Out(stream.Signature(8))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = BlockRam(8, BLOCK_BYTES)
        stored, sent = Signal(8), Signal(8)
        last, again = Signal(), Signal()  # the frame ends here, or with a further, empty block
        byte, ends = self.i.payload[:8], self.i.payload[8]
        waits = Signal(2)
        m.d.comb += [
            block.w_data.eq(byte),
            block.w_addr.eq(stored),
            block.r_addr.eq(sent),
        ]
        with m.FSM():
            with m.State("store"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    m.d.comb += block.w_en.eq(byte != 0)
                    m.d.sync += [
                        stored.eq(stored + (byte != 0)),
                        last.eq(ends & (byte != 0)),
                        again.eq(ends & (byte == 0)),
                        sent.eq(0),
                    ]
                    with m.If(ends | (byte == 0) | (stored == LONGEST - 1)):
                        m.next = "code"
            with m.State("code"):
                m.d.comb += [self.o.valid.eq(1), self.o.payload.eq(stored + 1)]
                with m.If(self.o.ready):
                    m.next = "address"
            with m.State("address"):
                m.d.sync += waits.eq(waits + 1)
                with m.If(sent == stored):
                    m.d.sync += [stored.eq(0), sent.eq(0), waits.eq(0), again.eq(0), last.eq(again)]
                    with m.If(again):
                        m.next = "code"
                    with m.Elif(last):
                        m.next = "end"
                    with m.Else():
                        m.next = "store"
                with m.Elif(waits == 2):  # the RAM's latency
                    m.next = "send"
            with m.State("send"):
                m.d.comb += [self.o.valid.eq(1), self.o.payload.eq(block.r_data)]
                m.d.sync += waits.eq(0)
                with m.If(self.o.ready):
                    m.d.sync += sent.eq(sent + 1)
                    m.next = "address"
            with m.State("end"):
                m.d.comb += [self.o.valid.eq(1), self.o.payload.eq(0)]
                with m.If(self.o.ready):
                    m.d.sync += last.eq(0)
                    m.next = "store"
        return m
