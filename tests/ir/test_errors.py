"""One program per mistake, with the expected message."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

import stepgen as sg

fn = sg.fn


def _g() -> sg.Graph:
    return sg.Graph("demo")


def _x(
    g: sg.Graph, *shape: int | str | sg.Dim, tile: sg.Tile | None = None, name: str = "x"
) -> sg.Stream:
    return g.input(name, tile or sg.int8[1, 8], shape)


def _sel(g: sg.Graph, n: int, *shape: int | str) -> sg.Stream:
    return g.input("sel", sg.Selector(n), shape)


def _at(g: sg.Graph, *shape: int) -> sg.Stream:
    return g.input("at", sg.address[1, 1], shape)


def _t(g: sg.Graph, element: sg.ElementType = sg.int8) -> sg.Tensor:
    return g.tensor("t", (64, 256), element)


def _two(
    use: Callable[[sg.Stream, sg.Stream], object],
    a: tuple[int | str | sg.Dim, ...],
    b: tuple[int | str | sg.Dim, ...],
    tile_a: sg.Tile = sg.int8[1, 8],
    tile_b: sg.Tile = sg.int8[1, 8],
) -> object:
    g = _g()
    return use(_x(g, *a, tile=tile_a), _x(g, *b, tile=tile_b, name="y"))


def _unpadded() -> object:
    g = _g()
    route = _sel(g, 2, 10)
    parts = sg.partition(_x(g, 10), route, rank=0)
    padded = [p.reshape(chunk=4)[0].flatten(0, 1) for p in parts]
    return sg.reassemble(padded, route, rank=0)


K = sg.ragged("K")
ADDRESS = sg.address[1, 1]
FLAG = sg.bool_[1, 1]
LOAD = {"tile": (64, 64), "shape": (1, 4), "stride": (4, 1)}

MISTAKES: list[tuple[Callable[[], object], str]] = [
    # tuples
    (
        lambda: _x(_g(), 4).unzip(),
        "unzip: x.0 must be a stream of tuples, not Stream[int8 1x8; 4]",
    ),
    (lambda: sg.TupleType(()), "a tuple: it needs at least 1 item"),
    (
        lambda: _x(_g(), 4, 3).accum(fn.retile_row(), rank=1, init=2),
        "accum: retile_row() joins tiles and starts with none: it takes no init",
    ),
    (
        lambda: (lambda x: x.zip(x).flat_map(fn.retile_streamify("row"), rank=0))(_x(_g(), 4)),
        "flat_map: it makes streams of tiles or selectors, not of Stream[(int8 1x8, int8 1x8); 4]: "
        "take one from unzip",
    ),
    (
        lambda: (lambda x: x.graph.add("output", [x.zip(x)], {}))(_x(_g(), 4)),
        "output: each item of zip_0.0, Stream[(int8 1x8, int8 1x8); 4], needs an output of its "
        "own: unzip it",
    ),
    (
        lambda: _g().add("source", [], {"dtype": sg.TupleType((sg.FLAG,)), "shape": (4,)}),
        "source: each item of (bool 1x1) needs an input of its own: zip these",
    ),
    # shapes that differ
    (
        lambda: _two(lambda x, y: x.zip(y), (4, 3), (4, 5)),
        "zip: x.0 has shape [4, 3] and y.0 has shape [4, 5], which differ in dim D0, 3 against 5",
    ),
    (
        lambda: _two(lambda x, y: x.map(fn.add(), y), (4, 3), (3,)),
        "map: x.0 has shape [4, 3] and y.0 has shape [3], which differ in rank, 1 against 0",
    ),
    (
        lambda: _two(lambda x, y: x.accum(fn.matmul(), y, rank=1), ("E", 3), ("F", 3)),
        "accum: x.0 has shape [E, 3] and y.0 has shape [F, 3], which differ in dim D1, E against F",
    ),
    (
        lambda: _two(lambda x, y: x.promote(0).expand(y), (4,), (5, 6)),
        "expand: promote_0.0 above its dims of 1 has shape [4] and y.0 above rank 1 has shape [5], "
        "which differ in dim D1, 4 against 5",
    ),
    (
        lambda: (lambda g: sg.partition(_x(g, 32, 1), _sel(g, 8, 64), rank=1))(_g()),
        "partition: x.0 above rank 1 has shape [32] and sel.0 has shape [64], which differ in dim "
        "D1, 32 against 64",
    ),
    (
        _unpadded,
        "reassemble: flatten_0.0 has shape [4*ceil(E0/4)] and sel.0 of shape [10] selects it E0 "
        "times, which differ in dim D0, 4*ceil(E0/4) against E0",
    ),
    (
        lambda: _two(lambda x, y: sg.eager_merge([x, y], rank=1), ("A", 3), ("B", 4)),
        "eager_merge: x.0 is Stream[int8 1x8; A, 3] with shape [A, 3] and y.0 is "
        "Stream[int8 1x8; B, 4] with shape [B, 4], which differ in dim D0, 3 against 4",
    ),
    (
        lambda: _two(lambda x, y: x.bufferize(rank=1).streamify(y), (4, 3), (5, 3)),
        "streamify: bufferize_0.0 has shape [4] and y.0 of shape [5, 3] in its outer dims has "
        "shape [5], which differ in dim D0, 4 against 5",
    ),
    (
        lambda: _two(
            lambda x, y: x.flat_map(fn.retile_streamify(), rank=0, padding=y),
            (4,),
            (4, 5),
            sg.int8[3, 8],
            sg.FLAG,
        ),
        "flat_map: x.0 cut into pieces has shape [4, 3] and y.0 has shape [4, 5], which differ in "
        "dim D0, 3 against 5",
    ),
    # ranks
    (
        lambda: _x(_g(), 4, 3).accum(fn.add(), rank=2),
        "accum: rank must be an integer within 1..1, not 2, since x.0 is Stream[int8 1x8; 4, 3] of "
        "rank 1",
    ),
    (
        lambda: _x(_g(), 4, 3).flatten(0, 2),
        "flatten: hi must be an integer within 0..1, not 2, since x.0 is Stream[int8 1x8; 4, 3] of "
        "rank 1",
    ),
    (lambda: _x(_g(), 4, 3).flatten(1, 0), "flatten: lo must not exceed hi, 1 against 0"),
    (
        lambda: _two(lambda x, y: sg.eager_merge([x, y], rank=0), (4,), (4, 3)),
        "eager_merge: chunks have rank 0, so y.0 must have rank 0, not Stream[int8 1x8; 4, 3]",
    ),
    (
        lambda: _x(_g(), 4).promote(3),
        "promote: level must be an integer within 0..1, not 3",
    ),
    # tiles
    (
        lambda: _two(
            lambda x, y: x.map(fn.matmul(), y), (4,), (4,), sg.int8[1, 64], sg.int8[32, 16]
        ),
        "map: matmul(transpose=False) can't multiply the tiles int8 1x64 and int8 32x16, whose "
        "inner dims differ, 64 against 32",
    ),
    (
        lambda: _two(lambda x, y: x.map(fn.add(), y), (4,), (4,), sg.int8[4, 8], sg.int8[3, 8]),
        "map: add() can't join the tiles int8 4x8 and int8 3x8, whose rows differ, 4 against 3",
    ),
    (
        lambda: _x(_g(), 4, K, tile=sg.Tile(K, 8, sg.int8)).accum(fn.retile_col(), rank=1),
        "accum: retile_col() can't join tiles whose rows differ, int8 Kx8",
    ),
    (
        lambda: _x(_g(), 4, tile=sg.f32[2, 8]).map(fn.row_broadcast(4)),
        "map: row_broadcast(cols=4) needs tiles of 1 column, not f32 2x8",
    ),
    # element types
    (
        lambda: _two(lambda x, y: x.map(fn.matmul(), y), (4,), (4,), sg.int8[1, 8], sg.bf16[8, 8]),
        "map: matmul(transpose=False) needs tiles of one element type, not int8 1x8 and bf16 8x8: "
        "sg.fn.convert makes one of the other",
    ),
    (
        lambda: _x(_g(), 4).map(fn.exp()),
        "map: exp() works on bf16, f32, not on int8 1x8",
    ),
    (
        lambda: _x(_g(), 4).map(fn.scale(0.5)),
        "map: scale(c=0.5) needs a whole number of -2147483648 to 2147483647 for int32, not 0.5",
    ),
    (lambda: sg.int4[1, 8], "a tile: int4 is for tensors alone, loads make int8 of it"),
    (
        lambda: _g().tensor("t", (2, 3), sg.int4),
        "tensor t: rows of 3 columns of int4 end within a byte",
    ),
    (
        lambda: (
            lambda g: sg.linear_offchip_load(
                g.tensor("t", (2, 6), "int4"), tile=(2, 3), shape=(1,), stride=(1,)
            )
        )(_g()),
        "linear_offchip_load: rows of a tile of 3 columns of tensor t end within a byte, which "
        "holds 2 elements of int4",
    ),
    (
        lambda: (lambda g: sg.linear_offchip_store(_x(g, 4), _t(g, sg.int4)))(_g()),
        "linear_offchip_store: tensor t of int4 can only be loaded, not written",
    ),
    (
        lambda: (lambda g: sg.linear_offchip_store(_x(g, 4), _t(g, sg.int32)))(_g()),
        "linear_offchip_store: x.0 is Stream[int8 1x8; 4], but tensor t is made of int32",
    ),
    (
        lambda: _two(
            lambda x, y: sg.eager_merge([x, y], rank=0), (4,), (4,), sg.int8[1, 8], sg.f32[1, 8]
        ),
        "eager_merge: x.0 is Stream[int8 1x8; 4] and y.0 is Stream[f32 1x8; 4], which differ in "
        "element type",
    ),
    # data types
    (
        lambda: _two(lambda x, y: sg.partition(x, y, rank=0), (4,), (4,)),
        "partition: y.0 must be a stream of selectors, not Stream[int8 1x8; 4]",
    ),
    (
        lambda: _sel(_g(), 2, 4).map(fn.square()),
        "map: functions work on tiles, but sel.0 is Stream[selector 2; 4]",
    ),
    (
        lambda: _sel(_g(), 2, 4, 2).bufferize(rank=1),
        "bufferize: sel.0 must be a stream of tiles, not Stream[selector 2; 4, 2]",
    ),
    (
        lambda: _x(_g(), 4).streamify(),
        "streamify: x.0 must be a stream of buffers, not Stream[int8 1x8; 4]",
    ),
    (
        lambda: (lambda g: _x(g, 4).random_offchip_load(_t(g), tile=(1, 8)))(_g()),
        "random_offchip_load: x.0 must be a stream of address 1x1, not Stream[int8 1x8; 4]",
    ),
    (
        lambda: (lambda g: sg.random_offchip_store(_at(g, 4), _x(g, 4), _t(g), tile=(2, 8)))(_g()),
        "random_offchip_store: x.0 is Stream[int8 1x8; 4], but tiles of tensor t are int8 2x8",
    ),
    (
        lambda: _sel(_g(), 2, 10).reshape(chunk=4),
        "reshape: sel.0 is Stream[selector 2; 10], but only tiles can be padded",
    ),
    (
        lambda: _two(
            lambda x, y: x.flat_map(fn.retile_streamify(), rank=0, padding=y), (4,), (4, 1)
        ),
        "flat_map: padding must be a stream of flags (bool 1x1), but y.0 is Stream[int8 1x8; 4, 1]",
    ),
    (
        lambda: (lambda x: x.map(fn.requantize_by(), x, x))(_x(_g(), 4, tile=sg.int32[2, 8])),
        "map: requantize_by(to=int8) needs tiles of int32, int32 and int8, not int32 2x8, int32 "
        "2x8 and int32 2x8",
    ),
    (
        lambda: (
            lambda g: _x(g, 4, tile=sg.int32[2, 8]).map(
                fn.requantize_by(),
                g.input("by", sg.int32[1, 4], (4,)),
                g.input("shift", sg.int8[1, 8], (4,)),
            )
        )(_g()),
        "map: requantize_by(to=int8) can't scale int32 2x8 by int32 1x4: it needs its "
        "extents, or 1",
    ),
    (
        lambda: _x(_g(), 4, tile=sg.int8[2, 8]).map(fn.top_k(2)),
        "map: top_k(k=2) needs tiles of 1 row of static length, not int8 2x8",
    ),
    (
        lambda: _x(_g(), 4).map(fn.top_k_scores(9)),
        "map: top_k_scores(k=9) can't choose 9 of the 8 elements of int8 1x8",
    ),
    (
        lambda: _x(_g(), 4, tile=sg.bool_[2, 8]).map(fn.as_selector()),
        "map: as_selector(otherwise=False) needs flags in 1 row of static length, at least 1, not "
        "bool 2x8",
    ),
    (
        lambda: _x(_g(), 4).map(fn.as_selector()),
        "map: as_selector(otherwise=False) works on bool, address, not on int8 1x8",
    ),
    (
        lambda: _x(_g(), 4).map(fn.as_flags()),
        "map: as_flags() needs selectors, not Stream[int8 1x8; 4]",
    ),
    (
        lambda: _x(_g(), 4, tile=sg.Selector(3)).map(fn.square()),
        "map: functions work on tiles, but x.0 is Stream[selector 3; 4]",
    ),
    (
        lambda: _x(_g(), 4, tile=sg.int8[2, 7]).map(fn.rotate_pairs()),
        "map: rotate_pairs() needs an even number of columns, not int8 2x7",
    ),
    # functions in the wrong place
    (
        lambda: _x(_g(), 4).map(fn.retile_row()),
        "map: retile_row() can't be mapped, choose a function from tiles to a tile",
    ),
    (
        lambda: _x(_g(), 4, 3).accum(fn.square(), rank=1),
        "accum: square() can't fold, choose a function such as add, matmul or retile_row",
    ),
    (
        lambda: _x(_g(), 4, 3).scan(fn.retile_row(), rank=1),
        "scan: retile_row() can't scan, choose a function whose result keeps its size such as add",
    ),
    (
        lambda: _x(_g(), 4).flat_map(fn.square(), rank=0),
        "flat_map: square() makes no stream of a tile, choose a function such as retile_streamify",
    ),
    (
        lambda: _x(_g(), 4).flat_map(fn.retile_streamify(), rank=2),
        "flat_map: retile_streamify(axis=row) makes streams of rank 0 or 1, not 2",
    ),
    (
        lambda: _x(_g(), 4, 8).split((4, 3)),
        "split: sizes [4, 3] add up to 7, but D0 of x.0 is 8: it is Stream[int8 1x8; 4, 8]",
    ),
    (
        lambda: _x(_g(), 4, 8).split((8, 0)),
        "split: sizes must be a sequence of integers of at least 1, not (8, 0)",
    ),
    (
        lambda: (lambda x: sg.concat([x, x.promote()]))(_x(_g(), 4)),
        "concat: x.0 is Stream[int8 1x8; 4] and promote_0.0 is Stream[int8 1x8; 1, 4], which "
        "differ in rank, 0 against 1",
    ),
    (
        lambda: _two(lambda x, y: sg.concat([x, y]), (4, 2), (3, 2)),
        "concat: x.0 is Stream[int8 1x8; 4, 2] and y.0 is Stream[int8 1x8; 3, 2], whose shapes "
        "[4, 2] and [3, 2] differ in dim D1, 4 against 3: only D0 may differ",
    ),
    (
        lambda: _two(lambda x, y: sg.concat([x, y]), (4,), (4,), tile_b=sg.int8[2, 8]),
        "concat: x.0 is Stream[int8 1x8; 4] and y.0 is Stream[int8 2x8; 4], which differ in data "
        "type",
    ),
    (lambda: sg.concat([]), "concat: it needs at least 1 stream"),
    (
        lambda: _x(_g(), 4).flat_map(fn.cut_cols(3), rank=0),
        "flat_map: cut_cols(c=3) needs tiles whose columns are a multiple of 3, not int8 1x8",
    ),
    (
        lambda: _sel(_g(), 4, 3).flat_map(fn.retile_streamify(), rank=0),
        "flat_map: functions work on tiles, but sel.0 is Stream[selector 4; 3]",
    ),
    (
        lambda: (
            _g().input("sel", sg.Selector(4, hot=0), (3,)).flat_map(fn.tile_addresses(5), rank=1)
        ),
        "flat_map: tile_addresses(count=5) needs address 1x1 or selectors with at least one bit "
        "set, not Stream[selector 0 of 4; 3]",
    ),
    (
        lambda: _at(_g(), 4).flat_map(fn.one_hot(), rank=1),
        "flat_map: one_hot() needs selectors, not Stream[address 1x1; 4]",
    ),
    (
        lambda: _at(_g(), 4).flat_map(fn.span(), rank=1),
        "flat_map: span(one_by_one=False, positive=False) needs ranges (address 1x2: start and "
        "length), not Stream[address 1x1; 4]",
    ),
    (
        lambda: [
            x.flat_map(f, rank=1)
            for x in [_g().input("x", sg.address[1, 2], (4,))]
            for f in (fn.span(), fn.span(positive=True))
        ],
        "flat_map: span(one_by_one=False, positive=True) takes ranges of at least 1, but where "
        "the lengths of x.0 were used before they may be empty",
    ),
    (
        lambda: _x(_g(), 4, tile=sg.address[1, 2]).flat_map(fn.span_last(), rank=0),
        "flat_map: span_last(one_by_one=False) makes streams of rank 1, not 0",
    ),
    (
        lambda: _at(_g(), 4).map(fn.span_end()),
        "map: span_end() needs ranges (address 1x2: start and length), not address 1x1",
    ),
    (
        lambda: _two(lambda x, y: x.map(fn.mask_cols(0), y), (4,), (4,)),
        "map: mask_cols(value=0) needs the number of columns as address 1x1, not int8 1x8",
    ),
    (
        lambda: _two(lambda x, y: x.map(fn.mask_rows(0), y, y), (4,), (4,)),
        "map: mask_rows(value=0) needs the last position that is kept and that of the first row "
        "as address 1x1, not int8 1x8",
    ),
    (
        lambda: _two(lambda x, n: x.map(fn.mask_rows(0, 3), n), (4,), (4,), sg.int8[2, 8], ADDRESS),
        "map: mask_rows(value=0, window=3) has a window, so it needs 2 addresses, the last "
        "position that is kept and that of the first row, not a number of rows",
    ),
    (
        lambda: _x(_g(), 4, tile=sg.int8[2, 8]).map(fn.argmax()),
        'map: argmax(to=address) makes an address of 1 row, not of int8 2x8: argmax("int32") makes '
        "a number for each row",
    ),
    (
        lambda: _x(_g(), 4, 3, tile=sg.int8[2, 8]).accum(fn.argmin(), rank=1),
        "accum: argmin(to=address) needs tiles of 1 row, not int8 2x8",
    ),
    (
        lambda: _x(_g(), 4, tile=sg.int8[1, "M"]).map(fn.argmax()),
        "map: argmax(to=address) needs rows of a static length, at least 1, not int8 1xM",
    ),
    (
        lambda: fn.argmax(sg.int8),
        "argmax: it makes address or int32, not int8",
    ),
    (
        lambda: _x(_g(), 4, tile=sg.f32[1, 1]).map(fn.convert("address")),
        "map: convert(to=address) makes addresses of one integer, such as int32 1x1, not of f32 "
        "1x1",
    ),
    (
        lambda: _x(_g(), 4, tile=ADDRESS).map(fn.as_selector()),
        "map: as_selector(otherwise=False) takes address 1x1, so it needs consumers=..., their "
        "number",
    ),
    (
        lambda: _x(_g(), 4, tile=sg.bool_[1, 3]).map(fn.as_selector(consumers=3)),
        "map: as_selector(otherwise=False, consumers=3) takes bool 1x3, a consumer for each flag: "
        "leave out consumers",
    ),
    (
        lambda: _x(_g(), 4, tile=sg.address[1, 2]).map(fn.as_selector(consumers=3)),
        "map: as_selector(otherwise=False, consumers=3) needs address 1x1, not address 1x2",
    ),
    (
        lambda: fn.as_selector(otherwise=True, consumers=2),
        "as_selector: an address always names a consumer: otherwise is for flags",
    ),
    (
        lambda: fn.as_selector(consumers=0),
        "as_selector: there are 1 to 16384 consumers, not 0",
    ),
    (
        lambda: _x(_g(), 4, tile=ADDRESS).map(fn.scale(-2)),
        "map: scale(c=-2) needs a whole number of 0 to 18446744073709551615 for address, not -2",
    ),
    (
        lambda: _x(_g(), 4, tile=ADDRESS).map(fn.offset(0.5)),
        "map: offset(c=0.5) needs a whole number of 0 to 18446744073709551615 for address, not 0.5",
    ),
    (
        lambda: _x(_g(), 4, tile=sg.address[1, 3]).map(fn.compare("lt", 2)),
        "map: compare(op=lt, c=2) compares address 1x1, not address 1x3: convert them to int32 "
        "first",
    ),
    (
        lambda: _x(_g(), 4, tile=ADDRESS).map(fn.compare("lt", 2**32)),
        "map: compare(op=lt, c=4294967296) compares addresses with numbers of 0 to 4294967294",
    ),
    (
        lambda: _two(lambda x, y: x.map(fn.compare("lt", 2), y), (4,), (4,)),
        "map: compare(op=lt, c=2) compares 1 tile with 2, not 2 tiles",
    ),
    (
        lambda: _two(lambda x, y: x.map(fn.add(), y), (4,), (4,), ADDRESS),
        "map: add() needs tiles of one element type, not address 1x1 and int8 1x8",
    ),
    (
        lambda: _x(_g(), 4, 3, tile=ADDRESS).accum(fn.add(), rank=1),
        "accum: add() folds numbers, not address 1x1: convert them to int32 first",
    ),
    (
        lambda: _two(lambda x, y: x.map(fn.where(), y, y), (4,), (4,)),
        "map: where() takes flags first, tiles of bool, not int8 1x8",
    ),
    (
        lambda: _two(lambda x, f: f.map(fn.where(then=1), x, x), (4,), (4,), sg.int8[2, 8], FLAG),
        "map: where(then=1) takes 2 tiles, the flags first, not 3",
    ),
    (
        lambda: _two(lambda x, f: f.map(fn.where(then=300), x), (4,), (4,), sg.int8[2, 8], FLAG),
        "map: where(then=300) needs a whole number of -128 to 127 for int8, not 300",
    ),
    (
        lambda: _two(lambda x, f: f.map(fn.where(then=1), x), (4,), (4,), FLAG, FLAG),
        "map: where(then=1) has no number for flags: combine them by logical_and and others",
    ),
    (
        lambda: fn.where(then=1, otherwise=0),
        "where: to is the type of the result where then and otherwise are both numbers, and only "
        "there, not None",
    ),
    (
        lambda: _two(lambda x, f: f.map(fn.logical_or(), x), (4,), (4,)),
        "map: logical_or() works on bool, not on int8 1x8",
    ),
    (
        lambda: _two(
            lambda a, b: a.map(fn.logical_or(), b), (4,), (4,), sg.Selector(2), sg.Selector(3)
        ),
        "map: logical_or() takes 2 selectors over as many consumers, not selector 2 and selector 3",
    ),
    (
        lambda: _x(_g(), 4).map(fn.mask_rows(0)),
        "map: mask_rows(value=0) takes 2 or 3 tiles, not 1",
    ),
    (
        lambda: _two(lambda x, y: x.map(fn.place_row(), x, y), (4,), (4,), sg.int8[2, 1], ADDRESS),
        "map: place_row() can't place int8 2x1 as a row of int8 2x1",
    ),
    (
        lambda: (
            lambda g: _x(g, 4).map(
                fn.place_rows(), _x(g, 4, tile=sg.int8[2, 4], name="y"), _at(g, 4)
            )
        )(_g()),
        "map: place_rows() can't place int8 2x4 as rows of int8 1x8",
    ),
    (lambda: _x(_g(), 4).map(fn.add()), "map: add() takes 2 tiles, not 1"),
    (
        lambda: sg.map("square", _x(_g(), 4)),
        "map: fn must be a function such as fn.add(), not 'square'",
    ),
    # off-chip memory
    (
        lambda: (lambda g: sg.linear_offchip_load(_t(g), **LOAD | {"tile": (48, 64)}))(_g()),
        "linear_offchip_load: a tile of shape [48, 64] does not divide tensor t of shape [64, "
        "256], 64 rows by 48",
    ),
    (
        lambda: (lambda g: sg.linear_offchip_load(_t(g), **LOAD | {"shape": (2, 4)}))(_g()),
        "linear_offchip_load: shape [2, 4] with stride [4, 1] reads tile 7 of tensor t, which has "
        "1 x 4 tiles of int8 64x64",
    ),
    (
        lambda: (lambda g: sg.linear_offchip_load(_t(g), **LOAD | {"stride": (1,)}))(_g()),
        "linear_offchip_load: shape [1, 4] and stride [1] must have one number for each dim, but "
        "they have 2 and 1",
    ),
    (
        lambda: (lambda g: sg.linear_offchip_load(_t(g), **LOAD | {"shape": 4}))(_g()),
        "linear_offchip_load: shape must be a sequence, each of them an integer, not 4",
    ),
    (
        lambda: (lambda g: sg.linear_offchip_load(_t(g), **LOAD | {"tile": 64}))(_g()),
        "linear_offchip_load: tile must be 2 values, each of them an integer, not 64",
    ),
    (
        lambda: sg.linear_offchip_load("t", **LOAD),
        "linear_offchip_load: tensor must be a tensor, not 't'",
    ),
    (
        lambda: (lambda g: sg.linear_offchip_store(_x(g, 4096), _t(g)))(_g()),
        "linear_offchip_store: x.0 is Stream[int8 1x8; 4096] with 32768 elements, but tensor t of "
        "shape [64, 256] has room for 16384",
    ),
    (
        lambda: _g().tensor("t", (0, 4), sg.int8),
        "tensor t: its shape must be 2 positive extents, not (0, 4)",
    ),
    (
        lambda: _g().tensor("t", (4, 4), sg.int8, base=-64),
        "tensor t: its address can't be -64",
    ),
    # buffers
    (
        lambda: _x(_g(), 4, 3, K).bufferize(rank=2),
        "bufferize: x.0 has shape [4, 3, K], whose dim D0 of K is ragged, but of a buffer [3, K] "
        "only the outermost may be",
    ),
    (
        lambda: _x(_g(), 4, 6).bufferize(rank=1).streamify(shape=(2, 3), stride=(3, 2)),
        "streamify: shape [2, 3] with stride [3, 2] reads tile 7 of a buffer of int8 1x8 [6], "
        "which has 6 tiles",
    ),
    (
        lambda: _x(_g(), 4, "E").bufferize(rank=1).streamify(shape=(2,), stride=(1,)),
        "streamify: shape and stride need a buffer of static dims, not buffer of int8 1x8 [E], "
        "which can only be read linearly",
    ),
    (
        lambda: _two(lambda x, y: x.bufferize(rank=1).streamify(y, count=2), (4, 3), (4,)),
        "streamify: it takes either a reference stream or a count, not both",
    ),
    # parameters
    (
        lambda: _x(_g(), "E", 3).reshape(dim=1, chunk=4),
        "reshape: x.0 has shape [E, 3], whose dim D1 of E must be static and divisible by the "
        "chunk of 4 since only D0 can be padded",
    ),
    (
        lambda: _x(_g(), 6, 3).reshape(dim=1, chunk=3, pad=None),
        "reshape: only D0 has chunks of different length (pad=None), not D1",
    ),
    (
        lambda: _x(_g(), 10).reshape(chunk=0),
        "reshape: chunk must be an integer of at least 1, not 0",
    ),
    (
        lambda: _x(_g(), 10).reshape(chunk=4, pad="zero"),
        "reshape: pad must be a number, not 'zero'",
    ),
    (
        lambda: _x(_g(), 4, 3).accum(fn.add(), rank=1, init="zero"),
        "accum: init must be a number, not 'zero'",
    ),
    (
        lambda: (lambda g: sg.partition(_x(g, 4), _sel(g, 8, 4), rank=0, num_consumers=4))(_g()),
        "partition: num_consumers is 4, but sel.0 is Stream[selector 8; 4] with 8 consumers",
    ),
    (
        lambda: (lambda g: sg.reassemble([_x(g, 4)], _sel(g, 8, 4), rank=0))(_g()),
        "reassemble: sel.0 is Stream[selector 8; 4], but there are 1 streams to take from",
    ),
    (
        lambda: (lambda g: sg.reassemble([_x(g, 4)], _sel(g, 1, 4), rank=0, order="any"))(_g()),
        "reassemble: order must be one of index, arrival, not 'any'",
    ),
    (
        lambda: _x(_g(), 4, 3).expand(count=2),
        "expand: x.0 has shape [4, 3], whose 1 innermost dims must be 1 to be repeated",
    ),
    (
        lambda: _x(_g(), 4, 1).expand(),
        "expand: it needs either a reference stream or a count",
    ),
    (
        lambda: sg.zip(_x(_g(), 4), 3),
        "zip: each of xs must be a stream, not 3",
    ),
    (lambda: sg.map(fn.add()), "map: it needs at least 1 stream"),
    (lambda: sg.eager_merge([], rank=0), "eager_merge: it needs at least 1 stream"),
    (
        lambda: sg.eager_merge(_x(_g(), 4), rank=0),
        "eager_merge: xs must be a sequence, each of them a stream, not <x.0 Stream[int8 1x8; 4]>",
    ),
    (
        lambda: _g().input("x", sg.int8[1, 8], ()),
        "source: an input needs at least 1 dim, the number of its elements",
    ),
    (
        lambda: _g().input("x", sg.int8, (4,)),
        "input: dtype must be a data type such as int8[1, 64], not int8",
    ),
]


@pytest.mark.parametrize(("make", "sentence"), MISTAKES, ids=[s[:60] for _, s in MISTAKES])
def test_mistake(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(sg.StepError) as caught:
        make()
    head, _, rest = sentence.partition(": ")
    message = str(caught.value)
    # The user's own innermost frame is the line that the message names.
    lines = [
        f.lineno for f in traceback.extract_tb(caught.value.__traceback__) if f.filename == __file__
    ]
    assert message == f"{head} at {Path(__file__).name}:{lines[-1]}: {rest}"
