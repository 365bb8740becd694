"""RoPE: pairs of columns turned by an angle that grows with the position."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array, Weight, computed
from stepgen.ir.dtypes import ElementType, f32
from stepgen.ir.fn import fn
from stepgen.ir.stream import Stream
from stepgen.ops.concat import concat


@dataclass(frozen=True)
class Rope(Kind):
    """Heads [T, heads, width] turned by ``positions * frequencies``, times a factor.

    Its inputs are the heads and the positions; the weight ``frequencies`` has half the width.

    Parameters
    ----------
    pairs : {"halves", "neighbours"}
        Column j is turned with column j + width/2, or column 2j with 2j + 1.
    factor : float
        Of the results, as some models with a longer context have.
    """

    pairs: Literal["halves", "neighbours"]
    factor: float = 1.0

    arity = 2
    needs = ("frequencies",)

    def result(self, given: Operands) -> Value:
        """Heads like the input."""
        width = given.numbers(3).width
        if width % 2:
            given.fail(f"it turns pairs of columns, not {width} of them")
        given.expect("frequencies", width // 2)
        positions = given.values[1]
        if positions.element != "int32":
            given.fail(f"its positions are int32[T], not {positions}")
        return given.x

    def bounds(self, given: Operands, positions: int) -> dict[int, tuple[int, str]]:
        """Cosines and sines of a program are a table."""
        return {1: (positions, "its table")}

    def compute(  # type: ignore[override]
        self, at: OpRun, x: Array, positions: Array, frequencies: Array
    ) -> Array:
        """All heads."""
        angle = (positions[:, None] * frequencies)[:, None]
        cos, sin = np.cos(angle) * self.factor, np.sin(angle) * self.factor
        if self.pairs == "halves":
            a, b = np.split(x, 2, -1)
            return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)
        a, b = x[..., ::2], x[..., 1::2]
        return np.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(x.shape)

    def lower(  # type: ignore[override]
        self, at: Site, x: Rows, positions: Rows, frequencies: Weight
    ) -> Rows:
        """Cosines and sines by position, which all heads share."""
        if self.pairs == "neighbours":
            at.because("pairs are neighbours: a lane and the next")
        cos, sin = self.turns(at, positions, frequencies, f32)
        across = self.across(x)
        return x.each(fn.mul(), cos).map(fn.add(), across.each(fn.mul(), sin).stream)

    def table(self, positions: Array, frequencies: Array) -> Array:
        """Rows of cosines and then of sines, which for halves have their signs."""
        angles = positions[:, None] * frequencies[..., None, :]
        cos, sin = np.cos(angles) * self.factor, np.sin(angles) * self.factor
        if self.pairs == "neighbours":
            return np.concatenate([np.repeat(one, 2, axis=-1) for one in (cos, sin)], -1)
        return np.concatenate([cos, cos, -sin, sin], -1)

    def turns(
        self, at: Site, positions: Rows, frequencies: Weight, element: ElementType
    ) -> list[Stream]:
        """Cosines and sines of a table in memory, read once for all that turn alike."""
        rows, width = at.lowering.positions, 2 * frequencies.shape[-1]

        def loaded() -> list[Stream]:
            shape = (*frequencies.shape[:-1], rows, 2 * width)
            weight = computed(partial(self.table, np.arange(rows)), shape, frequencies)
            found = at.look_up("frequencies", weight, positions, element).sliced(width).stream
            return [one.flatten(0, 1) for one in found.split([1, 1])]

        return at.once(("rope", at.op.weights["frequencies"], at.op.inputs[1], self), loaded)

    def across(self, x: Rows) -> Rows:
        """Each column's partner; of neighbours the second has its sign."""
        return x.map(fn.rotate_pairs()) if self.pairs == "neighbours" else _exchanged(x)

    def flops(self, given: Operands, cached: int) -> int:
        """3 for each number: cosines and sines are tables."""
        _, heads, width = given.x.shape
        return 3 * int(heads) * int(width)


def _exchanged(x: Rows) -> Rows:
    """Tiles with their halves in the other order."""
    halves = x.stream.flat_map(fn.cut_cols(x.cols // 2), rank=1)
    swapped = concat(halves.split([1, 1])[::-1])
    return replace(x, stream=swapped.accum(fn.retile_col(), rank=1))
