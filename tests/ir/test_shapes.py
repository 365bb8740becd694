"""The shape rule of every operator and the tile rule of every function."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import stepgen as sg
from stepgen.ir.dims import DimLike
from stepgen.ir.function import function_types
from stepgen.ir.operator import operators

fn = sg.fn
Make = Callable[[sg.Graph], object]


def _x(g: sg.Graph, *shape: DimLike, tile: sg.Tile | None = None) -> sg.Stream:
    return g.input(f"x{len(g.nodes)}", tile or sg.int8[1, 8], shape)


def _sel(g: sg.Graph, n: int, *shape: DimLike, hot: int | None = None) -> sg.Stream:
    return g.input(f"sel{len(g.nodes)}", sg.Selector(n, hot), shape)


def _at(g: sg.Graph, *shape: DimLike) -> sg.Stream:
    return g.input(f"at{len(g.nodes)}", sg.address[1, 1], shape)


def _tensor(g: sg.Graph) -> sg.Tensor:
    return g.tensor("t", (64, 256), sg.int8)


def _weights(g: sg.Graph, ref: sg.Stream | None) -> sg.Stream:
    return sg.linear_offchip_load(_tensor(g), tile=(64, 64), shape=(1, 4), stride=(4, 1), ref=ref)


def _unequal_tiles(g: sg.Graph) -> list[sg.Stream]:
    parts = sg.partition(_x(g, 9), _sel(g, 2, 9), rank=0)
    return [p.promote().accum(fn.retile_row(), rank=1) for p in parts]


def _through_merge(g: sg.Graph) -> object:
    data, order = sg.eager_merge(_unequal_tiles(g), rank=0)
    return sg.partition(data.map(fn.square()), order, rank=0)


K = sg.ragged("K", bound=5)
E = sg.dynamic("E", bound=64)

SHAPES: list[tuple[str, Make, str]] = [
    ("source", lambda g: _x(g, "T", 4), "int8 1x8; T, 4"),
    ("linear_offchip_load", lambda g: _weights(g, None), "int8 64x64; 1, 4"),
    ("linear_offchip_load", lambda g: _weights(g, _x(g, E)), "int8 64x64; E, 1, 4"),
    ("linear_offchip_load", lambda g: _weights(g, _sel(g, 3, 2, K)), "int8 64x64; 2, K, 1, 4"),
    (
        "random_offchip_load",
        lambda g: _at(g, 3, K).random_offchip_load(_tensor(g), tile=(8, 64)),
        "int8 8x64; 3, K",
    ),
    (
        "random_offchip_store",
        lambda g: _at(g, 3).random_offchip_store(
            _x(g, 3, tile=sg.int8[8, 64]), _tensor(g), tile=(8, 64)
        ),
        "bool 1x1; 3",
    ),
    ("bufferize", lambda g: _x(g, 5, K, 4).bufferize(rank=2), "buffer of int8 1x8 [K, 4]; 5"),
    ("streamify", lambda g: _x(g, 5, K, 4).bufferize(rank=2).streamify(), "int8 1x8; 5, K, 4"),
    (
        "streamify",
        lambda g: _x(g, 5, K).bufferize(rank=1).streamify(_x(g, 5, 2, 3)),
        "int8 1x8; 5, 2, 3, K",
    ),
    (
        "streamify",
        lambda g: _x(g, 5, E).bufferize(rank=1).streamify(count=7),
        "int8 1x8; 5, 7, E",
    ),
    (
        "streamify",
        lambda g: _x(g, 5, 1, 6).bufferize(rank=2).streamify(shape=(2, 3), stride=(0, 2)),
        "int8 1x8; 5, 2, 3",
    ),
    (
        "partition",
        lambda g: sg.partition(_x(g, 9, 1), _sel(g, 2, 9), rank=1),
        "int8 1x8; E0, 1 | int8 1x8; E1, 1",
    ),
    ("partition", lambda g: sg.partition(_x(g, 9, K), _sel(g, 1, 9, K), rank=0), "int8 1x8; E0"),
    ("partition", lambda g: sg.partition(_x(g, 9, K), _sel(g, 1, 9), rank=1), "int8 1x8; E0, K"),
    (
        "partition",
        _through_merge,
        "int32 E0x8; min(1, E0) | int32 E1x8; min(1, E1)",
    ),
    (
        "reassemble",
        lambda g: sg.reassemble([_x(g, "A", 3), _x(g, "B", 3)], _sel(g, 2, 4, K), rank=1),
        "int8 1x8; 4, K, K0, 3",
    ),
    (
        "reassemble",
        lambda g: sg.reassemble([_x(g, "A"), _x(g, "B")], _sel(g, 2, 4, hot=1), rank=0),
        "int8 1x8; 4, 1",
    ),
    (
        "eager_merge",
        lambda g: sg.eager_merge([_x(g, "A", 3), _x(g, "B", 3), _x(g, 4, 3)], rank=1),
        "int8 1x8; A + B + 4, 3 | selector 1 of 3; A + B + 4",
    ),
    (
        "eager_merge",
        lambda g: sg.eager_merge(_unequal_tiles(g), rank=0)[0],
        "int8 R0x8; min(1, E0) + min(1, E1)",
    ),
    ("map", lambda g: _x(g, 2, K).map(fn.square()), "int32 1x8; 2, K"),
    ("map", lambda g: _x(g, 3).zip(_x(g, 3)).map(fn.add()), "int8 1x8; 3"),
    ("accum", lambda g: _x(g, 2, K, 3).accum(fn.add(), rank=2), "int8 1x8; 2"),
    ("accum", lambda g: _x(g, 2, E).accum(fn.retile_row(), rank=1), "int8 Ex8; 2"),
    ("accum", lambda g: _x(g, 2, K).accum(fn.retile_row(), rank=1), "int8 Kx8; 2"),
    ("accum", lambda g: _x(g, 2, K, 3).accum(fn.retile_col(), rank=2), "int8 1xK_0; 2"),
    (
        "accum",
        lambda g: _x(g, 2, 3).accum(fn.matmul(), _x(g, 2, 3, tile=sg.int8[8, 5]), rank=1),
        "int32 1x5; 2",
    ),
    ("scan", lambda g: _x(g, 2, K).scan(fn.maximum(), rank=1), "int8 1x8; 2, K"),
    (
        "flat_map",
        lambda g: _x(g, 2, 3, tile=sg.int8[4, 8]).flat_map(fn.retile_streamify(), rank=0),
        "int8 1x8; 2, 12",
    ),
    (
        "flat_map",
        lambda g: _x(g, 2, 3, tile=sg.int8[4, 8]).flat_map(fn.retile_streamify("col"), rank=1),
        "int8 4x1; 2, 3, 8",
    ),
    ("split", lambda g: _x(g, K, 8, 3).split((6, 2), dim=1)[1], "int8 1x8; K, 2, 3"),
    ("concat", lambda g: sg.concat([_x(g, E, 4), _x(g, E, 2)]), "int8 1x8; E, 6"),
    ("concat", lambda g: sg.concat([_x(g, E, 4), _x(g, 3, 4)], dim=1), "int8 1x8; E + 3, 4"),
    ("concat", lambda g: sg.concat([_x(g, 2, K), _x(g, 2, 1)]), "int8 1x8; 2, K_0"),
    (
        "flat_map",
        lambda g: _x(g, 2, 3, tile=sg.int8[4, 8]).flat_map(fn.cut_cols(4), rank=0),
        "int8 4x4; 2, 6",
    ),
    (
        "flat_map",
        lambda g: _x(g, 2, K, tile=sg.int8[4, 8]).flat_map(fn.retile_streamify(), rank=0),
        "int8 1x8; 2, K_0",
    ),
    (
        "flat_map",
        lambda g: _x(g, K, tile=sg.int8[4, 8]).flat_map(fn.retile_streamify(), rank=0),
        "int8 1x8; 4*K",
    ),
    (
        "flat_map",
        lambda g: _sel(g, 4, 3, K).flat_map(fn.tile_addresses(5), rank=1),
        "address 1x1; 3, K, 5",
    ),
    (
        "flat_map",
        lambda g: (
            _x(g, 3, tile=sg.f32[1, 8]).map(fn.top_k(2)).flat_map(fn.tile_addresses(5), rank=1)
        ),
        "address 1x1; 3, 10",
    ),
    (
        "flat_map",
        lambda g: _x(g, 3, 2, tile=sg.address[1, 1]).flat_map(fn.tile_addresses(5), rank=0),
        "address 1x1; 3, 10",
    ),
    (
        "flat_map",
        lambda g: _x(g, 3, tile=sg.address[1, 2]).flat_map(fn.span(), rank=1),
        "address 1x1; 3, L0",
    ),
    (
        "flat_map",
        lambda g: _x(g, 3, tile=sg.address[1, 2]).flat_map(fn.span_last(), rank=1),
        "selector 1 of 2; 3, L0",
    ),
    (
        "flat_map",
        lambda g: _sel(g, 4, 3).flat_map(fn.one_hot(), rank=1),
        "selector 1 of 4; 3, K0",
    ),
    ("accum", lambda g: _x(g, 3, K).accum(fn.count(), rank=1), "address 1x1; 3"),
    ("flatten", lambda g: _x(g, 2, 3, E).flatten(0, 1), "int8 1x8; 2, 3*E"),
    ("flatten", lambda g: _x(g, 2, 2, K).flatten(0, 1), "int8 1x8; 2, K_0"),
    ("flatten", lambda g: _x(g, 2, 3, K).flatten(1, 2), "int8 1x8; 6, K"),
    ("flatten", lambda g: _x(g, 2, 3, K).flatten(1, 1), "int8 1x8; 2, 3, K"),
    ("reshape", lambda g: _x(g, 10).reshape(chunk=4), "int8 1x8; 3, 4 | bool 1x1; 3, 4"),
    (
        "reshape",
        lambda g: _x(g, 3, E).reshape(chunk=4),
        "int8 1x8; 3, ceil(E/4), 4 | bool 1x1; 3, ceil(E/4), 4",
    ),
    ("reshape", lambda g: _x(g, 3, K).reshape(chunk=4)[0], "int8 1x8; 3, K_0, 4"),
    ("reshape", lambda g: _x(g, 10).reshape(chunk=4, pad=None), "int8 1x8; 3, D0"),
    ("reshape", lambda g: _x(g, 8).reshape(chunk=4, pad=None), "int8 1x8; 2, 4"),
    ("reshape", lambda g: _x(g, 3).reshape(chunk=4, pad=None), "int8 1x8; 1, 3"),
    ("reshape", lambda g: _x(g, 3, K).reshape(chunk=4, pad=None), "int8 1x8; 3, K_0, K_1"),
    ("reshape", lambda g: _sel(g, 2, K).reshape(chunk=4, pad=None), "selector 2; K_0, K_1"),
    ("reshape", lambda g: _x(g, 6, K).reshape(dim=1, chunk=2), "int8 1x8; 3, 2, K"),
    ("promote", lambda g: _x(g, E, 3).promote(), "int8 1x8; min(1, E), E, 3"),
    ("promote", lambda g: _x(g, 4, 3).promote(), "int8 1x8; 1, 4, 3"),
    ("promote", lambda g: _x(g, E, 3).promote(0), "int8 1x8; E, 3, 1"),
    ("promote", lambda g: _x(g, E, 3).promote(1), "int8 1x8; E, 1, 3"),
    ("expand", lambda g: _x(g, E, 1).expand(count=4), "int8 1x8; E, 4"),
    ("expand", lambda g: _x(g, 3, 1, 1).expand(_sel(g, 2, 3, 2, K), rank=2), "int8 1x8; 3, 2, K"),
    ("fork", lambda g: _x(g, E, 3).fork(2), "int8 1x8; E, 3 | int8 1x8; E, 3"),
    ("zip", lambda g: _x(g, 3, K).zip(_sel(g, 2, 3, K)), "(int8 1x8, selector 2); 3, K"),
    (
        "unzip",
        lambda g: _x(g, 3, K).zip(_sel(g, 2, 3, K)).unzip(),
        "int8 1x8; 3, K | selector 2; 3, K",
    ),
]


@pytest.mark.parametrize(
    ("op", "make", "expected"), SHAPES, ids=lambda v: v if isinstance(v, str) else ""
)
def test_shape(op: str, make: Make, expected: str) -> None:
    result = make(sg.Graph())
    streams = [result] if isinstance(result, sg.Stream) else result
    assert streams[0].node.op == op
    assert " | ".join(str(s)[len("Stream[") : -1] for s in streams) == expected


def test_every_operator_has_a_shape_here() -> None:
    without = {"output", "linear_offchip_store"}
    assert {op for op, _, _ in SHAPES} == set(operators()) - without


@pytest.mark.parametrize("extent", [10, "E", K, 8], ids=str)
@pytest.mark.parametrize("outer", [(), (3,)])
def test_dropping_padding_restores_the_dim(extent: DimLike, outer: tuple[int, ...]) -> None:
    g = sg.Graph()
    x = _x(g, *outer, extent)
    chunks, padding = x.reshape(chunk=4)
    tiles = chunks.accum(fn.retile_row(), rank=1)
    back = tiles.flat_map(fn.retile_streamify(), rank=0, padding=padding)
    assert (str(back), back.totals) == (str(x), x.totals)
    kept = tiles.flat_map(fn.retile_streamify(), rank=1, padding=padding)
    assert kept.shape[:-1] == tiles.shape
    assert (kept.shape[-1].kind, kept.shape[-1].bound) == ("ragged", 4)
    assert kept.totals[0] == x.totals[0]


def test_other_flags_leave_an_unknown_dim() -> None:
    g = sg.Graph()
    tiles = _x(g, 5, tile=sg.int8[4, 8])
    flags = g.input("flags", sg.FLAG, (5, 4))
    rest = tiles.flat_map(fn.retile_streamify(), rank=0, padding=flags)
    assert (str(rest), rest.shape[0].kind, rest.shape[0].bound) == (
        "Stream[int8 1x8; N0]",
        "dynamic",
        20,
    )


def test_a_dynamic_tile_is_one_group_or_none_and_comes_back() -> None:
    g = sg.Graph()
    x = _x(g, E)
    one = x.promote()
    assert str(one.flatten(0, 1)) == str(x)
    tile = one.accum(fn.retile_row(), rank=1)
    assert str(tile) == "Stream[int8 Ex8; min(1, E)]"
    assert isinstance(tile.dtype, sg.Tile)
    assert tile.dtype.rows.bound == 64
    assert str(tile.flat_map(fn.retile_streamify(), rank=0)) == str(x)


def test_bounds_follow_the_dims() -> None:
    g = sg.Graph()
    parts = sg.partition(_x(g, 9, 4, 1), _sel(g, 3, 9, 4), rank=1)
    assert [p.shape[0].bound for p in parts] == [36, 36, 36]
    merged = sg.reassemble(parts, g.input("s", sg.Selector(3), (36,)), rank=1)
    assert merged.dim(1).bound == 3
    assert parts[0].flatten(0, 1).reshape(chunk=5)[0].shape[0].bound == 8
    assert sg.eager_merge(parts, rank=1)[0].shape[0].bound == 108


def test_a_sum_of_what_is_never_empty_is_never_empty() -> None:
    g = sg.Graph()
    full = _x(g, 4, sg.ragged("L", bound=5, positive=True)).flatten(0, 1)
    assert (full.shape[0].kind, full.shape[0].bound) == ("dynamic", 20)
    assert not full.shape[0].may_be_empty
    assert _x(g, 4, K).flatten(0, 1).shape[0].may_be_empty


TILES: list[tuple[sg.Function, list[sg.Tile], str, str]] = [
    (fn.matmul(), [sg.int8["M", 64], sg.int8[64, 32]], "int32 Mx32", "4096*M"),
    (fn.matmul(transpose=True), [sg.bf16[4, 64], sg.bf16[32, 64]], "f32 4x32", "16384"),
    (
        fn.matmul_add(),
        [sg.int16["M", 64], sg.int16[64, 32], sg.int32[1, 32]],
        "int32 Mx32",
        "4096*M",
    ),
    (fn.requantize(3, shift=7), [sg.int32["M", 8]], "int8 Mx8", "8*M"),
    (
        fn.requantize_by(),
        [sg.int32["M", 8], sg.int32[1, 8], sg.int8["M", 1]],
        "int8 Mx8",
        "8*M",
    ),
    (fn.convert(sg.bf16), [sg.int32[2, 8]], "bf16 2x8", "16"),
    (fn.convert("int8"), [sg.bool_[2, 8]], "int8 2x8", "16"),
    (fn.compare("ge"), [sg.int8[2, 8], sg.int8[2, 1]], "bool 2x8", "16"),
    (fn.add(), [sg.f32[1, 8], sg.f32[4, 8]], "f32 4x8", "32"),
    (fn.sub(), [sg.int8[2, 8], sg.int8[2, 8]], "int8 2x8", "16"),
    (fn.mul(), [sg.bf16["M", 8], sg.bf16["M", 1]], "bf16 Mx8", "8*M"),
    (fn.div(), [sg.f32[2, 8], sg.f32[2, 1]], "f32 2x8", "16"),
    (fn.maximum(), [sg.int32[2, 8], sg.int32[1, 1]], "int32 2x8", "16"),
    (fn.minimum(), [sg.int32[1, 1], sg.int32[2, 8]], "int32 2x8", "16"),
    (fn.reciprocal(), [sg.f32[2, 8]], "f32 2x8", "16"),
    (fn.exp(), [sg.f32[2, 8]], "f32 2x8", "64"),
    (fn.silu(), [sg.bf16["M", 8]], "bf16 Mx8", "64*M"),
    (fn.gelu(), [sg.bf16[2, 8]], "bf16 2x8", "128"),
    (fn.gelu_tanh(), [sg.bf16[2, 8]], "bf16 2x8", "128"),
    (fn.tanh(), [sg.bf16[2, 8]], "bf16 2x8", "64"),
    (fn.sqrt(), [sg.bf16[2, 8]], "bf16 2x8", "64"),
    (fn.rsqrt(), [sg.bf16[2, 8]], "bf16 2x8", "64"),
    (fn.square(), [sg.int32[2, 8]], "int32 2x8", "16"),
    (fn.scale(0.5), [sg.f32[2, 8]], "f32 2x8", "16"),
    (fn.offset(3), [sg.int8[2, 8]], "int8 2x8", "16"),
    (fn.row_sum(), [sg.int8["M", 8]], "int32 Mx1", "8*M"),
    (fn.row_max(), [sg.int8["M", 8]], "int8 Mx1", "8*M"),
    (fn.row_broadcast(16), [sg.f32["M", 1]], "f32 Mx16", "0"),
    (fn.top_k(2), [sg.f32[1, 8]], "selector 2 of 8", "8"),
    (fn.top_k_scores(3), [sg.bf16[1, 8]], "bf16 1x3", "8"),
    (fn.as_selector(), [sg.bool_[1, 8]], "selector 8", "0"),
    (fn.as_selector(otherwise=True), [sg.bool_[1, 1]], "selector 1 of 2", "0"),
    (fn.as_selector(otherwise=True), [sg.bool_[1, 2]], "selector 3", "0"),
    (fn.logical_and(), [sg.bool_["M", 8], sg.bool_["M", 1]], "bool Mx8", "0"),
    (fn.logical_or(), [sg.bool_[1, 1], sg.bool_[2, 8]], "bool 2x8", "0"),
    (fn.logical_xor(), [sg.Selector(3, hot=1), sg.Selector(3)], "selector 3", "0"),
    (fn.logical_not(), [sg.Selector(3, hot=1)], "selector 2 of 3", "0"),
    (fn.logical_not(), [sg.bool_["M", 8]], "bool Mx8", "0"),
    (fn.where(), [sg.bool_["M", 1], sg.int8["M", 8], sg.int8[1, 1]], "int8 Mx8", "8*M"),
    (fn.where(), [sg.bool_[1, 1], sg.f32[1, 8], sg.f32[3, 1]], "f32 3x8", "24"),
    (fn.where(otherwise=0), [sg.bool_["M", 8], sg.bf16["M", 8]], "bf16 Mx8", "8*M"),
    (fn.where(0, -1, "int8"), [sg.bool_["M", 8]], "int8 Mx8", "8*M"),
    (fn.compare("lt", 3), [sg.int8["M", 8]], "bool Mx8", "8*M"),
    (fn.compare("lt", 3), [sg.address[1, 1]], "bool 1x1", "1"),
    (fn.compare("ne"), [sg.address[1, 1], sg.address[1, 1]], "bool 1x1", "1"),
    (fn.add(), [sg.address[1, 3], sg.address[1, 1]], "address 1x3", "3"),
    (fn.sub(), [sg.address[1, 1], sg.address[1, 1]], "address 1x1", "1"),
    (fn.offset(-3), [sg.address[1, 1]], "address 1x1", "1"),
    (fn.scale(8), [sg.address[1, 3]], "address 1x3", "3"),
    (fn.as_selector(consumers=4), [sg.address[1, 1]], "selector 1 of 4", "0"),
    (fn.convert("address"), [sg.int8[1, 1]], "address 1x1", "1"),
    (fn.argmax(), [sg.f32[1, 8]], "address 1x1", "8"),
    (fn.argmin("int32"), [sg.int8["M", 8]], "int32 Mx1", "8*M"),
    (fn.as_flags(), [sg.Selector(3, hot=1)], "bool 1x3", "0"),
    (fn.at_least(0), [sg.bf16["M", 8]], "bf16 Mx8", "8*M"),
    (fn.at_most(6), [sg.bf16["M", 8]], "bf16 Mx8", "8*M"),
    (fn.lookup([0.5] * 256, "f32"), [sg.int8["M", 8]], "f32 Mx8", "8*M"),
    (fn.shift_cols(2), [sg.int8["M", 8]], "int8 Mx8", "0"),
    (fn.rotate_pairs(), [sg.f32["M", 8]], "f32 Mx8", "8*M"),
    (fn.running_max(3), [sg.int32[2, 8]], "int32 2x8", "32"),
    (fn.mask_cols(-1), [sg.int8["M", 8], sg.address[1, 1]], "int8 Mx8", "0"),
    (fn.mask_cols(-1, 3), [sg.f32["M", 8], *[sg.address[1, 1]] * 2], "f32 Mx8", "0"),
    (fn.mask_rows(-1), [sg.int8["M", 8], sg.address[1, 1]], "int8 Mx8", "0"),
    (fn.mask_rows(-1, 3), [sg.f32["M", 8], *[sg.address[1, 1]] * 2], "f32 Mx8", "0"),
    (fn.mask_causal(0, 3), [sg.bf16["M", 8], *[sg.address[1, 1]] * 2], "bf16 Mx8", "0"),
    (fn.place_rows(), [sg.f32[4, 8], sg.f32["r", 8], sg.address[1, 1]], "f32 4x8", "0"),
    (fn.place_row(), [sg.f32[4, 8], sg.f32[1, 8], sg.address[1, 1]], "f32 4x8", "0"),
    (fn.span_end(), [sg.address[1, 2]], "address 1x1", "0"),
    (fn.as_range(), [sg.address[1, 1]] * 2, "address 1x2", "0"),
]


@pytest.mark.parametrize(("function", "tiles", "out", "flops"), TILES, ids=lambda v: str(v)[:24])
def test_function(function: sg.Function, tiles: list[sg.Tile], out: str, flops: str) -> None:
    g = sg.Graph()
    mapped = sg.map(function, *(_x(g, 1, tile=tile) for tile in tiles))
    assert str(mapped.dtype) == out
    assert str(sg.metrics(g).flops) == flops


def test_every_function_has_a_tile_here() -> None:
    only_folding = {"retile_row", "retile_col", "retile_streamify", "cut_cols", "count"}
    only_folding |= {"tile_addresses", "span", "span_first", "span_last", "one_hot"}
    assert {f.name for f, _, _, _ in TILES} == set(function_types()) - only_folding


@pytest.mark.parametrize("name", ["add", "mul", "maximum", "minimum"])
def test_folds_keep_the_tile_and_count_every_element(name: str) -> None:
    g = sg.Graph()
    sum_ = _x(g, 5, 7).accum(sg.fn.__getattr__(name)(), rank=1)
    element = "int32" if name == "mul" else "int8"
    assert str(sum_) == f"Stream[{element} 1x8; 5]"
    assert sg.metrics(g).flops == 5 * 7 * 8


def test_the_largest_of_a_chunk_has_no_start() -> None:
    g = sg.Graph()
    x = g.input("x", sg.f32[1, 5], (2, 3))
    with pytest.raises(sg.StepError, match="begins with the first element of a chunk: it takes no"):
        x.accum(sg.fn.argmax(), rank=1, init=3)
