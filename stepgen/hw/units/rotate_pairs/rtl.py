"""Turns each pair of columns by a right angle."""

from amaranth.hdl import Cat, Module, Mux, Signal

from stepgen.hw.arithmetic.circuits.floating import Parts
from stepgen.hw.arithmetic.operations import MANTISSA_BITS
from stepgen.hw.lookahead import Lookahead
from stepgen.hw.primitives import counter, delayed
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import VALUE


class RotatePairsCore(UnitCore):
    """Map of rotate_pairs.

    With even lanes both elements of a pair lie in one beat, and lanes change places. With odd lanes
    a beat waits in a holding register for the first element of the next one, and the last element
    of the one before is kept.

    Parameters
    ----------
    unit.params : RotatePairs

    Notes
    -----
    One beat per cycle. Latency 1, and 1 more if pairs straddle beats. Cost: the register, and for
    every other lane a negation, which of floats is that of the sign. A row of another number of
    beats raises ``error``.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, params, lanes = self.x, self.y, self.params, self.design.lanes
        bits = params.element.bits
        arrives = Signal()
        _, last = counter(m, arrives, params.slices)
        m.d.comb += arrives.eq(x.valid & x.ready & (x.payload.kind == VALUE))
        m.d.sync += self.error.eq(arrives & ((x.payload.stop != 0) != last))

        def elements(payload):
            return [payload.data.word_select(n, bits) for n in range(lanes)]

        if params.straddles:
            m.submodules.ahead = ahead = Lookahead(self.channels["x"])
            m.d.comb += [
                ahead.i.valid.eq(x.valid),
                ahead.i.payload.eq(x.payload),
                x.ready.eq(ahead.i.ready),
                ahead.wait.eq((ahead.held.kind == VALUE) & (ahead.held.stop == 0)),
                y.valid.eq(ahead.o.valid),
                ahead.o.ready.eq(y.ready),
            ]
            payload, own = ahead.held, elements(ahead.held)
            odd, before = Signal(), Signal(bits, reset_less=True)
            leaves = ahead.o.valid & y.ready & (payload.kind == VALUE)
            with m.If(leaves):
                m.d.sync += [odd.eq(~odd & (payload.stop == 0)), before.eq(own[-1])]
            around = [before, *own, x.payload.data[:bits]]
            made = [
                Mux(odd ^ (n % 2 == 1), around[n], self._negated(around[n + 2]))
                for n in range(lanes)
            ]
        else:
            payload, own = x.payload, elements(x.payload)
            m.d.comb += [x.ready.eq(y.ready), y.valid.eq(x.valid)]
            own = own[: lanes - lanes % 2]  # an odd lane is behind the end of all rows
            pairs = zip(own[0::2], own[1::2], strict=True)
            made = [one for first, second in pairs for one in (self._negated(second), first)]

        low = payload.data[: len(payload.stop)]
        data = Mux(payload.kind == VALUE, Cat(made), low)
        for given, late in ((payload.kind, y.payload.kind), (payload.stop, y.payload.stop)):
            m.d.comb += late.eq(delayed(m, given, 1, reset_less=True))
        m.d.comb += y.payload.data.eq(delayed(m, data, 1, reset_less=True))
        return m

    def _negated(self, pattern):
        """Minus a number; integers wrap around, and there is one NaN."""
        if self.params.element not in MANTISSA_BITS:
            return (-pattern)[: len(pattern)]
        return Cat(pattern[:-1], pattern[-1] ^ ~Parts(pattern).nan)
