"""Programs for tests: the shipped examples, and one that has every unit."""

from __future__ import annotations

import ast
import importlib.util
from types import ModuleType
from typing import Any

import numpy as np

import stepgen as sg
from stepgen.ir.function import function_types
from stepgen.program.program import examples
from stepgen.tools.shipped import shipped

ROWS = 6
"""Extent of the inputs of `every_unit`."""

SMALL = {
    "moe": {
        **{"tokens": "9", "experts": "3", "width": "8", "hidden": "16", "columns": "8"},
        **{"tile": "2", "top": "1"},
    },
    "moe_swiglu": {
        **{"tokens": "5", "experts": "2", "width": "8", "inner": "16", "columns": "8"},
        **{"tile": "2"},
    },
    "attention": {"batch": "3", "rows": "2", "width": "8", "tile": "4"},
    "decoder": {"batch": "2", "mean": "3", "stdev": "1", "kv_heads": "1", "cache_tile": "2"},
    "hierarchical": {"m": "4", "n": "16", "k": "8", "block_n": "8", "tile_m": "2"},
    "quantized": {
        **{"batch": "4", "tile_batch": "2", "width": "8", "inner": "16", "tile_inner": "8"},
    },
    "swiglu": {
        **{"batch": "4", "tile_batch": "2", "width": "8", "inner": "16", "tile_inner": "8"},
    },
}
"""Settings with which shipped programs are small, where they are not anyway."""


