"""Linear with a weight of narrow integers, which scales make real numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from stepgen.compile.regrouping import Tiles
from stepgen.frontend.integers import Numbers
from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.kinds.linear import Linear
from stepgen.frontend.products import by_tiles, product, rows_by_slices
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.sharing import Matrix
from stepgen.frontend.site import Site
from stepgen.frontend.steps import (
    as_sums,
    both,
    both_weights,
    counted,
    in_steps,
    made_real,
    scaled_sums,
)
from stepgen.frontend.weight import Array, Weight, computed
from stepgen.ir.dtypes import ElementType, f32, int4, int8, int32
from stepgen.ir.fn import fn
from stepgen.ir.stream import Stream
from stepgen.semantics.numbers import round_to


@dataclass(frozen=True)
class ScaledLinear(Kind):
    """``x @ (scale * weight) + bias``: weight [in, out] of int8, scale [groups, out], bias [out].

    A scale is for a column and for in / groups rows of the weight. Rows are real numbers: what is
    narrow is what lies in memory. With a step [1] rows become int8, the nearest number of steps,
    and products are sums of int32, each rounded to f32 once, and again when it is scaled. Where a
    scale is for a whole column, a bias is rounded to what sums count, and is one of them.

    Parameters
    ----------
    bits : {8, 4}
        Of a number of the weight in the memory of a program.
    """

    bits: int = 8

    needs = ("weight", "scale")
    takes = ("bias", "step")
    scaling = ("scale", "step")

    def result(self, given: Operands) -> Value:
        """A row of the outputs for each row."""
        if self.bits not in (8, 4):
            given.fail(f"its weight has 8 or 4 bits, not {self.bits}")
        given.element("int8", "weight")
        rows, cols = given.dims("weight", 2)
        if given.numbers(2).width != rows:
            given.fail(f"it takes rows of {rows}, not {given.x}")
        groups, _ = given.dims("scale", 2)
        given.expect("scale", groups, cols)
        given.expect("bias", cols)
        given.expect("step", 1)
        if rows % groups:
            given.fail(f"its weight has {rows} rows, which can't be {groups} groups of one size")
        if self.bits == 4 and rows // groups % 2:
            given.fail(f"numbers of 4 bits need groups of an even size, not of {rows // groups}")
        return given.x.with_width(cols)

    def compute(  # type: ignore[override]
        self,
        at: OpRun,
        x: Array,
        weight: Array,
        scale: Array,
        bias: Array | None = None,
        step: Array | None = None,
    ) -> Array:
        """All rows."""
        if step is not None:
            return self._in_steps(at, x, weight, scale, bias, step)
        scales = np.repeat(scale, len(weight) // len(scale), axis=0)
        return np.asarray(x @ (weight * scales) + (0.0 if bias is None else bias))

    def _in_steps(
        self, at: OpRun, x: Array, weight: Array, scale: Array, bias: Array | None, step: Array
    ) -> Array:
        """As circuits compute it, group after group."""
        rows, scales = counted(at, x, step).array, both(scale, step)
        if len(scales) == 1:
            whole = None if bias is None else as_sums(bias, scales[0])
            return scaled_sums(rows, weight, scales[0], whole).array.astype(np.float64)
        high = len(weight) // len(scale)
        parts = [slice(n, n + high) for n in range(0, len(weight), high)]
        made = [
            scaled_sums(rows[:, part], weight[part], one)
            for part, one in zip(parts, scales, strict=True)
        ]
        total = reduce(lambda a, b: a.map(fn.add(), b), made)
        if bias is not None:
            total = total.map(fn.add(), Numbers(round_to(bias, "f32")))
        return total.array.astype(np.float64)

    def lower(  # type: ignore[override]
        self,
        at: Site,
        x: Rows,
        weight: Weight,
        scale: Weight,
        bias: Weight | None = None,
        step: Weight | None = None,
    ) -> Rows:
        """By tiles of a group of rows: each product is rounded once, scaled, and added up."""
        groups = scale.shape[-2]
        high = weight.shape[-2] // groups
        at.because(f"weights of int{self.bits}, a scale for {high} rows of each column")
        if step is not None:
            at.because("rows in steps of int8, and sums of int32")
            scale = both_weights(at, scale, step)
            x = in_steps(at, "step", x, step)
        if step is not None and groups == 1:
            return self._by_columns(at, x, weight, scale, bias)
        made = self._by_groups(at, x, weight, scale, real=step is None)
        if bias is None:
            return made
        return made.map(fn.add(), at.load("bias", bias, (1, made.cols), f32).stream)

    def _by_columns(
        self, at: Site, x: Rows, weight: Weight, scale: Weight, bias: Weight | None
    ) -> Rows:
        """Sums of int32 are those of whole columns, however tiles are."""
        if self.bits == 4 and weight.shape[-1] % 2:
            x = x.whole()  # tiles of some rows and all columns have no bytes of two numbers
        made = product(at, "weight", weight, x, self._element)
        sums, row = made.stream, (1, made.cols)
        if bias is not None:
            whole = computed(lambda b, s: as_sums(b, s[..., 0, :]), bias.shape, bias, scale)
            sums = sums.map(fn.add(), at.load("bias", whole, row, int32).stream)
        return replace(made, stream=made_real(sums, at.load("scale", scale, row, f32).stream))

    def _by_groups(self, at: Site, x: Rows, weight: Weight, scale: Weight, *, real: bool) -> Rows:
        """By tiles of a group of rows and a slice of columns, whose products are scaled."""
        array = at.lowering.arrays.get(at.op.name)
        if array is not None:
            return array.product(at, at.factors(x) if real else x)
        (inner, outer), groups = weight.shape[-2:], scale.shape[-2]
        high, cols = inner // groups, at.cut(outer) if x.slices == 1 else outer
        count = outer // cols
        stored = at.load("weight", by_tiles(weight, count, groups), (cols, high), self._element)
        factors = stored.stream.map(fn.convert(at.lowering.element)) if real else stored.stream
        scales = at.load("scale", rows_by_slices(scale, count), (1, cols), f32).stream
        read = (at.factors(x) if real else x).brought(high, count)
        if groups > 1:
            factors, scales = (_in_groups(tiles, count, groups) for tiles in (factors, scales))
        made = read.map(fn.matmul(transpose=True), factors)
        made = made.map(fn.mul(), scales) if real else made_real(made, scales)
        if groups > 1:
            made = made.accum(fn.add(), rank=1)
        return Rows(made, count)

    def matrix(  # type: ignore[override]
        self,
        at: Site,
        weight: Weight,
        scale: Weight,
        bias: Weight | None = None,
        step: Weight | None = None,
    ) -> Matrix | None:
        """Integers; scales are those of products, or of a column's sum."""
        if step is not None and scale.shape[-2] == 1:
            return Matrix(weight, self._element)
        scale = scale if step is None else both_weights(at, scale, step)
        return Matrix(weight, self._element, scale, converts=step is None)

    @property
    def _element(self) -> ElementType:
        return int4 if self.bits == 4 else int8

    def bytes_of(self, role: str, element: str) -> float:
        """Half a byte for a number of 4 bits."""
        return self.bits / 8 if role == "weight" else super().bytes_of(role, element)

    def flops(self, given: Operands, cached: int) -> int:
        """As of a linear, and 2 for each scale."""
        groups, cols = given.weights["scale"]
        return Linear().flops(given, cached) + 2 * groups * cols


def _in_groups(tiles: Stream, count: int, groups: int) -> Stream:
    """Tiles in a dim of slices, if there are several, and one of groups."""
    return Tiles(tiles, 1).in_dims([count, groups] if count > 1 else [groups]).stream
