"""Steps of products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import stepgen as sg

from ...ir.dtypes import wide
from ...ir.stream import Stream
from .drawing import tile_of

if TYPE_CHECKING:
    from .plain import Program


def of_chunks(program: Program, x: Stream, name: str) -> Stream:
    """Products of the tiles of chunks, summed up, which are sent at the end or each time."""
    element = program.pick(sg.int8, tile_of(x).element)
    matmul, w = program.weights(x, name, element)
    rank = program.number(1, max(1, x.rank))
    if program.number(0, 1):
        return x.scan(matmul, w, rank=rank, init=program.pick(None, 1))
    program.sized(x, rank)
    return x.accum(matmul, w, rank=rank, init=program.pick(None, 1))


def of_row(program: Program, x: Stream, name: str) -> Stream:
    """Products of a row for each tile of `x`, which is an output."""
    tile = sg.Tile(1, program.columns(), program.pick(sg.int8, sg.int8, sg.int16, sg.bf16))
    row = program.beside(f"{name}_row", tile, x)
    matmul, w = program.weights(row, name, tile.element)
    program.graph.output(x, f"{name}_tile")
    if program.number(0, 1) or tile.element == sg.bf16:
        return row.map(matmul, w)
    rank = program.number(1, max(1, x.rank))
    return row.accum(matmul, w, rank=rank, init=program.pick(None, 5))


def from_rows(program: Program, x: Stream, name: str) -> Stream:
    """Products whose sums start at a row for each tile."""
    element, n = tile_of(x).element, program.columns()
    matmul, w = program.weights(x, name, element, n)
    fn = sg.fn.matmul_add(transpose=matmul.parameters()["transpose"])
    start = program.beside(f"{name}_start", sg.Tile(1, n, wide(element)), x)
    return x.map(fn, w, start)
