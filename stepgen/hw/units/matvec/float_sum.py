"""One sum of products of bf16 that steps in every cycle, bit for bit as those of `FloatSums`."""

from amaranth.hdl import Cat, Mux, Signal, signed

from stepgen.hw.arithmetic.circuits.stages import Stages
from stepgen.hw.arithmetic.circuits.sums import FloatSums, added, shifted
from stepgen.hw.arithmetic.sums import EXPONENT_BITS, UNIT_BITS
from stepgen.hw.primitives import delayed

__all__ = ["FloatSum"]

UNIT = 1 << UNIT_BITS
"""Places by which a sum moves."""
SIGN, NOTHING = 2, 3
"""What is left of a sum that does not move by one unit or none."""


class FloatSum(FloatSums):
    """A sum for one element of the result, in each step one takes L products.

    A step shifts what was summed up before by the distance of two exponents. That takes longer than
    a cycle, so here the sum stays in units of which exponents have only the upper bits: it moves by
    multiples of `UNIT` places, for which there are few ways, and products are moved up to
    it instead, before they get to it. As floors of floors of a sum are its floor, the bits are
    those of a sum that is shifted each time.

    Parameters
    ----------
    summing : Summing
        Of bf16, whose sums start at zero.
    lanes : int
        Products of a step.

    Members
    -------
    x, w : ``In``
        Bit patterns of the factors.
    step : ``In(1)``
        Add the products to the sum.
    first : ``In(1)``
        The sum starts from zero.
    index : ``In``
        Not used.
    sum : ``Out(32)``
        The sum after the step `stages` cycles ago, as f32.

    Notes
    -----
    One step per cycle.
    """

    def __init__(self, summing, lanes: int):
        super().__init__(summing, lanes, 1)

    @property
    def stages(self):
        """Cycles from the factors to the sum."""
        return self.summing.stages_at_once(self.lanes)

    def _begun(self, m):
        return Stages(m, first=self.first)

    def _meet(self, m, s, largest):
        state = Signal(EXPONENT_BITS + 2, reset_less=True)
        reach = state[:EXPONENT_BITS]
        exponent = Mux(s.first | (largest > reach), largest, reach)
        flags = Cat(s.up, s.down) | Mux(s.first, 0, state[EXPONENT_BITS:])
        with m.If(delayed(m, self.step, s.count)):
            m.d.sync += state.eq(Cat(exponent, flags))
        s.then(before=reach, exponent=exponent, up=flags[0], down=flags[1])

    @property
    def _width(self):
        """Bits of the sum, in units of the exponent's upper bits: less than three units."""
        return self.summing.bits + UNIT - 1

    def _behind(self, s):
        units = (s.exponent[UNIT_BITS:] - s.before[UNIT_BITS:]).as_unsigned()
        units = units[: EXPONENT_BITS - UNIT_BITS]
        far = units[1:].any()
        return {
            "move": Mux(s.first, NOTHING, Mux(far, SIGN, units[0])),
            "twice": (units == 2) & ~s.first,
        }

    def _aside(self, m, s):
        return None

    def _moved(self, s, total):
        """What was summed up before, in the units of the new exponent."""
        sign, bits = total[-1], []
        for n, bit in enumerate(total):
            once = total[n + UNIT] if n + UNIT < len(total) else sign
            moved = Mux(s.move[1], sign & ~s.move[0], Mux(s.move[0], once, bit))
            if n + 2 * UNIT < len(total):
                moved = Mux(s.twice, total[n + 2 * UNIT], moved)
            bits.append(moved)
        return Cat(bits).as_signed()

    def _add(self, m, s, aside):
        """Products in the sum's units, the sum that moves by them, and its own units again."""
        # What negative products lack is 1 in their last place: all ones below, and 1 in the adder.
        moved = Cat(s.lacks.replicate(UNIT - 1), s.term).as_signed()
        s.then(term=shifted(moved, ~s.exponent[:UNIT_BITS]), lacks=s.lacks)
        total = Signal(signed(self._width), reset_less=True)
        following = added(self._moved(s, total), s.term, s.lacks)
        with m.If(delayed(m, self.step, s.count)):
            m.d.sync += total.eq(following)
        s.wait(1)
        s.then(sum=shifted(total, s.exponent[:UNIT_BITS])[: self.summing.bits].as_signed())
