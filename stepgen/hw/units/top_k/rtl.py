"""Chooses the largest elements of a row."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal

from stepgen.hw.arithmetic.circuits import order
from stepgen.hw.arithmetic.circuits.floating import nan
from stepgen.hw.arithmetic.operations import MANTISSA_BITS
from stepgen.hw.primitives import delayed
from stepgen.hw.unit import UnitCore
from stepgen.hw.units.top_k.params import STAGES
from stepgen.ir.wire import BARE, DONE, TILE_LEVELS, VALUE


class TopKCore(UnitCore):
    """Map of top_k and top_k_scores.

    One actor. The elements that are chosen so far are kept in the order of their columns, each with
    its rank among them. A new one that is above the lowest takes its place at the end, so neither
    columns nor values have to be sorted afterwards.

    Parameters
    ----------
    unit.params : TopK

    Notes
    -----
    An element per cycle, and a cycle for each beat of the result but the first. Latency 4. Cost:
    for each element that is chosen a comparator, and registers for it, its column and its rank. A
    row of another number of beats raises ``error``.
    Resources: ``benchmarks/RESULTS.md``, u1; clock: d.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, params = self.x, self.y, self.params
        lanes, columns = self.design.lanes, params.columns
        kind, stop = x.payload.kind, x.payload.stop
        column, sent = Signal(range(columns)), Signal(range(params.beats(lanes)))
        lane = column[: (lanes - 1).bit_length()]
        value, last, done, fire = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            value.eq(kind == VALUE),
            last.eq(~value | (column == columns - 1)),
            done.eq(~value | (last & (sent == params.beats(lanes) - 1))),
            fire.eq(x.valid & (y.ready | ~last)),
            x.ready.eq(fire & (done | (~last & (lane == lanes - 1)))),
            y.valid.eq(fire & last),
        ]
        with m.If(fire & value):
            m.d.sync += column.eq(Mux(last, Mux(done, 0, column), column + 1))
            m.d.sync += sent.eq(Mux(last & ~done, sent + 1, 0))
        m.d.sync += self.error.eq(x.ready & value & ((stop >= TILE_LEVELS) != last))

        bits = params.element.bits
        elements = Cat(x.payload.data.word_select(n, bits) for n in range(lanes))
        kept = self._kept(m, fire & value & (sent == 0), column, elements.word_select(lane, bits))
        m.d.comb += y.payload.kind.eq(delayed(m, kind, STAGES, reset_less=True))
        low = Mux(kind == BARE, x.payload.data[: len(stop)] - params.lowered, 0)
        stop = Mux(done & (kind != DONE), stop - params.lowered, 0)
        m.d.comb += y.payload.stop.eq(
            delayed(m, stop[: len(y.payload.stop)], STAGES, reset_less=True)
        )
        low = delayed(m, low[: len(y.payload.stop)], STAGES, reset_less=True)
        result = Signal(len(y.payload.data), reset_less=True)
        m.d.sync += result.eq(self._gathered(kept, delayed(m, sent, STAGES - 1, reset_less=True)))
        m.d.comb += y.payload.data.eq(Mux(y.payload.kind == VALUE, result, low))
        return m

    def _kept(self, m, takes, column, element):
        """By element that is chosen its key and its column, three cycles after the last one."""
        params, bits, count = self.params, self.params.element.bits, self.params.count
        element, at = (delayed(m, value, 1, reset_less=True) for value in (element, column))
        key = delayed(m, order.key(element, params.element), 1, reset_less=True)
        first = delayed(m, at == 0, 1, reset_less=True)
        at, takes = delayed(m, at, 1, reset_less=True), delayed(m, takes, 2)

        keys = [Signal(bits, name=f"key_{n}", reset_less=True) for n in range(count)]
        places = [Signal.like(column, name=f"place_{n}", reset_less=True) for n in range(count)]
        ranks = [Signal(range(count), name=f"rank_{n}", reset_less=True) for n in range(count)]
        filled = Signal(count, reset_less=True)
        below, rank = Signal(count), []
        for n in range(count):
            m.d.comb += below[n].eq(first | ~filled[n] | (key > keys[n]))
            rank.append(Mux(first, n, ranks[n]))
        leaves = Cat(r == 0 for r in rank)
        new = (key, at, (sum(below) - 1)[: len(ranks[0])], Const(1, 1))
        old = [
            (keys[n], places[n], (rank[n] - below[n])[: len(ranks[0])], filled[n] & ~first)
            for n in range(count)
        ]
        with m.If(takes & below.any()):
            for n, (one, behind) in enumerate(zip(old, [*old[1:], new], strict=True)):
                moves = leaves[: n + 1].any()
                for register, stays, comes in zip(
                    (keys[n], places[n], ranks[n], filled[n]), one, behind, strict=True
                ):
                    m.d.sync += register.eq(Mux(moves, comes, stays))
        return list(zip(keys, places, strict=True))

    def _gathered(self, kept, beat):
        """The data of a beat: a bit for each column, or the elements."""
        params, lanes = self.params, self.design.lanes
        if not params.scores:
            return Cat(Cat(place == n for _, place in kept).any() for n in range(params.columns))
        elements = [_element(key, params.element) for key, _ in kept]
        rows = [Cat(elements[n : n + lanes]) for n in range(0, len(elements), lanes)]
        chosen = rows[-1]
        for number, row in enumerate(rows[:-1]):
            chosen = Mux(beat == number, row, chosen)
        return chosen


def _element(key, element):
    """The bit pattern of a key."""
    if element not in MANTISSA_BITS:
        return Cat(key[:-1], ~key[-1])
    sign = ~key[-1]
    ordered = Cat(key[:-1] ^ sign.replicate(len(key) - 1), sign)
    return Mux(key.any(), ordered, nan(len(key)))
