"""One sum of products of bf16 of the matrix unit, as `stepgen.semantics.sums` has them."""

from amaranth.hdl import C, Cat, Module, Mux
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.arithmetic.circuits.floating import (
    DIGIT,
    Parts,
    digits,
    leading_zeros,
    rounded,
    shifted_left,
    sticky,
)
from stepgen.hw.arithmetic.circuits.stages import Stages
from stepgen.hw.arithmetic.operations import MANTISSA_BITS
from stepgen.hw.arithmetic.sums import (
    ALIGN,
    BIAS,
    EXPONENT_BITS,
    FRACTION,
    PRODUCT_FRACTION,
    STATE_BITS,
)
from stepgen.hw.design import stages
from stepgen.hw.primitives import BlockRam, Multiplier, delayed, stored_in
from stepgen.ir.dtypes import bf16, f32

__all__ = ["FloatSums", "Kept"]

DISTANCE_BITS = 5
"""Of the distance of a product: it is shifted out of its window before this overflows."""
NEAR_BITS = 3
"""Lower bits of it: a product, which is narrow at first, is shifted by these in a stage."""


class Kept(wiring.Component):
    """What is kept of sums: LUT RAM, which is read at once, or block RAM.

    Parameters
    ----------
    bits, rows : int
    deep : bool
        Whether it is block RAM, to which `r_addr` comes `AHEAD` cycles before `r_data`.

    Members
    -------
    w_en, w_addr, w_data, r_addr : ``In``
    r_data : ``Out``
    """

    AHEAD = stages.BLOCK_RAM

    def __init__(self, bits: int, rows: int, *, deep: bool):
        self.bits = bits
        self.rows = rows
        self.deep = deep
        address = range(rows)
        super().__init__(
            {
                "w_en": In(1),
                "w_addr": In(address),
                "w_data": In(bits),
                "r_addr": In(address),
                "r_data": Out(bits),
            }
        )

    def elaborate(self, platform):
        m = Module()
        if self.deep:
            m.submodules.rows = rows = BlockRam(self.bits, self.rows)
            m.d.comb += [
                rows.w_en.eq(self.w_en),
                rows.w_addr.eq(self.w_addr),
                rows.w_data.eq(self.w_data),
                rows.r_addr.eq(self.r_addr),
                self.r_data.eq(rows.r_data),
            ]
            return m
        m.submodules.rows = rows = memory.Memory(
            shape=self.bits, depth=self.rows, init=[], attrs=stored_in("distributed")
        )
        write, read = rows.write_port(), rows.read_port(domain="comb")
        m.d.comb += [
            write.en.eq(self.w_en),
            write.addr.eq(self.w_addr),
            write.data.eq(self.w_data),
            read.addr.eq(self.r_addr),
            self.r_data.eq(read.data),
        ]
        return m


