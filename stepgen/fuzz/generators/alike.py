"""Steps of products with matrices of one shape, whose loads may share loaders."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import stepgen as sg
from stepgen.fuzz.generators.drawing import columns_of, tile_of
from stepgen.hw.arithmetic.sums import MULTIPLIED
from stepgen.ir.affine import last_tile
from stepgen.ir.dtypes import INTEGERS, ElementType, int4
from stepgen.ir.stream import Stream

if TYPE_CHECKING:
    from stepgen.fuzz.generators.full import Drawn

LARGEST = 48
"""Beats of a matrix, at most, so that runs stay short."""
WIDEST = 4
"""Beats of a bus word, at most: there are as many loaders."""


@dataclass(frozen=True)
class Reads:
    """What loads of one shape have in common.

    Attributes
    ----------
    tile : tuple of int
        Rows and columns of a matrix.
    stored : ElementType
        Of its numbers in memory.
    transposed : bool
    shape, stride : tuple of int
        Of a pass.
    across : int
        Matrices side by side in the tensor.
    packed : bool
        Whether a pass is read for a whole group, not for each element.
    """

    tile: tuple[int, int]
    stored: ElementType
    transposed: bool
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    across: int
    packed: bool

    def beats(self, program: Drawn) -> int:
        """Beats of a bus word."""
        word = program.bus.data_bits * self.stored.packed // (8 * self.stored.bytes)
        return max(1, word // program.lanes)

    def tensor(self, program: Drawn, offset: int) -> sg.Tensor:
        """A tensor for passes that begin at a matrix up to `offset`."""
        down = last_tile(self.shape, self.stride, offset) // self.across + 1
        size = self.tile[0] * down, self.tile[1] * self.across
        return program.graph.tensor(f"m{len(program.graph.tensors)}", size, self.stored)

    def product(self, program: Drawn, x: Stream, tensor: sg.Tensor, offset: int) -> Stream:
        """Each tile times the matrices of its own pass, beside each other."""
        wide = program.whole(x) if self.packed else x
        count, ref = math.prod(self.shape), wide
        loaded = sg.linear_offchip_load(
            tensor, tile=self.tile, shape=self.shape, stride=self.stride, offset=offset, ref=ref
        )
        if len(self.shape) > 1:
            loaded = loaded.flatten(0, len(self.shape) - 1)
        matmul = sg.fn.matmul(transpose=self.transposed)
        y = wide.promote(0).expand(count=count).map(matmul, loaded)
        if tile_of(x).element in INTEGERS:
            y = y.map(sg.fn.requantize(shift=2))
        y = y.accum(sg.fn.retile_col(), rank=1)
        return program.cut(y) if self.packed else y


def drawn(program: Drawn, x: Stream, how: str) -> Reads:
    """Reads of matrices that a stream is multiplied by; of square ones where this goes on.

    Raises
    ------
    StepError
        If loads of no such matrices could share a loader.
    """
    element, k = tile_of(x).element, columns_of(x)
    stored = program.pick(element, int4) if element is sg.int8 else element
    lanes, word = program.lanes, program.bus.data_bits * stored.packed // (8 * stored.bytes)
    packed, square = tile_of(x).rows == 1, how == "chain"
    if square and packed:
        raise sg.StepError("rows one by one go to another unit")
    fits = [
        n
        for n in ((k,) if square else range(1, LARGEST * lanes // k + 1))
        if k * n % word == 0 and k * n <= LARGEST * lanes and not (n % lanes and k % lanes)
    ]
    if word % lanes or word > WIDEST * lanes or not fits:
        raise sg.StepError("no matrix is whole words of whole beats")
    n = fits[min(program.number(0, 2), len(fits) - 1)]
    transposed = bool(n % lanes) or (k % lanes == 0 and program.number(0, 1) == 1)
    shape = program.pick((1,), (2,), (3,), (1, 2), (2, 1), (2, 2))
    return Reads(
        tile=(n, k) if transposed else (k, n),
        stored=stored,
        transposed=transposed,
        shape=(1,) if square else shape,
        stride=(1,) if square else tuple(program.number(0, 3) for _ in shape),
        across=program.number(1, 2),
        packed=packed or (how == "all" and program.number(0, 1) == 1),
    )


def experts(program: Drawn, x: Stream, name: str) -> Stream:
    """Tiles to one of several matrices of a shape, to all of them, or to one after the other."""
    if tile_of(x).element not in MULTIPLIED:
        x = x.map(sg.fn.convert(sg.int8))
    how = program.pick("routed", "routed", "all", "chain")
    reads = drawn(program, x, how)
    count = reads.beats(program) + program.number(1, 4)
    # Each begins at a matrix of its own; at times all are in one tensor.
    offsets = [program.number(0, 2) for _ in range(count)]
    one = reads.tensor(program, max(offsets)) if program.number(0, 3) == 0 else None

    def product(part: Stream, n: int) -> Stream:
        tensor = one or reads.tensor(program, offsets[n])
        return reads.product(program, part, tensor, offsets[n])

    if how == "chain":
        for n in range(count):
            x = product(x, n)
        return x
    if how == "all":
        first, *others = [product(part, n) for n, part in enumerate(x.fork(count))]
        for n, other in enumerate(others):
            program.graph.output(other, f"{name}_{n}")
        return first
    sel = program.beside(name, sg.Selector(count), x)
    parts = [product(part, n) for n, part in enumerate(sg.partition(x, sel, rank=0))]
    return sg.reassemble(parts, sel, rank=0, order=program.pick("index", "arrival"))
