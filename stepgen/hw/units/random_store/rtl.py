"""Writes a tile to each address, and reports when it is written."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring

from stepgen.hw.fifo import Fifo
from stepgen.hw.look_up import LookUp, out_of_range, place_of
from stepgen.hw.occupancy import Occupancy
from stepgen.hw.packing import Packing, stored
from stepgen.hw.unit import UnitCore
from stepgen.hw.units.axi.params import LENGTH_BITS, burst, word_address_bits
from stepgen.ir.wire import BARE, DONE, VALUE


class RandomStoreCore(UnitCore):
    """Packs tiles into bus words from their starts on, in bursts; reports when they are written.

    Four actors. *look up* makes addresses starts of tiles. *pack* gathers the beats of a tile into
    words, from the place of its start on, and requests a burst once all its words are in ``wdata``;
    with the place of its first and of its last byte, so that bytes of other tiles in these words
    stay. *settle* takes every acknowledgement, and puts a token into a counter with the last one of
    a tile; it never waits, since the arbiter does not. *tell* sends a flag with the stop of the
    tile's address when there is a token. The run lasts until the last flag is sent.

    A number past the last tile stays where it is and raises ``error``, with the number as
    ``detail``; tiles before it are still written.

    Parameters
    ----------
    unit.params : RandomStore

    Notes
    -----
    One beat or one word per cycle, whichever is wider, and one cycle more for a tile whose last
    beat lies across words. Latency 1 from an address to its start, and 3 more where that takes a
    multiplication.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    finishes = True
    details = True

    def constants(self):
        by = self.params.by_address(self.unit, self.design)
        return {
            "base": (word_address_bits(self.design.bus), (by.base - by.before) // by.word),
        }

    def identity(self):
        by = self.params.by_address(self.unit, self.design)
        return super().identity() | {"base": by.before, "region": None}

    def elaborate(self, platform):
        m = Module()
        params, bus, design = self.params, self.design.bus, self.design
        by = params.by_address(self.unit, design)
        m.submodules.look_up = look_up = LookUp(by, self.channels["at"], placed=False)
        m.submodules.starts = starts = Fifo(by.starts)
        m.submodules.closes = closes = Fifo(params.closes(self.unit, design))
        m.submodules.bursts = bursts = Fifo(params.bursts(bus))
        m.submodules.written = written = Occupancy(params.ahead + 1)
        wiring.connect(m, wiring.flipped(self.at), look_up.ref)
        wiring.connect(m, look_up.starts, starts.w)
        wiring.connect(m, look_up.closes, closes.w)
        m.d.sync += [
            self.error.eq(look_up.outside),
            self.detail.eq(out_of_range(self.at.payload.data)),
        ]
        self._pack(m, by, starts.r, bursts.w)

        waits, told, settled = bursts.r.payload[0], bursts.r.payload[1], Signal()
        m.d.comb += [
            settled.eq(bursts.r.valid & (~waits | self.ack.valid)),
            bursts.r.ready.eq(settled),
            self.ack.ready.eq(settled & waits),
            written.put.eq(settled & told),
        ]

        y, close, tells = self.y, closes.r.payload, Signal()
        m.d.comb += [
            tells.eq(closes.r.valid & y.ready & ((close.kind == BARE) | written.any)),
            closes.r.ready.eq(tells),
            written.take.eq(tells & (close.kind != BARE)),
            y.valid.eq(tells),
            y.payload.kind.eq(close.kind),
            y.payload.stop.eq(close.stop),
            y.payload.data.eq(Mux(close.kind == VALUE, 1, close.data)),
        ]
        with m.If(~self.running):
            m.d.sync += self.finished.eq(0)
        with m.Elif(tells & (close.kind == DONE)):
            m.d.sync += self.finished.eq(1)
        return m

    def _pack(self, m, by, starts, bursts):
        """From beats to words and requests."""
        x, wreq, wdata, bus = self.x, self.wreq, self.wdata, self.design.bus
        channel, word = self.channels["x"], self.design.bus.bytes
        gear = self.params.gear(channel)
        step = gear.step(word)
        places = word // step
        longest = burst(bus, self.channels["wdata"].depth)

        value, bare, ends, room = Signal(), Signal(), Signal(), Signal()
        inside, flushes, fire = Signal(), Signal(), Signal()
        m.d.comb += [
            value.eq(x.payload.kind == VALUE),
            bare.eq(x.payload.kind == BARE),
            room.eq(wdata.ready & wreq.ready & bursts.ready),
            fire.eq((flushes | x.valid & value & (inside | starts.valid)) & room),
            ends.eq(~flushes & x.valid & (x.payload.kind == DONE) & bursts.ready),
            starts.ready.eq(fire & ~flushes & ~inside),
        ]

        # where the word and its burst begin: with the first beat of a tile at its start
        low_bits = (by.word // by.step).bit_length() - 1
        start, begins = place_of(by, starts.payload), starts.payload[low_bits:]
        kept, parts = Signal(range(places)), Signal(8 * word)
        fill, byte, first = Signal(range(places)), Signal(range(places)), Signal(range(places))
        behind = -(-(by.before + by.tiles * by.tile_bytes) // by.word)  # the last tile
        at, address = Signal(range(behind)), Signal(range(behind))
        count, number = Signal(range(longest)), Signal(range(longest))
        # where the word lies between boundaries of bursts: the next one begins at a boundary
        word_at, low = Signal(range(longest)), Signal(range(longest))
        m.d.comb += [
            fill.eq(Mux(inside, kept, start)),
            first.eq(Mux(inside, byte, start)),
            address.eq(Mux(inside, at, begins)),
            number.eq(Mux(inside, count, 0)),
            low.eq(Mux(inside, word_at, begins)),
        ]

        full_chunks, last_chunks = gear.chunks(word)
        row_ends, part = x.payload.stop.any(), Signal(range(full_chunks))
        beat_ends = Mux(row_ends, part == last_chunks - 1, part == full_chunks - 1)
        beat = stored(x.payload.data, channel, gear)
        filled, whole, joined, turned = Packing.of(
            m, gear, word, beat, fill, parts, part=part, beat_ends=beat_ends, row_ends=row_ends
        )
        place = self._bytes(first, step)
        tile_ends, final, push, request = Signal(), Signal(), Signal(), Signal()
        last, length_code, tail = Signal(), Signal(LENGTH_BITS), Signal(range(word))
        where = Signal(word_address_bits(bus))
        m.d.comb += [
            tile_ends.eq(beat_ends & (self.params.addresses | (x.payload.stop > 1))),
            final.eq(flushes | tile_ends & (filled <= places)),
            push.eq(final | whole),
            last.eq(low == longest - 1),
            request.eq(push & (final | last)),
            x.ready.eq(x.valid & ~flushes & Mux(value, fire & beat_ends, bare | bursts.ready)),
            wdata.valid.eq(fire & push),
            wdata.payload.eq(Mux(flushes, parts, joined)),
            length_code.eq(number),
            where.eq(self.base + address),
            wreq.valid.eq(fire & request),
            tail.eq(word - 1),
            wreq.payload.eq(Cat(length_code, where, tail, place)),
            bursts.valid.eq(fire & request | ends),
            bursts.payload.eq(Cat(~ends, ends | final)),
        ]
        with m.If(final):
            m.d.comb += tail.eq(Mux(flushes, kept, filled) * step - 1)
        with m.If(fire):
            m.d.sync += [
                inside.eq(~final),
                flushes.eq(~final & tile_ends),
                kept.eq(filled),
                parts.eq(Mux(whole, turned, joined)),
                part.eq(Mux(beat_ends | flushes, 0, part + 1)),
                at.eq(address),
                word_at.eq(low + push),
                byte.eq(first),
                count.eq(number + push),
            ]
            with m.If(request):
                above = address[len(low) :]
                m.d.sync += [at.eq(Cat(Const(0, len(low)), above + 1)), count.eq(0), byte.eq(0)]

    def _bytes(self, place, step):
        """A place in bytes."""
        return (place << (step.bit_length() - 1))[: (self.design.bus.bytes - 1).bit_length()]
