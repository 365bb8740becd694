"""Repeats each element, from a ring buffer."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.design import stages
from stepgen.hw.elements import reduced
from stepgen.hw.fifo import Fifo
from stepgen.hw.primitives import BlockRam, after, delayed
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, DONE, VALUE


class ExpandCore(UnitCore):
    """Sends each element `count` times, or once per element of a reference (Expand).

    One actor writes beats to a ring buffer, another reads them. The first pass over a tile reads it
    while it still arrives; the last pass frees its slots one by one, so the next tile can arrive
    meanwhile. A selector, a flag and an address are elements of one beat. Every beat takes a slot,
    also an empty token. A queue beside the ring buffer holds the ends of the elements, so that the
    reading side knows where a pass ends.

    An empty group of the reference drops its element: it is read without being sent. A third actor
    reduces a reference of tiles to one beat per element.

    Parameters
    ----------
    unit.params : count, base, level, ref_base, capacity
        See `Expand`.

    Notes
    -----
    One beat per cycle, across passes and elements as well. Latency 1 in addition to the FIFOs' and
    the memory's. Cost: the memory and four counters as wide as its address; the next end is in a
    register, since it decides within a cycle what is read next. An element that fills the memory
    before its end and has to be read again raises ``error`` and stops the unit; so does a reference
    of another structure.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, base = self.x, self.y, self.params.base
        width = self.params.width(self.unit, self.design)
        ends, *elements = self.params.queues(self.unit, self.design)
        ends = Fifo(ends, registered=True)
        m.submodules.ring = ring = _Ring(width, self.params.capacity)
        m.submodules.ends = ends

        enter = Signal()
        ending = (x.payload.kind != VALUE) | (x.payload.stop >= base)
        low = x.payload.data[: len(x.payload.stop)]
        m.d.comb += [
            enter.eq(x.valid & ring.w_ready & (ends.w.ready | ~ending)),
            x.ready.eq(enter),
            ring.w_en.eq(enter),
            ring.w_data.eq(Cat(x.payload.stop != 0, x.payload.data)),
            ends.w.valid.eq(enter & ending),
            ends.w.payload.kind.eq(x.payload.kind),
            ends.w.payload.stop.eq(x.payload.stop),
            ends.w.payload.data.eq(Mux(x.payload.kind == VALUE, ring.w_addr, low)),
        ]

        # Inputs of both ways to control reading
        self.ring, self.end = ring, ends.r.payload
        self.end_low = self.end.data[: len(self.end.stop)]
        self.closing = Signal()  # the beat to read is the last of its element
        self.outer = Signal()  # it is not an element, but an empty group or the end of the stream
        whole = self.end.kind != VALUE
        m.d.comb += [
            self.closing.eq(ends.r.valid & (whole | (self.end.data == ring.r_addr))),
            self.outer.eq(ends.r.valid & ((self.end.kind == DONE) | whole & (self.end_low > base))),
        ]
        # Their outputs
        self.emit, self.last = Signal(), Signal()
        self.explicit = Signal()  # the levels sent are `stop` and `low`, not the memory's
        kind, stop, low = (Signal.like(f) for f in (y.payload.kind, y.payload.stop, y.payload.stop))
        self.kind, self.stop, self.low = kind, stop, low
        if self.params.count is not None:
            self._count_passes(m)
        else:
            below = self.params.ref_base
            self._follow_reference(m, reduced(m, self.ref, below, *elements) if below else self.ref)

        read_last = ring.r_en & self.closing & self.last
        m.d.comb += [
            ends.r.ready.eq(read_last),
            ring.r_free.eq(self.last),
            ring.r_rewind.eq(self.closing & ~self.last),
            y.valid.eq(self.emit),
        ]

        def late(value):
            return delayed(m, value, stages.BLOCK_RAM, reset_less=True)

        data = ring.r_data[1:]
        if self.params.count is None:  # a hole has a level that was never stored
            data = Mux(late(self.explicit & (kind == BARE)), late(low), data)
        m.d.comb += [
            y.payload.kind.eq(late(Mux(self.explicit, kind, VALUE))),
            y.payload.stop.eq(Mux(late(self.explicit), late(stop), ring.r_data[0])),
            y.payload.data.eq(data),
        ]
        return m

    def _count_passes(self, m):
        """`count` passes; the last one has the stop of x."""
        ring, count = self.ring, self.params.count
        done = Signal(range(count))  # passes over the tile, before this one
        m.d.comb += [
            self.last.eq(self.outer | (done == count - 1)),
            self.emit.eq(ring.r_valid),
            ring.r_en.eq(ring.r_valid & self.y.ready),
            self.explicit.eq(self.closing),
            self.kind.eq(self.end.kind),
            self.stop.eq(Mux(self.last, self.end.stop, self.params.base)),
        ]
        m.d.sync += self.error.eq(ring.stuck)
        with m.If(ring.r_en & self.closing):
            m.d.sync += done.eq(Mux(self.last, 0, done + 1))

    def _follow_reference(self, m, ref):
        """A pass per element of the reference, which determines all stops."""
        y, ring, base = self.y, self.ring, self.params.base
        rank = self.params.level - base  # of the group of ref that belongs to an element
        ref_low = ref.payload.data[: len(ref.payload.stop)]
        is_element = ref.payload.kind == VALUE
        hole = Signal()  # an empty group inside the group, or all of it
        final = ref.payload.stop >= rank
        m.d.comb += hole.eq((ref.payload.kind == BARE) & (ref_low <= rank))

        fits = Signal()
        alone = Signal()  # a hole, not the last of its group: nothing of x is read
        both = Signal()
        m.d.comb += [
            fits.eq(
                Mux(self.outer, (ref.payload.kind == self.end.kind) & ~hole, is_element | hole)
            ),
            alone.eq(ref.valid & hole & ~final),
            both.eq(ref.valid & ring.r_valid & fits & ~alone),
            self.last.eq(self.outer | final),
            self.emit.eq(alone | both & (~hole | self.closing)),
            ring.r_en.eq(both & (y.ready | hole & ~self.closing)),
            ref.ready.eq(alone & y.ready | ring.r_en & self.closing),
            self.explicit.eq(self.closing | alone),
            self.kind.eq(Mux(hole, BARE, self.end.kind)),
            self.stop.eq(Mux(ref.payload.kind == DONE, 0, ref.payload.stop + base)),
            self.low.eq(Mux(hole, ref_low + base, self.end_low)),
        ]
        other_stop = self.closing & self.last & (self.stop != self.end.stop)
        m.d.sync += self.error.eq(
            ring.stuck | ref.valid & ring.r_valid & ~alone & (~fits | other_stop)
        )


