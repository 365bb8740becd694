"""Linears as products of tiles: those of whole rows, of slices, and of tiles that a user chose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stepgen.compile.regrouping import Tiles
from stepgen.frontend.rows import Rows
from stepgen.frontend.weight import Array, Weight
from stepgen.ir.dtypes import ElementType
from stepgen.ir.fn import fn

if TYPE_CHECKING:
    from stepgen.frontend.site import Site


def product(
    at: Site, role: str, matrix: Weight, x: Rows, element: ElementType | None = None
) -> Rows:
    """Rows times a matrix [in, out], by tiles of it.

    Whole rows make slices of columns, and slices add up to whole rows, so that linears which follow
    each other need no converter. Where tiles have a part of both its rows and its columns, all
    slices of the rows come anew for each slice of the result.

    Parameters
    ----------
    at : Site
    role : str
    matrix : Weight
    x : Rows
        Of the given element type; by default they become factors.
    element : ElementType, optional
        Of the matrix, by default that of factors.
    """
    array = at.lowering.arrays.get(at.op.name)
    if array is not None:
        return array.product(at, at.factors(x, element))
    inner, outer = matrix.shape[-2:]
    rows, cols = at.lowering.tile_rows, at.lowering.tile_cols
    if rows is None and cols is None:
        rows, cols = (None, None) if x.slices == 1 else (x.cols, outer)
    high = inner if rows is None else divisor(inner, rows)
    wide = at.cut(outer) if cols is None else divisor(outer, cols)
    if high == inner:
        made = at.columns(role, matrix, x, wide, element)
        if made.slices > 1:
            at.because(f"a whole row to {made}")
        return made
    if wide < outer:
        return _both(at, role, matrix, x, (high, wide), element)
    loaded = at.load(role, matrix, (high, outer), element)
    read = at.factors(x, element).sliced(high)
    at.because(f"{read} to a whole row")
    return Rows(read.stream.accum(fn.matmul(), loaded.stream, rank=1))


def _both(
    at: Site,
    role: str,
    matrix: Weight,
    x: Rows,
    tile: tuple[int, int],
    element: ElementType | None,
) -> Rows:
    """By tiles of some rows and some columns: each slice of the result is a sum over the rows."""
    (*_, inner, outer), (high, wide) = matrix.shape, tile
    parts, count = inner // high, outer // wide
    loaded = at.load(role, by_tiles(matrix, count, parts), (wide, high), element)
    tiles = Tiles(loaded.stream, 1).in_dims([count, parts]).stream
    read = at.factors(x, element).brought(high, count)
    made = read.accum(fn.matmul(transpose=True), tiles, rank=1)
    at.because(f"a sum of {parts} products for each of {count} slices of {wide} columns")
    return Rows(made, count)


def by_tiles(matrix: Weight, count: int, parts: int) -> Weight:
    """[in, out] as tiles [columns, rows] of each part of the rows of each slice of columns."""
    *lead, inner, outer = matrix.shape

    def packed(array: Array) -> Array:
        tiles = array.reshape(*lead, parts, inner // parts, count, outer // count)
        # To slices, parts, columns, rows.
        return np.moveaxis(tiles, (-2, -4, -1, -3), (-4, -3, -2, -1)).reshape(shape)

    shape = (*lead, count * parts * (outer // count), inner // parts)
    return matrix.moved(shape, packed)


def rows_by_slices(scale: Weight, count: int) -> Weight:
    """[groups, out] as rows of each group of each slice of columns."""
    *lead, groups, outer = scale.shape

    def packed(array: Array) -> Array:
        rows = array.reshape(*lead, groups, count, outer // count)
        return np.swapaxes(rows, -2, -3).reshape(shape)

    shape = (*lead, count * groups, outer // count)
    return scale.moved(shape, packed)


def divisor(extent: int, most: int) -> int:
    """The largest divisor of an extent that is at most a number."""
    return next(n for n in range(min(extent, most), 0, -1) if extent % n == 0)
