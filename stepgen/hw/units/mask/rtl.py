"""Puts a constant in place of elements outside of a range of columns or rows."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed

from stepgen.hw.primitives import counter, delayed
from stepgen.hw.unit import UnitCore
from stepgen.hw.units.mask.params import STAGES
from stepgen.ir.wire import BARE, TILE_LEVELS, VALUE, number_limit


class MaskCore(UnitCore):
    """Map of mask_cols, mask_rows and mask_causal.

    One actor. Numbers stay at the heads of their FIFOs for a tile. In a pipeline follow from them
    and from the row the columns that are kept, or whether the row is, then the lanes of the beat.

    Parameters
    ----------
    unit.params : Mask

    Notes
    -----
    One beat per cycle. Latency 3; two adders as wide as numbers, and where columns count a
    comparator for each lane. Rows of any length come an element a beat.
    Operands of different structure raise ``error``; so do positions that are too large, which stay
    where they are.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, params = self.x.payload, self.y, self.params
        ports = self.inputs[1:]
        bits = self.channels[params.inputs[1]].bits
        numbers = [port.payload.data[:bits] for port in ports]
        value, ends, large, there, fire = (
            Signal(name=name) for name in ("value", "ends", "large", "there", "fire")
        )
        m.d.comb += [
            value.eq(x.kind == VALUE),
            ends.eq(~value | (x.stop >= TILE_LEVELS)),
            there.eq(Cat(*(port.valid for port in self.inputs), y.ready).all()),
            fire.eq(there & ~large),
            self.x.ready.eq(fire),
            *(port.ready.eq(fire & ends) for port in ports),
            y.valid.eq(fire),
        ]
        if params.positions:
            most = number_limit(bits)
            m.d.comb += large.eq(
                Cat(
                    (port.payload.kind == VALUE) & (number == most)
                    for port, number in zip(ports, numbers, strict=True)
                ).any()
            )
        at, last = self._place(m, fire & value)
        row = Signal(range(params.rows))
        if params.by != "cols":
            with m.If(fire):
                m.d.sync += row.eq(Mux(ends, 0, row + (x.stop != 0)))

        # The distance of the row's first element, then of the beat's first.
        apart = numbers[0] - (numbers[1] if params.positions else 1)
        apart = self._stage(m, apart)
        passed = delayed(m, row, 1, reset_less=True)
        distance = {"cols": apart, "rows": apart - passed, "both": apart + passed}[params.by]
        distance = self._stage(m, distance)
        lanes = params.lanes(self.design.lanes)
        columns = 1 if params.by == "rows" else lanes  # with distances of their own
        if params.by != "rows":
            distance = distance - delayed(m, at * lanes, 2, reset_less=True)
        kept = self._reaches(m, distance, columns)
        if params.window is not None:
            kept &= ~self._reaches(m, distance - params.window, columns)
        kept = delayed(m, kept, 1, reset_less=True)

        kind, stop, data = (
            delayed(m, field, STAGES, reset_less=True) for field in (x.kind, x.stop, x.data)
        )
        elements = [data.word_select(n, params.bits) for n in range(lanes)]
        masked = Cat(
            Mux(kept[n % columns], element, params.value) for n, element in enumerate(elements)
        )
        m.d.comb += [
            y.payload.kind.eq(kind),
            y.payload.stop.eq(stop),
            y.payload.data.eq(Mux(kind == VALUE, masked, data[: len(stop)])),
        ]

        low = x.data[: len(x.stop)]
        empty = (x.kind == BARE) & (low <= TILE_LEVELS)
        due = Mux(empty, VALUE, x.kind)
        wrong = [value & ((x.stop != 0) != last)]
        for port in ports:
            wrong.append(port.payload.kind != due)
            wrong.append((value | empty) & ends & (port.payload.stop + TILE_LEVELS != x.stop))
        m.d.sync += self.error.eq(there & (large | Cat(wrong).any()))
        return m

    def _place(self, m, step):
        """The number of the beat in its row, and whether it is the last."""
        params, stop = self.params, self.x.payload.stop
        if not params.dynamic:
            return counter(m, step, params.slices)
        at = Signal(range(params.slices))
        with m.If(step):
            m.d.sync += at.eq(Mux(stop != 0, 0, at + 1))
        return at, stop != 0

    def _signal(self, m, value):
        """A value as a signed signal."""
        signal = Signal(signed(len(value)))
        m.d.comb += signal.eq(value)
        return signal

    def _stage(self, m, value):
        """A signed value a cycle later."""
        return delayed(m, self._signal(m, value), 1, reset_less=True)

    def _reaches(self, m, distance, columns):
        """A bit for each column: whether its number is at most the distance, signed."""
        distance = self._signal(m, distance)
        return Cat(distance >= n for n in range(columns))
