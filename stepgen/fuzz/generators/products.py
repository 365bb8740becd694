"""Steps of products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import stepgen as sg
from stepgen.fuzz.generators.drawing import columns_of, tile_of
from stepgen.hw.arithmetic.operations import PLACES
from stepgen.ir.dtypes import FLOATS, wide
from stepgen.ir.stream import Stream

if TYPE_CHECKING:
    from stepgen.fuzz.generators.plain import PlainProgram


def of_chunks(program: PlainProgram, x: Stream, name: str) -> Stream:
    """Products of the tiles of chunks, summed up, which are sent at the end or each time."""
    element = program.pick(sg.int8, tile_of(x).element)
    matmul, w = program.weights(x, name, element)
    rank = program.number(1, max(1, x.rank))
    if program.number(0, 1):
        return x.scan(matmul, w, rank=rank, init=program.pick(None, 1))
    program.sized(x, rank)
    return x.accum(matmul, w, rank=rank, init=program.pick(None, 1))


def of_row(program: PlainProgram, x: Stream, name: str) -> Stream:
    """Products of a row for each tile of `x`, which is an output."""
    tile = sg.Tile(1, program.columns(), program.pick(sg.int8, sg.int8, sg.int16, sg.bf16))
    row = program.beside(f"{name}_row", tile, x)
    matmul, w = program.weights(row, name, tile.element)
    program.graph.output(x, f"{name}_tile")
    if program.number(0, 1) or tile.element == sg.bf16:
        return row.map(matmul, w)
    rank = program.number(1, max(1, x.rank))
    return row.accum(matmul, w, rank=rank, init=program.pick(None, 5))


def of_any_size(program: PlainProgram, x: Stream, name: str) -> Stream:
    """Products of tiles of dynamic extents: scores less their largest, and sums of what they weigh.

    They go beside `x`, which is an output.
    """
    element = program.pick(sg.int8, sg.int16, sg.bf16)
    rows, columns = program.number(1, 3), program.columns()
    count = program.some(ragged=program.number(0, 2) == 0)
    queries = program.beside(f"{name}_queries", sg.Tile(rows, columns, element), x)
    transpose = bool(program.number(0, 1))
    tile = sg.Tile(count, columns, element) if transpose else sg.Tile(columns, count, element)
    keys = program.beside(f"{name}_keys", tile, x)
    program.graph.output(x, f"{name}_tile")
    most = None if count.bound else program.bound
    if program.overflows and program.number(0, 3) == 0:
        most = program.number(1, 2)
    scores = queries.map(sg.fn.matmul(transpose=transpose, most=most), keys)
    if count.bound is None:
        return scores.accum(sg.fn.count(), rank=1).map(sg.fn.convert(sg.int32))
    scores = scores.map(sg.fn.sub(), scores.map(sg.fn.row_max()))
    if count.is_ragged:
        return scores.map(sg.fn.row_sum())
    transpose, n = bool(program.number(0, 1)), program.columns()
    weights = scores.map(sg.fn.convert(element))
    tile = sg.Tile(n, count, element) if transpose else sg.Tile(count, n, element)
    values = program.beside(f"{name}_values", tile, x)
    product, rank = sg.fn.matmul(transpose=transpose), program.number(1, max(1, x.rank))
    how = program.number(0, 2) if x.rank else 0
    if how == 0:
        return weights.map(product, values)
    if how == 1:
        return weights.scan(product, values, rank=rank, init=program.pick(None, 1))
    return weights.accum(product, values, rank=rank, init=program.pick(None, 1))


def from_rows(program: PlainProgram, x: Stream, name: str) -> Stream:
    """Products whose sums start at a row for each tile."""
    element, n = tile_of(x).element, program.columns()
    matmul, w = program.weights(x, name, element, n)
    fn = sg.fn.matmul_add(transpose=matmul.parameters()["transpose"])
    start = program.beside(f"{name}_start", sg.Tile(1, n, wide(element)), x)
    return x.map(fn, w, start)


def in_places(program: PlainProgram, x: Stream, name: str) -> Stream:
    """Products of floats as integers with places, a bias among the sums, and floats of these.

    Places are few, as in a model, or any that there are.
    """
    if tile_of(x).element not in FLOATS:
        x = x.map(sg.fn.convert(program.pick(*FLOATS), places=_places(program)))
    narrow = x.map(sg.fn.convert(program.pick(sg.int8, sg.int8, sg.int16), places=_places(program)))
    matmul, w = program.weights(narrow, name, tile_of(narrow).element)
    sums = narrow.map(matmul, w)
    if program.number(0, 1):
        bias = sg.Tile(1, columns_of(sums), tile_of(sums).element)
        sums = sums.map(sg.fn.add(), program.beside(f"{name}_bias", bias, x))
    return sums.map(sg.fn.convert(program.pick(*FLOATS), places=_places(program)))


def _places(program: PlainProgram) -> int:
    few = program.number(0, 3) > 0
    return program.number(-3, 12) if few else program.number(-PLACES, PLACES)