class _Ring(wiring.Component):
    """Ring buffer, of which words are read several times before they are freed.

    Parameters
    ----------
    width, capacity : int

    Members
    -------
    w_en, w_data : ``In``
        Append a word; only while `w_ready` is high.
    w_ready, w_addr : ``Out``
        Whether there is a free slot, and its address.
    r_valid, r_addr : ``Out``
        Whether there is a word to read, and its address.
    r_en : ``In``
        Read it; only while `r_valid` is high.
    r_free, r_rewind : ``In``
        While reading: free the slot, as for all words before it; continue with the first word
        that has not been freed.
    r_data : ``Out``
        The word, `stages.BLOCK_RAM` cycles after `r_en`.
    stuck : ``Out``
        The buffer is full, and all its words have been read in this pass.
    """

    def __init__(self, width: int, capacity: int):
        self.width = width
        self.capacity = capacity
        super().__init__(
            {
                "w_en": In(1),
                "w_ready": Out(1),
                "w_addr": Out(range(capacity)),
                "w_data": In(width),
                "r_valid": Out(1),
                "r_addr": Out(range(capacity)),
                "r_en": In(1),
                "r_free": In(1),
                "r_rewind": In(1),
                "r_data": Out(width),
                "stuck": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.ram = ram = BlockRam(self.width, self.capacity)
        first = Signal(range(self.capacity))  # address of the first word not freed
        full = Signal()
        following, next_write = (after(addr, self.capacity) for addr in (self.r_addr, self.w_addr))
        freed = self.r_en & self.r_free
        rewound = self.r_en & self.r_rewind

        m.d.comb += [
            self.w_ready.eq(~full),
            self.stuck.eq(full & ~self.r_valid),
            ram.w_en.eq(self.w_en),
            ram.w_addr.eq(self.w_addr),
            ram.w_data.eq(self.w_data),
            ram.r_addr.eq(self.r_addr),
            self.r_data.eq(ram.r_data),
        ]
        # Addresses that meet mean an empty buffer or a full one; the flags say which.
        read_all = self.r_en & (following == self.w_addr)
        m.d.sync += [
            full.eq(~freed & (full | self.w_en & (next_write == first))),
            self.r_valid.eq(rewound | self.w_en | self.r_valid & ~read_all),
        ]
        with m.If(self.w_en):
            m.d.sync += self.w_addr.eq(next_write)
        with m.If(freed):
            m.d.sync += first.eq(following)
        with m.If(self.r_en):
            m.d.sync += self.r_addr.eq(Mux(self.r_rewind, first, following))
        return m