def example(name: str) -> ModuleType:
    """The module of a shipped example."""
    spec = importlib.util.spec_from_file_location(name, shipped(f"examples/{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def gate_of(products: Any, top: int = 2) -> dict[str, Any]:
    """What a gate decides in plain numpy: places of the largest products, and their softmax."""
    places = np.sort(np.argsort(-products, axis=1, kind="stable")[:, :top])
    parts = np.exp(np.take_along_axis(products, places, axis=1))
    route = np.zeros_like(products)
    np.put_along_axis(route, places, 1, axis=1)
    return {"route": route, "scores": parts / parts.sum(axis=1, keepdims=True)}


def every_unit() -> sg.Graph:
    """A program that has all kinds of units."""
    g = sg.Graph("every_unit")
    x = g.input("x", sg.int8[1, 8], (ROWS,))
    sel = g.input("sel", sg.Selector(2), (ROWS,))
    w = g.tensor("w", (8, 8), sg.int8)
    y = g.tensor("y", (ROWS, 16), sg.int8)
    parts = [p.fifo(80) for p in sg.partition(x, sel.fifo(70), rank=0)]
    merged = sg.reassemble(parts, sel.fifo(70), rank=0).flatten(0, 1)
    padded, padding = merged.reshape(chunk=4, pad=-7)
    tile = padded.accum(sg.fn.retile_row(), rank=1)
    weights = sg.linear_offchip_load(w, tile=(8, 8), shape=(1,), stride=(1,), ref=tile)
    product = tile.fifo(80).map(sg.fn.matmul(), weights.flatten(0, 1))
    for n in range(2):  # a bus word has two beats, and two loads share one of two loaders
        again = sg.linear_offchip_load(w, tile=(8, 8), shape=(1,), stride=(1,), ref=tile)
        g.output(tile.fifo(80).map(sg.fn.matmul(), again.flatten(0, 1)), f"product_{n}")
    rows = product.map(sg.fn.requantize(shift=4)).flat_map(
        sg.fn.retile_streamify("row"), rank=0, padding=padding.fifo(70)
    )
    wide = rows.promote(0).expand(count=2).accum(sg.fn.retile_col(), rank=1)
    sg.linear_offchip_store(wide, y)
    g.output(x.promote(0).reshape(dim=1, chunk=2), "pairs")
    g.output(x.promote(), "whole")
    chunks = x.reshape(chunk=3, pad=0)[0]
    g.output(chunks, "chunks")
    g.output(chunks.accum(sg.fn.maximum(), rank=1), "highest")
    g.output(sel.flat_map(sg.fn.one_hot(), rank=1), "ones")
    g.output(sel.reshape(chunk=4, pad=None), "some")
    highest = chunks.accum(sg.fn.minimum(), rank=1)
    g.output(chunks.bufferize(rank=1).streamify(highest.fifo(9)), "kept")
    g.output(x.map(sg.fn.shift_cols(by=1)).map(sg.fn.row_sum()), "sums")
    g.output(x.map(sg.fn.top_k(2)), "chosen")
    scores = x.map(sg.fn.top_k_scores(2))
    g.output(scores.flat_map(sg.fn.retile_streamify("col"), rank=1), "scores")
    pairs = x.reshape(chunk=2)[0]
    rows = pairs.accum(sg.fn.retile_row(), rank=1)
    at = g.input("at", sg.address[1, 1], (3,))
    placed = rows.map(sg.fn.place_row(), pairs.accum(sg.fn.maximum(), rank=1), at)
    g.output(placed.map(sg.fn.mask_causal(-9, window=2), at, at), "masked")
    spans = g.input("spans", sg.address[1, 2], (3,))
    g.output(spans.flat_map(sg.fn.span(), rank=1), "numbers")
    g.output(spans.flat_map(sg.fn.span_last(), rank=1), "lasts")
    g.output(x.map(sg.fn.running_max(2)), "decaying")
    g.output(x.map(sg.fn.rotate_pairs()), "turned")
    two = scores.promote(0).expand(count=3)
    g.output(two.accum(sg.fn.retile_col(), rank=1), "joined")
    pairs_each = chunks.accum(sg.fn.count(), rank=1)
    g.output(pairs_each.map(sg.fn.convert(sg.f32)), "counts")
    one_of = g.input("one_of", sg.Selector(2, hot=1), (3,))
    g.output(one_of.flat_map(sg.fn.tile_addresses(3), rank=1), "tiles")
    places = g.input("places", sg.address[1, 1], (3,))
    merged, order = sg.eager_merge([chunks, chunks], rank=1)
    g.output(merged, "merged")
    g.output(order, "order")
    table = g.tensor("table", (4, 5), sg.int8)
    one, other = places.random_offchip_load(table, tile=(1, 5)).fork(2)
    g.output(one, "found")
    copy = g.tensor("copy", (4, 5), sg.int8)
    g.output(places.random_offchip_store(other, copy, tile=(1, 5)), "done")
    grid = g.input("grid", sg.int8[3, 8], (2,))
    g.output(grid.flat_map(sg.fn.retile_streamify("col"), rank=1), "columns")
    above = g.input("level", sg.int8[1, 1], (2,)).map(
        sg.fn.compare("lt"), g.input("limit", sg.int8[1, 1], (2,))
    )
    g.output(above, "above")
    some, rest = chunks.split((2, 1))
    g.output(sg.concat([rest, some]), "rotated")
    gates = g.input("gates", sg.bool_[1, 6], (2,))
    g.output(gates.map(sg.fn.as_selector(otherwise=True)), "routes")
    one, matrix = g.input("one", sg.int8[1, 8], (2,)), g.input("matrix", sg.int8[8, 12], (2,))
    g.output(one.map(sg.fn.matmul(), matrix, name="multiplied"), "projected")
    floats = one.map(sg.fn.convert(sg.bf16), name="row_of_floats")
    columns = matrix.map(sg.fn.convert(sg.bf16), name="matrix_of_floats")
    g.output(floats.map(sg.fn.matmul(), columns, name="multiplied_floats"), "of_floats")
    cache, valid = g.input("cache", sg.int8[3, 8], (2,)), g.input("valid", sg.address[1, 1], (2,))
    written = cache.map(sg.fn.mask_rows(0), valid)
    single = g.input("single", sg.bool_[1, 1], (2,))
    g.output(single.map(sg.fn.where(otherwise=-1), written), "written")
    asked = g.input("asked", sg.Selector(6), (2,))
    free = g.input("free", sg.Selector(6), (2,))
    g.output(asked.map(sg.fn.logical_and(), free), "granted")
    ranked = g.input("ranked", sg.Selector(6, hot=2), (2,))
    g.output(ranked.flat_map(sg.fn.tile_addresses(3), rank=0), "ranks")
    layer = g.input("layer", sg.address[1, 1], (2,))
    expert = g.input("expert", sg.address[1, 1], (2,))
    g.output(layer.map(sg.fn.scale(8)).map(sg.fn.add(), expert), "experts")
    ragged = sg.ragged("T", bound=5, positive=True)
    keys = g.input("keys", sg.Tile(ragged, 8, sg.int8), (2,))
    queries = g.input("queries", sg.int8[2, 8], (2,))
    scores = queries.map(sg.fn.matmul(transpose=True, most=4), keys)
    summed = scores.map(sg.fn.requantize(shift=8)).map(sg.fn.matmul(), keys)
    g.output(summed, "attended")
    best = x.map(sg.fn.argmax())
    g.output(best, "best")
    g.output(best.map(sg.fn.as_selector(consumers=8)), "bests")
    return g


def every_unit_inputs(rng: np.random.Generator) -> dict[str, Any]:
    """Drawn inputs of `every_unit`."""
    return {
        "x": rng.integers(-128, 128, (ROWS, 1, 8)).astype(np.int8),
        "w": rng.integers(-128, 128, (8, 8)).astype(np.int8),
        "sel": np.eye(2, dtype=bool)[rng.integers(2, size=ROWS)],
        "places": rng.integers(0, 4, (3, 1, 1)),
        "at": rng.integers(0, 2, (3, 1, 1)),
        "spans": rng.integers(1, 4, (3, 1, 2)),
        "one_of": np.eye(2, dtype=bool)[rng.integers(2, size=3)],
        "table": rng.integers(-128, 128, (4, 5)).astype(np.int8),
        "level": rng.integers(-128, 128, (2, 1, 1)).astype(np.int8),
        "limit": rng.integers(-128, 128, (2, 1, 1)).astype(np.int8),
        "grid": rng.integers(-128, 128, (2, 3, 8)).astype(np.int8),
        "one": rng.integers(-128, 128, (2, 1, 8)).astype(np.int8),
        "matrix": rng.integers(-128, 128, (2, 8, 12)).astype(np.int8),
        "gates": rng.random((2, 1, 6)) < 0.3,
        "cache": rng.integers(-128, 128, (2, 3, 8)).astype(np.int8),
        "valid": rng.integers(0, 4, (2, 1, 1)),
        "single": rng.random((2, 1, 1)) < 0.5,
        "asked": rng.random((2, 6)) < 0.5,
        "free": rng.random((2, 6)) < 0.5,
        "layer": rng.integers(0, 4, (2, 1, 1)),
        "expert": rng.integers(0, 6, (2, 1, 1)),
        "keys": [rng.integers(-128, 128, (rows, 8)).astype(np.int8) for rows in (4, 1)],
        "queries": rng.integers(-128, 128, (2, 2, 8)).astype(np.int8),
        "ranked": rng.permuted(np.tile(np.arange(6) < 2, (2, 1)), axis=1),
    }


def shipped_functions() -> list[str]:
    """Names of stepgen's own functions, whatever other tests define."""
    kinds = function_types().items()
    return [name for name, kind in kinds if kind.__module__.startswith("stepgen.")]


def shipped_programs() -> list[str]:
    """Names of all programs in the examples: a file's own one, else each of its functions.

    Models are left out; they become programs when they are imported.
    """
    found = []
    for name, path in examples().items():
        kinds = [n for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef)]
        graphs = [n for n in kinds if "Model" not in ast.unparse(n.returns or ast.Constant(None))]
        functions = [n.name for n in graphs if n.name[0] != "_"]
        found += [name] if name in functions else [f"{name}:{other}" for other in functions]
    return found
