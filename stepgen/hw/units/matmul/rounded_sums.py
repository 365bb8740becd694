"""One sum of products of f32 of the matrix unit, each of whose sums is rounded."""

from amaranth.hdl import Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.arithmetic.circuits.lane import Lane
from stepgen.hw.arithmetic.circuits.sums import Kept
from stepgen.hw.arithmetic.sums import PAIR, PRODUCT
from stepgen.hw.primitives import delayed

__all__ = ["RoundedSums"]


class RoundedSums(wiring.Component):
    """One lane of the results: in each step L products, added by a tree, join one of its sums.

    Parameters
    ----------
    summing : Summing
        Of f32.
    lanes : int
        Products of a step.
    slices : int
        Sums.
    deep : bool
        As for `FloatSums`.

    Members
    -------
    x, w : ``In``
        Bit patterns of the factors.
    step : ``In(1)``
        Add the products to the sum of number `index`. A sum steps again after
        ``summing.turn(1)`` cycles, when the adder has rounded it.
    first : ``In(1)``
        The sum starts from `start`, or from zero.
    start : ``In(32)``
        For sums that start at given numbers.
    index : ``In``
    sum : ``Out(32)``
        The sum after the step `Summing.stages` cycles ago.

    Notes
    -----
    One step per cycle. L multipliers and L adders of f32.
    """

    def __init__(self, summing, lanes: int, slices: int, deep: bool = False):
        self.summing = summing
        self.lanes = lanes
        self.slices = slices
        self.deep = deep
        self.ahead = Kept.AHEAD if deep else 0
        bits = summing.element.bits
        super().__init__(
            {
                "x": In(data.ArrayLayout(bits, lanes)),
                "w": In(data.ArrayLayout(bits, lanes)),
                "step": In(1),
                "first": In(1),
                "index": In(range(slices)),
                **({"start": In(bits)} if summing.starts else {}),
                "sum": Out(bits),
            }
        )

    def elaborate(self, platform):
        m = Module()
        factors = zip(self.x, self.w, strict=True)
        terms = [self._lane(m, f"multiply_{k}", PRODUCT, *two) for k, two in enumerate(factors)]
        late = PRODUCT.stages
        while len(terms) > 1:
            pairs = zip(terms[0::2], terms[1::2], strict=True)
            name = f"add_{len(terms)}"
            terms = [self._lane(m, f"{name}_{k}", PAIR, *two) for k, two in enumerate(pairs)]
            late += PAIR.stages
        (term,) = terms

        m.submodules.sums = sums = Kept(len(self.sum), self.slices, deep=self.deep)
        m.d.comb += sums.r_addr.eq(delayed(m, self.index, late, reset_less=True))
        first = delayed(m, self.first, late, reset_less=True)
        start = delayed(m, self.start, late, reset_less=True) if self.summing.starts else 0
        before = delayed(m, Mux(first, start, sums.r_data), 1, reset_less=True)
        term = delayed(m, term, 1, reset_less=True)
        total = self._lane(m, "accumulate", PAIR, before, term)
        stages = late + 1 + PAIR.stages
        if stages != self.summing.stages(self.lanes):
            raise AssertionError(f"a sum takes {stages} stages, not as declared")
        m.d.comb += [
            self.sum.eq(total),
            sums.w_en.eq(delayed(m, self.step, stages)),
            sums.w_addr.eq(delayed(m, self.index, self.ahead + stages, reset_less=True)),
            sums.w_data.eq(total),
        ]
        return m

    def _lane(self, m, name, pipeline, a, b):
        """The result of a pipeline for two numbers."""
        m.submodules[name] = lane = Lane(pipeline)
        for port, value in zip(lane.operands, (a, b), strict=True):
            m.d.comb += port.eq(value)
        return lane.y
