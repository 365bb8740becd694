"""From addresses to the bursts of their tiles."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..ir.wire import VALUE
from .design.registers import NUMBER_BITS, OUT_OF_RANGE, WORD
from .primitives import Multiplier, delayed
from .stream import signature
from .units.axi.params import LENGTH_BITS, burst, word_address_bits

__all__ = ["LookUp", "Seek", "out_of_range"]


def out_of_range(number):
    """The register ``detail`` for the number of a tile that there is not."""
    low = number[:NUMBER_BITS] | number[NUMBER_BITS:].any().replicate(min(NUMBER_BITS, len(number)))
    return Cat(low, Const(0, NUMBER_BITS - len(low)), Const(OUT_OF_RANGE, 8 * WORD - NUMBER_BITS))


class LookUp(wiring.Component):
    """Makes addresses starts of tiles, and queues their stops with the place in the first word."""

    def __init__(self, unit, design):
        self.params, self.bus = unit.params, design.bus
        self.burst = burst(design.bus, design.channel[unit.inputs["data"]].depth)
        super().__init__(
            {
                "ref": In(signature(design.channel[unit.inputs["ref"]])),
                "starts": Out(signature(self.params.starts(unit, design))),
                "closes": Out(signature(self.params.closes(unit, design))),
                "outside": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        params, bus, beat = self.params, self.bus, self.ref.payload
        starts, closes = self.starts, self.closes
        value, fire = Signal(), Signal()
        m.d.comb += [
            value.eq(beat.kind == VALUE),
            self.outside.eq(self.ref.valid & value & (beat.data >= params.tiles)),
            fire.eq(self.ref.valid & ~self.outside & (starts.ready | ~value) & closes.ready),
            self.ref.ready.eq(fire),
            starts.valid.eq(fire & value),
            closes.valid.eq(fire),
        ]

        stages = params.multiplication(bus)
        origin = params.base % (self.burst * bus.bytes) // params.walk.step(bus.bytes)
        start = Signal.like(starts.payload)
        m.d.comb += [start.eq(origin + self._multiplied(m, beat.data)), starts.payload.eq(start)]

        late = {
            name: delayed(m, field, stages, reset_less=True)
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
        steps = self.params.steps(self.bus)
        if not self.params.multiplication(self.bus):
            return number << (steps.bit_length() - 1)
        m.submodules.multiplier = product = Multiplier(
            len(number), steps.bit_length(), a_signed=False, b_signed=False
        )
        m.d.comb += [product.a.eq(number), product.b.eq(steps)]
        return product.product

    def _place(self, start):
        """The place in its first word at which a tile starts, in steps of the gear."""
        word, gear = self.bus.bytes, self.params.gear.step(self.bus.bytes)
        if self.params.places(self.bus) == 1:
            return Const(0)
        step = self.params.walk.step(word)
        fine = (step // gear).bit_length() - 1
        return start[: (word // step).bit_length() - 1] << fine


class Seek(wiring.Component):
    """Address generator of tiles by address, a burst per cycle."""

    def __init__(self, unit, design):
        self.walk, self.word = unit.params.walk, design.bus.bytes
        self.burst = burst(design.bus, design.channel[unit.inputs["data"]].depth)
        self.address_bits = word_address_bits(design.bus)
        super().__init__(
            {
                "base": In(self.address_bits),
                "starts": In(signature(unit.params.starts(unit, design))),
                "o": Out(signature(unit.params.bursts(design.bus))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        walk, burst, word = self.walk, self.burst, self.word
        step = walk.step(word)
        low_bits = (word // step).bit_length() - 1
        few, many = walk.words(word), walk.most_words(word)
        low, first = self.starts.payload[:low_bits], self.starts.payload[low_bits:]
        spare = few * word - walk.length  # a tile that starts later in its word has a word more
        words = few if few == many else Mux(low > spare // step, many, few)

        inside, behind = Signal(), Signal(range(many + 1))
        following = Signal(self.address_bits)
        address, left = Signal(self.address_bits), Signal(range(many + 1))
        to_boundary, length = Signal(range(burst + 1)), Signal(range(burst + 1))
        last, fire, length_code = Signal(), Signal(), Signal(LENGTH_BITS)
        m.d.comb += [
            address.eq(Mux(inside, following, first)),
            left.eq(Mux(inside, behind, words)),
            to_boundary.eq(burst - address[: burst.bit_length() - 1]),
            last.eq(left <= to_boundary),
            length.eq(Mux(last, left, to_boundary)),
            length_code.eq(length - 1),
            fire.eq(self.starts.valid & self.o.ready),
            self.starts.ready.eq(fire & last),
            self.o.valid.eq(fire),
            self.o.payload.eq(Cat(length_code, (self.base + address)[: self.address_bits])),
        ]
        with m.If(fire):
            m.d.sync += [
                inside.eq(~last),
                following.eq(address + length),
                behind.eq(left - length),
            ]
        return m
