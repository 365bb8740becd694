"""Scales int32 sums to int8."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed

from ....ir.wire import VALUE
from ...primitives import Multiplier, delayed
from ...unit import UnitCore
from .params import IN_BITS, OUT_BITS, PORT_BITS


class RequantizeCore(UnitCore):
    """Map(requantize): ``saturate(round(x * multiplier / 2**shift))``, ties to even.

    Parameters
    ----------
    unit.params : Requantize

    Notes
    -----
    One beat per cycle, no state. Latency 2 where the multiplier is a power of two; else 6,
    or 7 where an input needs more bits than a hardware multiplier takes.
    Resources and clock: ``benchmarks/RESULTS.md``, d.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, plan = self.x, self.y, self.params.plan
        fire = Signal()
        m.d.comb += [fire.eq(x.valid & y.ready), x.ready.eq(fire), y.valid.eq(fire)]

        lanes = [
            self._round(m, self._scale(m, word.as_signed(), plan, lane), plan.shift)
            for lane, word in enumerate(_words(x.payload.data, IN_BITS, self.design.lanes))
        ]
        low = x.payload.data[: len(x.payload.stop)]
        kind, stop, low = (
            delayed(m, value, plan.stages, reset_less=True)
            for value in (x.payload.kind, x.payload.stop, low)
        )
        m.d.comb += [
            y.payload.kind.eq(kind),
            y.payload.stop.eq(stop),
            y.payload.data.eq(Mux(kind == VALUE, Cat(lanes), low)),
        ]
        return m

    def _scale(self, m, value, plan, lane):
        """`value` times the plan's factor; a value too large for any result is clamped first."""
        if not plan.multipliers:
            return (value << (plan.factor.bit_length() - 1)).as_signed()
        clamped = Signal(signed(plan.clamp_bits), reset_less=True)
        m.d.sync += clamped.eq(_saturated(value, plan.clamp_bits))
        factor_bits = plan.factor.bit_length() + 1
        parts = []
        # The upper part is signed, the lower one unsigned.
        low_bits = 0 if plan.multipliers == 1 else PORT_BITS - 1
        for name, part in (("high", clamped[low_bits:]), ("low", clamped[:low_bits])):
            if len(part) == 0:
                continue
            part = part.as_signed() if name == "high" else Cat(part, 0).as_signed()
            multiply = Multiplier(len(part), factor_bits)
            m.submodules[f"multiply_{name}_{lane}"] = multiply
            m.d.comb += [multiply.a.eq(part), multiply.b.eq(plan.factor)]
            parts.append(multiply.product)
        if len(parts) == 1:
            return parts[0]
        whole = Signal(signed(plan.clamp_bits + factor_bits), reset_less=True)
        m.d.sync += whole.eq((parts[0] << low_bits) + parts[1])
        return whole

    def _round(self, m, value, shift):
        """`value` over ``2**shift``, rounded and saturated, two cycles later."""
        bits = OUT_BITS
        whole = (value >> shift).as_signed()
        up = Signal(reset_less=True)
        kept = Signal(signed(bits), reset_less=True)
        limited = Signal(reset_less=True)
        if shift:
            half, rest = value[shift - 1], value[: shift - 1]
            m.d.sync += up.eq(half & (rest.any() | whole[0]))
        m.d.sync += [
            kept.eq(_saturated(whole, bits)),
            limited.eq(_exceeds(whole, bits)),
        ]
        rounded = Signal(signed(bits), reset_less=True)
        most = kept == 2 ** (bits - 1) - 1
        m.d.sync += rounded.eq(kept + (up & ~limited & ~most))
        return rounded


def _words(value, bits, count):
    return [value.word_select(index, bits) for index in range(count)]


def _exceeds(value, bits):
    """Whether a signed value needs more than `bits`."""
    above = value[bits - 1 :]
    return above.any() & ~above.all()


def _saturated(value, bits):
    """A signed value in `bits`."""
    if len(value) <= bits:
        return value
    sign = value[-1]
    limit = Cat((~sign).replicate(bits - 1), sign)
    return Mux(_exceeds(value, bits), limit, value[:bits]).as_signed()
