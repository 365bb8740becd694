"""From addresses to the bursts of their tiles."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.design.registers import NUMBER_BITS, OUT_OF_RANGE
from stepgen.hw.detail import detail_word
from stepgen.hw.primitives import Multiplier, delayed
from stepgen.hw.stream import signature
from stepgen.hw.units.axi.params import LENGTH_BITS, word_address_bits
from stepgen.ir.wire import VALUE

__all__ = ["LookUp", "Seek", "out_of_range", "place_of"]


def out_of_range(number):
    """The register ``detail`` for the number of a tile that there is not."""
    low = number[:NUMBER_BITS] | number[NUMBER_BITS:].any().replicate(min(NUMBER_BITS, len(number)))
    return detail_word(OUT_OF_RANGE, low)


class LookUp(wiring.Component):
    """Makes addresses starts of tiles, and queues their stops, in a load with the place of each.

    Parameters
    ----------
    by : ByAddress
    ref : Channel
        Of the addresses.
    placed : bool
        Whether places go with the stops.
    """

    def __init__(self, by, ref, *, placed):
        self.by, self.placed = by, placed and by.places > 1
        super().__init__(
            {
                "ref": In(signature(ref)),
                "starts": Out(signature(by.starts)),
                "closes": Out(signature(by.closes(ref.rank, placed=placed))),
                "outside": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        by, beat = self.by, self.ref.payload
        starts, closes = self.starts, self.closes
        value, fire = Signal(), Signal()
        m.d.comb += [
            value.eq(beat.kind == VALUE),
            self.outside.eq(self.ref.valid & value & (beat.data >= by.tiles)),
            fire.eq(self.ref.valid & ~self.outside & (starts.ready | ~value) & closes.ready),
            self.ref.ready.eq(fire),
            starts.valid.eq(fire & value),
            closes.valid.eq(fire),
        ]

        start = Signal.like(starts.payload)
        m.d.comb += [start.eq(by.origin + self._multiplied(m, beat.data)), starts.payload.eq(start)]

        late = {
            name: delayed(m, field, by.delay, reset_less=True)
            for name, field in (("kind", beat.kind), ("stop", beat.stop), ("data", beat.data))
        }
        m.d.comb += [
            closes.payload.kind.eq(late["kind"]),
            closes.payload.stop.eq(late["stop"]),
            closes.payload.data.eq(
                Mux(late["kind"] == VALUE, self._place(start), late["data"][: len(beat.stop)])
            ),
        ]
        return m

    def _multiplied(self, m, number):
        """The number times the steps of a tile."""
        steps = self.by.steps
        if not self.by.delay:
            return number << (steps.bit_length() - 1)
        m.submodules.multiplier = product = Multiplier(
            len(number), steps.bit_length(), a_signed=False, b_signed=False
        )
        m.d.comb += [product.a.eq(number), product.b.eq(steps)]
        return product.product

    def _place(self, start):
        """The place at which a tile starts, if it goes with the stop."""
        return place_of(self.by, start) if self.placed else Const(0)


def place_of(by, start):
    """The place in its first word at which a tile starts."""
    if by.places == 1:
        return Const(0, 0)
    fine = by.places * by.step // by.word
    return start[: (by.word // by.step).bit_length() - 1] << (fine.bit_length() - 1)


class Seek(wiring.Component):
    """Address generator of tiles by address, a burst per cycle."""

    def __init__(self, by, bus, bursts):
        self.by, self.address_bits = by, word_address_bits(bus)
        super().__init__(
            {
                "base": In(self.address_bits),
                "starts": In(signature(by.starts)),
                "o": Out(signature(bursts)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        by, few, many = self.by, self.by.few, self.by.many
        burst = by.boundary // by.word
        low_bits = (by.word // by.step).bit_length() - 1
        low, first = self.starts.payload[:low_bits], self.starts.payload[low_bits:]
        spare = few * by.word - by.tile_bytes  # what starts later in its word has a word more
        words = few if few == many else Mux(low > spare // by.step, many, few)

        # the current burst: its address and length; then the words of the tile behind it
        valid, last = Signal(), Signal()
        address = Signal(self.address_bits)
        length, behind = Signal(range(burst + 1)), Signal(range(many + 1))
        fire, take, length_code = Signal(), Signal(), Signal(LENGTH_BITS)
        to_boundary = burst - first[: burst.bit_length() - 1]
        one = words <= to_boundary
        m.d.comb += [
            fire.eq(valid & self.o.ready),
            take.eq(self.starts.valid & (~valid | (fire & last))),
            self.starts.ready.eq(take),
            length_code.eq((length - 1)[: len(length)]),
            self.o.valid.eq(fire),
            self.o.payload.eq(Cat(length_code, (self.base + address)[: self.address_bits])),
        ]
        with m.If(take):
            m.d.sync += [
                valid.eq(1),
                address.eq(first),
                length.eq(Mux(one, words, to_boundary)),
                behind.eq(Mux(one, 0, words - to_boundary)),
                last.eq(one),
            ]
        with m.Elif(fire):
            m.d.sync += [
                valid.eq(~last),
                address.eq(address + length),
                length.eq(Mux(behind > burst, burst, behind)),
                behind.eq(Mux(behind > burst, behind - burst, 0)),
                last.eq(behind <= burst),
            ]
        return m
