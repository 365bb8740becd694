"""Carries out the requests of a host, each once."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.board.access import Access
from stepgen.hw.board.crc import FRAME_BYTE
from stepgen.hw.board.protocol import HEADER_BYTES, REPEATS, WORD, Operation, Space, Status

__all__ = ["Server"]

SEQUENCE_BITS = 16
STATUS_BITS = 2


class Server(wiring.Component):
    """Requests in, answers out: number of the request, words that were read, how it went.

    A request has the number that follows the one before, or is one of the last `REPEATS` again,
    because the host has not seen the answer: then it gets the same answer, and is not carried out
    again, but that words are read.

    Members
    -------
    i, o : stream
        Bytes of frames, see `crc.FRAME_BYTE`.
    <space> : ``Out(Access)``
        For each `Space`, under its name.
    """

    def __init__(self):
        self.spaces = [space.name.lower() for space in Space]
        super().__init__(
            {
                "i": In(stream.Signature(FRAME_BYTE)),
                "o": Out(stream.Signature(FRAME_BYTE)),
                **{name: Out(Access()) for name in self.spaces},
            }
        )

    def elaborate(self, platform):
        m = Module()
        byte, ends = self.i.payload[:8], self.i.payload[8]
        header = Signal(8 * HEADER_BYTES)
        operation, space = header[:4], header[4:8]
        sequence, address = header[8:24], Signal(32)
        m.d.comb += self.i.ready.eq(0)

        expected = Signal(SEQUENCE_BITS)
        statuses = Signal(STATUS_BITS * REPEATS)  # of the last requests, the newest lowest
        back = Signal(SEQUENCE_BITS)
        status, ended = Signal(STATUS_BITS), Signal()
        word, left = Signal(8 * WORD), Signal(8)
        place = Signal(range(HEADER_BYTES + 1))
        fresh = Signal()
        # Two carry chains: the answer is used in the state after the next one.
        m.d.sync += back.eq(expected - sequence - 1)

        access = Signal()
        one = self._spaces(m, access, space, operation == Operation.WRITE, address, word)

        with m.FSM():
            with m.State("header"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += ended.eq(ends)
                with m.If(self.i.valid):
                    m.d.sync += [header.eq(Cat(header[8:], byte)), place.eq(place + 1)]
                    with m.If(place == HEADER_BYTES - 1):
                        m.d.sync += place.eq(0)
                        m.next = "compare"
                    with m.Elif(ends):  # no host sends that: nobody waits for an answer
                        m.d.sync += place.eq(0)
            with m.State("compare"):
                m.next = "check"
            with m.State("check"):
                m.d.sync += [
                    address.eq(header[24:]),
                    status.eq(Status.OK),
                    fresh.eq(sequence == expected),
                    place.eq(0),
                ]
                m.next = "skip"
                with m.If((operation == Operation.SYNC) & ended):
                    m.d.sync += [expected.eq(sequence), fresh.eq(1)]
                    m.next = "number"
                with m.Elif((sequence != expected) & (back >= REPEATS)):
                    m.d.sync += status.eq(Status.ORDER)
                with m.Elif((operation == Operation.READ) & ~ended):
                    m.next = "count"
                with m.Elif((operation == Operation.WRITE) & ~ended):
                    with m.If(sequence == expected):
                        m.next = "gather"
                    with m.Else():
                        m.d.sync += status.eq(statuses.word_select(back, STATUS_BITS))
                with m.Else():
                    m.d.sync += status.eq(Status.MALFORMED)
            with m.State("skip"):  # the rest of a frame
                m.d.comb += self.i.ready.eq(~ended)
                with m.If(ended):
                    m.next = "number"
                with m.Elif(self.i.valid):
                    m.d.sync += ended.eq(ends)

            with m.State("gather"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    m.d.sync += [
                        word.eq(Cat(word[8:], byte)),
                        place.eq(place + 1),
                        ended.eq(ends),
                    ]
                    with m.If(place == WORD - 1):
                        m.d.sync += place.eq(0)
                        m.next = "write"
                    with m.Elif(ends):
                        m.d.sync += [status.eq(Status.MALFORMED), place.eq(0)]
                        m.next = "number"
            with m.State("write"):
                m.d.comb += access.eq(1)
                with m.If(one.done):
                    m.d.sync += address.eq(address + 1)
                    with m.If(one.refused):
                        m.d.sync += status.eq(Status.REFUSED)
                        m.next = "skip"
                    with m.Elif(ended):
                        m.next = "number"
                    with m.Else():
                        m.next = "gather"

            with m.State("count"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    m.d.sync += [left.eq(byte), ended.eq(ends)]
                    m.next = "number"
                    with m.If(~ends):
                        m.d.sync += status.eq(Status.MALFORMED)
                        m.next = "skip"
            with m.State("number"):
                m.d.comb += [
                    self.o.valid.eq(1),
                    self.o.payload.eq(sequence.word_select(place[0], 8)),
                ]
                with m.If(self.o.ready):
                    m.d.sync += place.eq(place + 1)
                    with m.If(place == 1):
                        m.d.sync += place.eq(0)
                        m.next = "status"
                        with m.If((operation == Operation.READ) & (status == Status.OK)):
                            m.next = "read"
            with m.State("read"):
                m.d.comb += access.eq(1)
                with m.If(one.done):
                    m.d.sync += [word.eq(one.found), address.eq(address + 1)]
                    m.next = "send"
                    with m.If(one.refused):
                        m.d.sync += status.eq(Status.REFUSED)
                        m.next = "status"
            with m.State("send"):
                m.d.comb += [self.o.valid.eq(1), self.o.payload.eq(word[:8])]
                with m.If(self.o.ready):
                    m.d.sync += [word.eq(word >> 8), place.eq(place + 1)]
                    with m.If(place == WORD - 1):
                        m.d.sync += [place.eq(0), left.eq(left - 1)]
                        m.next = "read"
                        with m.If(left == 0):
                            m.next = "status"

            with m.State("status"):
                m.d.comb += [
                    self.o.valid.eq(1),
                    self.o.payload.eq(Cat(status, Const(0, 8 - STATUS_BITS), 1)),
                ]
                with m.If(self.o.ready):
                    m.next = "header"
                    with m.If(fresh):
                        m.d.sync += [
                            expected.eq(expected + 1),
                            statuses.eq(Cat(status, statuses)),
                        ]
        return m

    def _spaces(self, m, access, space, write, address, word):
        """One access to the space that is asked for; what it says, registered."""
        one = Access().create()
        others = [getattr(self, name) for name in self.spaces]
        unknown = Signal()
        m.d.comb += unknown.eq(access & (space >= len(others)))
        done = unknown
        found, refused = Const(0, 32), unknown
        chosen = []
        for number, other in enumerate(others):
            chosen.append(access & (space == number) & ~one.done)
            m.d.comb += [
                other.write.eq(write),
                other.address.eq(address),
                other.word.eq(word),
            ]
            done = done | other.done
            found = Mux(other.done, other.found, found)
            refused = refused | other.done & other.refused
        for other, asked in zip(others, chosen, strict=True):
            m.d.sync += other.valid.eq(asked & ~done)  # a register, low from `done` on
        m.d.sync += [one.done.eq(done & ~one.done), one.found.eq(found), one.refused.eq(refused)]
        return one