class FloatSums(wiring.Component):
    """One lane of the results: a sum for each of its slices, in each step one takes L products.

    Parameters
    ----------
    summing : Summing
        Of bf16.
    lanes : int
        Products of a step.
    slices : int
        Sums.
    deep : bool
        Whether block RAM holds them: then a sum steps again after `SHALLOW` cycles at least, and
        `index` comes `ahead` cycles before the step.

    Members
    -------
    x, w : ``In``
        Bit patterns of the factors.
    step : ``In(1)``
        Add the products to the sum of number `index`. A sum steps again after `FEEDBACK` cycles.
    first : ``In(1)``
        The sum starts from `start`, or from zero.
    start : ``In(32)``
        An f32, for sums that start at given numbers.
    index : ``In``
    sum : ``Out(32)``
        The sum after the step `Summing.stages` cycles ago, as f32.

    Notes
    -----
    One step per cycle. The exponent runs ahead: the largest of a slice meets that of the sum before
    products are shifted, so each is shifted once, and the loop of the sum is two shifts and an
    adder.
    """

    def __init__(self, summing, lanes: int, slices: int, deep: bool = False):
        self.summing = summing
        self.lanes = lanes
        self.slices = slices
        self.deep = deep
        self.ahead = Kept.AHEAD if deep else 0
        super().__init__(
            {
                "x": In(data.ArrayLayout(bf16.bits, lanes)),
                "w": In(data.ArrayLayout(bf16.bits, lanes)),
                "step": In(1),
                "first": In(1),
                "index": In(range(slices)),
                **({"start": In(f32.bits)} if summing.starts else {}),
                "sum": Out(f32.bits),
            }
        )

    def elaborate(self, platform):
        m = Module()
        factors = [(Parts(a), Parts(b)) for a, b in zip(self.x, self.w, strict=True)]
        s = self._begun(m)
        self._meet(m, s, self._largest(s, factors))
        self._distances(s)
        aside = self._aside(m, s)
        self._products(m, s, factors)
        self._add(m, s, aside)
        m.d.comb += self.sum.eq(self._rounded(m, s))
        if s.count != self.stages:
            raise AssertionError(f"a sum takes {s.count} stages, not as declared")
        return m

    @property
    def stages(self):
        """Cycles from the factors to the sum."""
        return self.summing.stages(self.lanes)

    def _begun(self, m):
        self._index = delayed(m, self.index, self.ahead, reset_less=True)
        return Stages(m, first=self.first, index=self._index, **self._starting(self._total))

    def _starting(self, part):
        """What `part` keeps of a sum before its first product, by name, if not zero."""
        return {"start": part()} if self.summing.starts else {}

    def _total(self):
        start = Parts(self.start)
        magnitude = Cat(C(0, FRACTION + 1 - len(start.whole)), start.whole)
        number = Mux(start.sign, -magnitude, magnitude)
        return Mux(start.zero | start.special, 0, number)

    def _state(self):
        start = Parts(self.start)
        reach = Mux(start.zero | start.special, 0, start.exponent + BIAS)[:EXPONENT_BITS]
        up, down = (start.special & (start.nan | sign) for sign in (~start.sign, start.sign))
        return Cat(reach, up, down)

    def _largest(self, s, factors):
        """The largest exponent of the products, and those and infinities of each."""
        s.then(
            sign=Cat(a.sign ^ b.sign for a, b in factors),
            nothing=Cat(a.zero | b.zero for a, b in factors),
            special=Cat(a.special | b.special for a, b in factors),
            nan=Cat(a.nan | b.nan for a, b in factors),
            **_named("reach", [(a.exponent + b.exponent)[:EXPONENT_BITS] for a, b in factors]),
        )
        nan = s.nan | (s.special & s.nothing)
        # Of infinities and NaN the exponent is of no account: the result does not show the sum.
        pairs = zip(s.nothing, _all(s, "reach", self.lanes), strict=True)
        s.then(
            up=(nan | (s.special & ~s.sign)).any(),
            down=(nan | (s.special & s.sign)).any(),
            **_named("sign", s.sign),
            **_named("reach", [Mux(nothing, 0, reach) for nothing, reach in pairs]),
        )

        largest = _all(s, "reach", self.lanes)
        while len(largest) > 1:
            pairs = zip(largest[0::2], largest[1::2], strict=False)
            level = [Mux(a > b, a, b) for a, b in pairs] + largest[len(largest) // 2 * 2 :]
            s.then(**_named("largest", level))
            largest = _all(s, "largest", len(level))
        return largest[0]

    def _meet(self, m, s, largest):
        """The exponent and infinities of the sum with these products."""
        read = Stages(m, first=self.first, index=self._index, **self._starting(self._state))
        read.wait(s.count - 1)
        before, write = self._memory(m, "states", STATE_BITS, read, s.count - 1)
        read.then(state=before)
        reach = read.state[:EXPONENT_BITS]
        s.then(
            before=reach,
            exponent=Mux(largest > reach, largest, reach),
            up=s.up | read.state[-2],
            down=s.down | read.state[-1],
        )
        self._write(m, s, write, Cat(s.exponent, s.up, s.down))

    def _behind(self, s):
        """How far the sum so far is shifted, by name."""
        far = (self.summing.bits - 1).bit_length()
        behind = _up_to(s.exponent - s.before, far)
        return {"behind_near": behind[: far // 2], "behind_far": behind[far // 2 :]}

    def _distances(self, s):
        """How far all is shifted to the exponent."""
        distances = [_up_to(s.exponent - x, DISTANCE_BITS) for x in _all(s, "reach", self.lanes)]
        s.then(
            **self._behind(s),
            **_named("near", [x[:NEAR_BITS] for x in distances]),
            **_named("far", [x[NEAR_BITS:] for x in distances]),
        )

    def _products(self, m, s, factors):
        """Products in units of the sum, and the ones that negative products still lack."""
        products = []
        for k, (a, b) in enumerate(factors):
            m.submodules[f"multiply_{k}"] = multiplier = Multiplier(
                len(a.whole), len(b.whole), a_signed=False, b_signed=False
            )
            m.d.comb += [multiplier.a.eq(a.whole), multiplier.b.eq(b.whole)]
            later = s.count - stages.MULTIPLIER
            product = delayed(m, multiplier.product, later, reset_less=True)
            products.append(Cat(C(0, FRACTION - PRODUCT_FRACTION), product))
        near = _all(s, "near", self.lanes)
        moved = [shifted(x, by) for x, by in zip(products, near, strict=True)]
        s.then(**_named("product", moved))
        products, far = _all(s, "product", self.lanes), _all(s, "far", self.lanes)
        signs = _all(s, "sign", self.lanes)
        moved = [shifted(x, by, NEAR_BITS) for x, by in zip(products, far, strict=True)]
        moved = [x ^ sign.replicate(len(x)) for x, sign in zip(moved, signs, strict=True)]
        s.then(**_named("product", moved))
        signs = _all(s, "sign", self.lanes)
        products = _all(s, "product", self.lanes)
        terms = [Cat(x, sign).as_signed() for x, sign in zip(products, signs, strict=True)]
        while len(terms) > 1:
            pairs = zip(terms[0::2], terms[1::2], signs[1::2], strict=False)
            level = [added(a, b, carry) for a, b, carry in pairs]
            odd = len(terms) // 2 * 2
            s.then(**_named("term", level + terms[odd:]), **_named("lacks", signs[0::2]))
            terms = _all(s, "term", len(level) + len(terms) - odd)
            signs = _all(s, "lacks", len(terms))
        s.let(term=terms[0], lacks=signs[0])

    def _aside(self, m, s):
        """What goes to the loop of the sum while products are shifted."""
        return Stages(
            m,
            first=s.first,
            index=s.index,
            near=s.behind_near,
            far=s.behind_far,
            **self._starting(lambda: s.start),
        )

    def _add(self, m, s, feedback):
        """The sum so far, shifted in two stages, and the products."""
        feedback.wait(s.count - ALIGN - self.summing.aligned(self.lanes))
        before, write = self._memory(m, "sums", self.summing.bits, feedback, s.count - ALIGN)
        feedback.then(sum=shifted(before.as_signed(), feedback.near))
        feedback.then(sum=shifted(feedback.sum, feedback.far, len(feedback.near)))
        s.then(sum=added(feedback.sum, s.term, s.lacks)[: self.summing.bits].as_signed())
        self._write(m, s, write, s.sum)

    def _rounded(self, m, s):
        """The sum as f32."""
        negative = s.sum[-1]
        magnitude = ((s.sum ^ negative.replicate(len(s.sum))) + negative)[: len(s.sum) - 1]
        s.then(
            magnitude=magnitude,
            infinite=s.up | s.down,
            nan=s.up & s.down,
            sign=Mux(s.up | s.down, s.down, negative),
        )
        width = len(s.magnitude)
        s.then(some=digits(s.magnitude))
        s.then(digits=leading_zeros(m, s.some))
        by = Cat(C(0, 2), s.digits)
        s.then(magnitude=shifted_left(s.magnitude, by, range(len(by) - 1, 1, -1)))
        rest = leading_zeros(m, s.magnitude[-DIGIT:])
        s.then(
            top=sticky(shifted_left(s.magnitude, rest, (1, 0)), MANTISSA_BITS[f32]),
            exponent=(s.exponent + (width - FRACTION - BIAS)).as_signed(),
            carry=Cat(~rest, ~s.digits, C(1, 1)).as_signed(),  # one less the zeros
        )
        s.let(none=~s.top[-1])
        value, _ = rounded(s, MANTISSA_BITS[f32])
        return value

    def _memory(self, m, name, bits, s, stage):
        """What is kept of the sum whose turn it is in a stage, or its start; and the write port."""
        m.submodules[name] = kept = Kept(bits, self.slices, deep=self.deep)
        address = delayed(m, self.index, stage, reset_less=True) if self.deep else s.index
        m.d.comb += kept.r_addr.eq(address)
        start = s.start if self.summing.starts else 0
        return Mux(s.first, start, kept.r_data)[:bits], kept

    def _write(self, m, s, kept, value):
        step = delayed(m, self.step, s.count)
        m.d.comb += [kept.w_en.eq(step), kept.w_addr.eq(s.index), kept.w_data.eq(value)]


def _named(name, values):
    return {f"{name}_{k}": value for k, value in enumerate(values)}


def _all(s, name, count):
    return [getattr(s, f"{name}_{k}") for k in range(count)]


def _up_to(value, bits):
    """An unsigned value, at most the largest of `bits` bits."""
    value = value.as_unsigned()[:EXPONENT_BITS]
    return Mux(value[bits:].any(), 2**bits - 1, value[:bits])


def shifted(value, distance, first=0):
    """`value` shifted right by a distance times ``2**first``; signed ones keep their sign."""
    signed = value.shape().signed
    for place, bit in enumerate(distance, first):
        moved = value >> (1 << place)
        filling = value[-1] if signed else C(0, 1)
        moved = Cat(moved, filling.replicate(len(value) - len(moved)))
        value = Mux(bit, moved.as_signed() if signed else moved, value)
    return value


def added(a, b, carry):
    """``a + b + carry`` of signed numbers, in one adder."""
    return (Cat(C(1, 1), a).as_signed() + Cat(carry, b).as_signed())[1:].as_signed()
