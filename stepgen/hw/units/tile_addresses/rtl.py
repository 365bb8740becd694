"""Makes the addresses of tiles of a selector, or of a number."""

from amaranth.hdl import Const, Module, Mux, Signal

from stepgen.hw.design.table import index_bits
from stepgen.hw.onehot import lowest, select
from stepgen.hw.primitives import Multiplier, counter, delayed
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, DONE, VALUE


class TileAddressesCore(UnitCore):
    """FlatMap of tile_addresses.

    Sends a beat for each address of the element at the head; the last one takes the element from
    the input, and its stop. Bits of a selector follow each other, the lowest first. What does not
    fit on the wires is all ones.

    Parameters
    ----------
    unit.params : TileAddresses

    Notes
    -----
    One beat per cycle. Latency 0 in addition to the FIFOs', or 3 where numbers are multiplied by
    a count that is not a power of two; a counter and an adder. A selector in which not
    `hot` bits are set raises ``error`` and stays where it is.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, params = self.x, self.y, self.params
        count, stages = params.count, params.delay(self.design.lanes)
        kind, stop = x.payload.kind, x.payload.stop

        value, wrong, more, last, fire = (
            Signal(name=n) for n in ("value", "wrong", "more", "last", "fire")
        )
        number, ends = counter(m, fire & value, count)
        m.d.comb += [
            value.eq(kind == VALUE),
            last.eq(~value | (ends & ~more)),
            fire.eq(x.valid & y.ready & ~wrong),
            x.ready.eq(fire & last),
            y.valid.eq(fire),
        ]
        if params.bits:
            chosen = x.payload.data[: params.bits]
            if params.hot == 1:
                one = chosen
                m.d.comb += wrong.eq(value & ((chosen == 0) | (lowest(m, chosen) != chosen)))
            else:
                passed = Signal(params.bits)
                left = chosen & ~passed
                one = lowest(m, left)
                m.d.comb += [
                    wrong.eq(value & (sum(chosen) != params.hot)),
                    more.eq(left != one),
                ]
                with m.If(fire & value & ends):
                    m.d.sync += passed.eq(Mux(more, passed | one, 0))
            firsts = [Const(n * count, index_bits(params.bits * count)) for n in range(params.bits)]
            first = select(one, firsts)
        elif params.factor > 1:
            bits = self.channels["x"].bits
            m.submodules.product = product = Multiplier(
                bits, params.factor.bit_length(), a_signed=False, b_signed=False
            )
            m.d.comb += [product.a.eq(x.payload.data[:bits]), product.b.eq(params.factor)]
            first = product.product << params.shift
        else:
            first = x.payload.data[: self.channels["x"].bits] << params.shift
        m.d.sync += self.error.eq(x.valid & wrong)

        def late(signal):
            return delayed(m, signal, stages, reset_less=True)

        bits = self.channels["y"].bits
        most = index_bits(params.bits * count) if params.bits else max(bits, len(first)) + 1
        address = Signal(most)
        m.d.comb += address.eq(first + late(number))
        made = address[:bits] | address[bits:].any().replicate(bits)

        raised = int(params.grouped)
        low = late(x.payload.data[: len(stop)])
        above = Mux(last & (kind != DONE), stop + raised, 0)
        m.d.comb += [
            y.payload.kind.eq(late(kind)),
            y.payload.stop.eq(late(above[: len(y.payload.stop)])),
        ]
        with m.If(y.payload.kind == VALUE):
            m.d.comb += y.payload.data.eq(made)
        with m.Elif(y.payload.kind == BARE):
            m.d.comb += y.payload.data.eq(low + raised)
        return m
