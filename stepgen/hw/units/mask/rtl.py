"""Puts a constant in place of elements outside of a range of columns."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed

from ....ir.wire import BARE, TILE_LEVELS, VALUE, number_limit
from ...primitives import counter, delayed
from ...unit import UnitCore
from .params import STAGES


class MaskCore(UnitCore):
    """Map of mask_cols and mask_causal.

    One actor. Numbers stay at the heads of their FIFOs for a tile. In a pipeline follow from them
    and from the row the columns that are kept, then the lanes of the beat.

    Parameters
    ----------
    unit.params : Mask

    Notes
    -----
    One beat per cycle. Latency 3; two adders as wide as numbers, and a comparator for each lane.
    Operands of different structure raise ``error``; so do positions that are too large, which stay
    where they are.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, params = self.x.payload, self.y, self.params
        told = self.inputs[1:]
        bits = self.channels[params.inputs[1]].bits
        numbers = [port.payload.data[:bits] for port in told]
        value, ends, large, there, fire = (
            Signal(name=name) for name in ("value", "ends", "large", "there", "fire")
        )
        m.d.comb += [
            value.eq(x.kind == VALUE),
            ends.eq(~value | (x.stop >= TILE_LEVELS)),
            there.eq(Cat(*(port.valid for port in self.inputs), y.ready).all()),
            fire.eq(there & ~large),
            self.x.ready.eq(fire),
            *(port.ready.eq(fire & ends) for port in told),
            y.valid.eq(fire),
        ]
        if params.positions:
            most = number_limit(bits)
            m.d.comb += large.eq(
                Cat(
                    (port.payload.kind == VALUE) & (number == most)
                    for port, number in zip(told, numbers, strict=True)
                ).any()
            )
        at, last = counter(m, fire & value, params.slices)
        row = Signal(bits)
        if params.positions:
            with m.If(fire):
                m.d.sync += row.eq(Mux(ends, 0, row + (x.stop != 0)))

        # The last column that is kept, counted from the row's first; then from the beat's first.
        lanes = self.design.lanes
        apart = numbers[0] - (numbers[1] if params.positions else 1)
        apart = delayed(m, self._signal(m, apart, bits + 1), 1, reset_less=True)
        newest = apart + delayed(m, row, 1, reset_less=True) if params.positions else apart
        newest = delayed(m, self._signal(m, newest, len(newest)), 1, reset_less=True)
        first = delayed(m, at * lanes, 2, reset_less=True)
        kept = self._lanes_up_to(m, newest - first)
        if params.window is not None:
            kept &= ~self._lanes_up_to(m, newest - first - params.window)
        kept = delayed(m, kept, 1, reset_less=True)

        kind, stop, data = (
            delayed(m, field, STAGES, reset_less=True) for field in (x.kind, x.stop, x.data)
        )
        elements = [data.word_select(n, params.bits) for n in range(lanes)]
        masked = Cat(
            Mux(keep, element, params.value) for keep, element in zip(kept, elements, strict=True)
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
        for port in told:
            wrong.append(port.payload.kind != due)
            wrong.append((value | empty) & ends & (port.payload.stop + TILE_LEVELS != x.stop))
        m.d.sync += self.error.eq(there & (large | Cat(wrong).any()))
        return m

    def _signal(self, m, value, width):
        """A signed value as a signal of so many bits."""
        column = Signal(signed(width))
        m.d.comb += column.eq(value)
        return column

    def _lanes_up_to(self, m, column):
        """A bit for each lane: whether its number is at most that of a column, signed."""
        column = self._signal(m, column, len(column))
        return Cat(column >= n for n in range(self.design.lanes))
