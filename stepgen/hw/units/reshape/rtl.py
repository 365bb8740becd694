"""Splits the innermost dim into chunks, and pads short groups."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal

from stepgen.hw.primitives import counter
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, DONE, VALUE


class ReshapeCore(UnitCore):
    """Counts elements; every `chunk`-th closes the new dim (Reshape of dim 0).

    A group that ends early is padded; the last padding element carries its stop. At the end of a
    stream without groups the padding comes before ``DONE``. The second output, if it is used, says
    of every element whether it is padding: with the element's last beat, or with its first if
    `prompt`.

    Parameters
    ----------
    unit.params : Reshape

    Notes
    -----
    One beat per cycle, also while padding. Latency 0 in addition to the FIFOs'. No holding
    register: a few counters and comparators.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, (y, *flags) = self.x, self.outputs
        level, chunk = self.params.level, self.params.chunk
        stop = x.payload.stop
        low = x.payload.data[: len(stop)]

        short = Signal()  # the group has ended, its chunk is being padded
        short_stop = Signal.like(y.payload.stop)

        ends = x.payload.kind == DONE
        group = (x.payload.kind == BARE) & (low > level)
        closes = Signal()  # the current beat is the last of its element
        pads = Signal()  # the beat is padding
        fire = Signal()
        count, full = counter(m, fire & closes, chunk)  # elements of the chunk so far
        row_ends, tile_ends = self._padding_tile(m, fire & pads)
        pad_closes = row_ends & tile_ends
        m.d.comb += [
            pads.eq(short | x.valid & ends & (count != 0)),
            closes.eq(Mux(pads, pad_closes, ~ends & ~group & (stop >= level))),
        ]

        element = Signal()  # the beat belongs to an element
        inside = Signal()  # its element has begun
        told = Signal()  # the flag is sent with this beat
        prompt = self.params.prompt
        m.d.comb += [
            element.eq(pads | ~ends & ~group),
            told.eq(Mux(element, ~inside if prompt else closes, ends | group & (not prompt))),
            fire.eq((pads | x.valid) & y.ready & (flags[0].ready | ~told if flags else 1)),
            x.ready.eq(fire & ~pads),
            y.valid.eq(fire),
        ]
        with m.If(pads):
            out = self.channels["y"]
            lanes = Cat([Const(self.params.lane(out), out.bits)] * out.lanes)
            m.d.comb += [
                y.payload.kind.eq(VALUE if self.params.rows else BARE),
                y.payload.data.eq(lanes if self.params.rows else level),
            ]
            with m.If(~pad_closes):
                m.d.comb += y.payload.stop.eq(row_ends)
            with m.Elif(~full):
                m.d.comb += y.payload.stop.eq(level)
            with m.Else():
                m.d.comb += y.payload.stop.eq(Mux(short, short_stop, level + 1))
        with m.Else():
            m.d.comb += [
                y.payload.kind.eq(x.payload.kind),
                y.payload.data.eq(Mux(group, low + 1, x.payload.data)),
            ]
            with m.If(group):
                m.d.comb += y.payload.stop.eq(stop + 1)
            with m.Elif(~closes):
                m.d.comb += y.payload.stop.eq(stop)
            with m.Elif(full):
                m.d.comb += y.payload.stop.eq(stop + 1)
            with m.Else():
                m.d.comb += y.payload.stop.eq(level)
        if flags:
            m.d.comb += [
                flags[0].valid.eq(fire & told),
                flags[0].payload.kind.eq(Mux(element, VALUE, x.payload.kind)),
                flags[0].payload.stop.eq(
                    0 if prompt else Mux(element | group, y.payload.stop - level, 0)
                ),
                flags[0].payload.data.eq(Mux(element, pads, Mux(ends, 0, low + 1 - level))),
            ]

        with m.If(fire & element):
            m.d.sync += inside.eq(~closes)
        with m.If(fire & closes):
            with m.If(pads):
                m.d.sync += short.eq(short & ~full)
            with m.Else():
                m.d.sync += [short.eq((stop > level) & ~full), short_stop.eq(stop + 1)]
        return m

    def _padding_tile(self, m, step):
        """Whether the next beat of padding ends its row, and whether that is the last row."""
        rows, slices = self.params.rows, self.params.slices
        if rows == 0:  # an empty token
            rows, slices = 1, 1
        _, row_ends = counter(m, step, slices)
        _, tile_ends = counter(m, step & row_ends, rows)
        return row_ends, tile_ends
