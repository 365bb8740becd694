"""Linears of a loop that share one array of multipliers, in an order that is known beforehand.

In a layer most linears wait for another one, so units of their own stand still most of the time.
One unit that multiplies a row of few columns by a tile of a matrix serves them all: a Reassemble
brings it the rows of one linear after those of another, their tiles lie behind each other in
memory, and a Split gives each linear its products, which it adds up. What a linear reads comes,
through others, from the array itself, so it is fed back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import gcd
from typing import TYPE_CHECKING, Literal

import numpy as np

from stepgen.compile.regrouping import Tiles
from stepgen.frontend.products import by_tiles, divisor, rows_by_slices
from stepgen.frontend.rows import Rows
from stepgen.frontend.weight import Weight, joined
from stepgen.ir.dims import static
from stepgen.ir.dtypes import ElementType, Tile, address, f32
from stepgen.ir.feedback import Feedback
from stepgen.ir.fn import fn
from stepgen.ir.stream import Stream
from stepgen.ops.reassemble import reassemble

if TYPE_CHECKING:
    from stepgen.frontend.model import Op
    from stepgen.frontend.site import Lowering, Site

Sharing = Literal["own", "shared"]
"""Whether linears have a unit of products each, or those of a loop share one."""


@dataclass(frozen=True)
class Matrix:
    """The matrix of a linear, as an array reads it.

    Attributes
    ----------
    weight : Weight
        [layers, in, out].
    element : ElementType or None
        Of its numbers in memory; None for that of factors.
    scale : Weight or None
        [layers, groups, out], if each product of a group of rows is scaled.
    converts : bool
        Whether its numbers become factors as they pass.
    """

    weight: Weight
    element: ElementType | None = None
    scale: Weight | None = None
    converts: bool = False

    @property
    def rows(self) -> int | None:
        """Rows of a group."""
        return None if self.scale is None else self.weight.shape[-2] // self.scale.shape[-2]

    @property
    def form(self) -> object:
        """What those that share an array have in common."""
        return self.element, self.rows, self.converts


@dataclass
class Member:
    """A linear of an array.

    Attributes
    ----------
    site : Site
    matrix : Matrix
    count, parts : int
        Slices of columns, and tiles of each, which are added up.
    """

    site: Site
    matrix: Matrix
    count: int = 0
    parts: int = 0

    @property
    def tiles(self) -> int:
        """All of a layer."""
        return self.count * self.parts

    @property
    def operand(self) -> object:
        """What it reads: linears that read the same follow each other."""
        step = self.site.op.weights.get("step")
        numbers = step and self.site.lowering.model.weights[step].numbers().tobytes()
        return self.site.op.inputs[0], numbers


@dataclass
class Turn:
    """Linears that read the same rows, one behind the other.

    Attributes
    ----------
    members : list of Member
    rows : Feedback or None
        What they read, until it is made.
    """

    members: list[Member]
    rows: Feedback | None = None


@dataclass
class SharedArray:
    """One unit for the products of several linears of a loop.

    Attributes
    ----------
    turns : list of Turn
        In their order.
    cols, rows : int
        Of a tile of a matrix, which is transposed.
    products : dict of str to Stream
        By linear, once there is a unit.
    """

    turns: list[Turn]
    cols: int
    rows: int
    products: dict[str, Stream] = field(default_factory=dict)

    @classmethod
    def of(cls, members: Sequence[Member]) -> SharedArray:
        """The array of linears of one form, with the largest tiles that fit all."""
        lowering, rows = members[0].site.lowering, members[0].matrix.rows
        inner = reduce(gcd, (one.matrix.weight.shape[-2] for one in members))
        if rows is None:
            rows = inner if lowering.tile_rows is None else divisor(inner, lowering.tile_rows)
        outer = reduce(gcd, (one.matrix.weight.shape[-1] for one in members))
        cols = divisor(outer, lowering.tile_cols or lowering.columns)
        turns: dict[object, Turn] = {}
        for one in members:
            one.count = one.matrix.weight.shape[-1] // cols
            one.parts = one.matrix.weight.shape[-2] // rows
            turns.setdefault(one.operand, Turn([])).members.append(one)
        return cls([*turns.values()], cols, rows)

    @property
    def members(self) -> list[Member]:
        """All, in the order in which they take their turns."""
        return [one for turn in self.turns for one in turn.members]

    def product(self, at: Site, x: Rows) -> Rows:
        """The products of a linear, of rows of factors."""
        read = Rows(x.stream, x.slices, x.note).sliced(self.rows)
        if not self.products:
            self._build(at, read)
        turn = next(t for t in self.turns if any(one.site.op == at.op for one in t.members))
        if turn.rows is not None and turn.rows.source is None:
            turn.rows.connect(read.stream)
        one = next(one for one in turn.members if one.site.op == at.op)
        others = ", ".join(o.site.op.name.rpartition(".")[2] for o in self.members if o is not one)
        at.because(f"an array of {self.rows} x {self.cols} shared with {others}")
        return self._summed(one)

    def _summed(self, one: Member) -> Rows:
        """The sums of the products of each slice."""
        found = self.products[one.site.op.name]
        parts = one.parts // self._together
        if parts == 1:
            return Rows(found if one.count > 1 else found.flatten(0, 1), one.count)
        dims = [one.count, parts] if one.count > 1 else [parts]
        return Rows(Tiles(found, 1).in_dims(dims).stream.accum(fn.add(), rank=1), one.count)

    @property
    def _together(self) -> int:
        """Products that follow each other and are added up for all linears."""
        return reduce(gcd, (one.parts for one in self.members))

    def _build(self, at: Site, first: Rows) -> None:
        """The unit, when the first of its operands is there."""
        lowering, members = at.lowering, self.members
        assert lowering.layers is not None
        matrix = members[0].matrix
        tile = (self.cols, self.rows)
        loaded = at.of_layer("array", self._matrix(), tile, matrix.element)
        tiles = loaded.map(fn.convert(lowering.element)) if matrix.converts else loaded
        together = self._together
        tiles = _in_parts(tiles, together)
        x = _in_parts(self._operands(at, first), together)
        if together > 1 and matrix.scale is None:
            made = x.accum(fn.matmul(transpose=True), tiles, rank=1)
        else:
            made = x.map(fn.matmul(transpose=True), tiles)
        if matrix.scale is not None:
            scales = at.of_layer("array_scale", self._scales(), (1, self.cols), f32)
            if isinstance(made.dtype, Tile) and made.dtype.element != f32:
                made = made.map(fn.convert(f32))
            made = made.map(fn.mul(), _in_parts(scales, together))
            if together > 1:
                made = made.accum(fn.add(), rank=1)
        # With one dim above it, a part's end does not wait for that of others; a selector gives
        # the end of the dims above.
        flat = made.flatten(1, made.rank) if made.rank > 1 else made
        whole = lowering.layers.number.map(fn.scale(0)).map(fn.as_selector(consumers=1))
        parts = flat.split([one.tiles // together for one in members])
        for one, part in zip(members, parts, strict=True):
            self.products[one.site.op.name] = reassemble([part], whole, rank=1).flatten(1, 2)

    def _operands(self, at: Site, first: Rows) -> Stream:
        """The rows of all tiles of a layer, in the order of the tiles."""
        lowering = at.lowering
        assert lowering.layers is not None
        number, brought = lowering.layers.number, []
        for n, turn in enumerate(self.turns):
            x = first
            if n:
                parts = turn.members[0].parts
                shape = [*number.shape, *([static(parts)] if parts > 1 else [])]
                turn.rows = lowering.graph.feedback(
                    first.stream.dtype, shape, lowering.name(f"{turn.members[0].site.op.name}_rows")
                )
                x = Rows(turn.rows, parts)
            tiles = x.brought(self.rows, sum(one.count for one in turn.members))
            brought.append(tiles.flatten(0, tiles.rank))
        sizes = [sum(one.tiles for one in turn.members) for turn in self.turns]
        each = reduce(gcd, sizes)
        order = np.repeat(np.arange(len(sizes), dtype=np.int32), [size // each for size in sizes])
        turns = at.of_all("array_order", Weight.of(order[:, None]), (1, 1), address)
        if each > 1:
            turns = turns.promote(0).expand(count=each).flatten(0, 1)
        chosen = turns.map(fn.as_selector(consumers=len(sizes)))
        return reassemble(brought, chosen, rank=0).flatten(0, 1)

    def _matrix(self) -> Weight:
        return joined([by_tiles(o.matrix.weight, o.count, o.parts) for o in self.members], -2)

    def _scales(self) -> Weight:
        every = [(one.matrix.scale, one.count) for one in self.members]
        return joined([rows_by_slices(s, count) for s, count in every if s is not None], -2)


def arrays(lowering: Lowering, body: Sequence[Op]) -> Iterator[SharedArray]:
    """The arrays of the linears of a loop's body."""
    from stepgen.frontend.site import Site

    forms: dict[object, list[Member]] = {}
    for op in body:
        site = Site(lowering, op)
        weights = {role: lowering.model.weights[name] for role, name in op.weights.items()}
        found = op.kind.matrix(site, **weights)
        if found is not None and not any(site.shared(role) for role in op.weights):
            forms.setdefault(found.form, []).append(Member(site, found))
    return (SharedArray.of(members) for members in forms.values() if len(members) > 1)


def _in_parts(tiles: Stream, parts: int) -> Stream:
    """A dim of tiles as one of sums, and one of their parts."""
    if parts == 1:
        return tiles
    count = tiles.shape[-1].static
    assert count is not None
    return Tiles(tiles, 1).in_dims([count // parts, parts]).stream


def queued(lowering: Lowering, values: Sequence[Rows]) -> list[Rows]:
    """Values, and if they wait for each other behind an array, FIFOs that hold a row of each.

    Depths that are derived do not know what goes round through an array.
    """
    waits = lowering.layers is not None and lowering.arrays
    return [_queued(x) if waits and len(values) > 1 else x for x in values]


def _queued(x: Rows) -> Rows:
    tile = x.stream.dtype
    if not isinstance(tile, Tile) or tile.element == address:
        return x
    beats = (tile.rows.static or 1) * x.cols * x.slices  # of one lane, the narrowest
    return replace(x, stream=x.stream.fifo(max(2, beats)))
