"""Makes tiles of numbers of rows of addresses, or of flags."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal

from stepgen.hw.arithmetic.circuits.conversion import convert, convert_unsigned
from stepgen.hw.primitives import counter, delayed
from stepgen.hw.unit import UnitCore
from stepgen.ir.dtypes import bool_
from stepgen.ir.wire import BARE, DONE, TILE_LEVELS, VALUE


class AsTileCore(UnitCore):
    """Map of convert from addresses or flags; flags as tiles, for any unit that takes these.

    Sends a beat for each slice of the row at the head; the last one takes it from the input.

    Parameters
    ----------
    unit.params : AsTile

    Notes
    -----
    One beat per cycle. Latency 5 to floats, 1 to integers; of flags 0. A conversion per lane. An
    address that is all ones, and so may be any larger one, raises ``error`` and stays where it is.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, params = self.x, self.y, self.params
        lanes, bits = self.design.lanes, self.channels["x"].bits
        kind, stop = x.payload.kind, x.payload.stop
        numbers = [x.payload.data.word_select(n, bits) for n in range(params.columns)]

        value, large, fire = (Signal(name=n) for n in ("value", "large", "fire"))
        at, last = counter(m, fire & value, params.slices(lanes))
        m.d.comb += [
            value.eq(kind == VALUE),
            large.eq(value & Cat(n.all() for n in numbers).any() if params.of_addresses else 0),
            fire.eq(x.valid & y.ready & ~large),
            x.ready.eq(fire & (~value | last)),
            y.valid.eq(fire),
        ]
        m.d.sync += self.error.eq(x.valid & large)

        made = []
        for lane in range(min(lanes, params.columns)):
            words = numbers[lane::lanes]
            words += [words[-1]] * (params.slices(lanes) - len(words))
            number = Signal(bits, name=f"number_{lane}")
            m.d.comb += number.eq(Array(words)[at] if len(words) > 1 else words[0])
            if params.keeps:
                one, stages = number, 0
            elif params.of_addresses:
                one, stages = convert_unsigned(m, number, params.to)
            else:
                one, stages = convert(m, number, bool_, params.to)
            if stages != params.delay(lanes):
                raise AssertionError(f"a conversion takes {stages} stages, not as declared")
            made.append(one[: params.to.bits])

        def late(signal):
            return delayed(m, signal, params.delay(lanes), reset_less=True)

        ends = Mux(kind == DONE, 0, Mux(value & ~last, 0, stop + TILE_LEVELS))
        low = late(x.payload.data[: len(stop)])
        m.d.comb += [
            y.payload.kind.eq(late(kind)),
            y.payload.stop.eq(late(ends[: len(y.payload.stop)])),
        ]
        with m.If(y.payload.kind == VALUE):
            m.d.comb += y.payload.data.eq(Cat(made))
        with m.Elif(y.payload.kind == BARE):
            m.d.comb += y.payload.data.eq(low + TILE_LEVELS)
        return m
