"""Programs of the paper that the tests of metrics build."""

from __future__ import annotations

import stepgen as sg


def swiglu_layer(batch: int, inner: int) -> sg.Graph:
    """Figure 8: 64 rows of 256, inner width 512, f32; tiles of `batch` rows, `inner` columns."""
    g = sg.Graph("swiglu")
    x = g.tensor("x", (64, 256), sg.f32)
    y = g.tensor("y", (64, 256), sg.f32)
    gate, up = (g.tensor(n, (256, 512), sg.f32) for n in ("gate", "up"))
    down = g.tensor("down", (512, 256), sg.f32)
    grid = {"shape": (64 // batch, 512 // inner), "stride": (0, 1)}
    rows = sg.linear_offchip_load(x, tile=(batch, 256), shape=grid["shape"], stride=(1, 0))
    gated = rows.map(sg.fn.matmul(), sg.linear_offchip_load(gate, tile=(256, inner), **grid))
    upped = rows.map(sg.fn.matmul(), sg.linear_offchip_load(up, tile=(256, inner), **grid))
    hidden = gated.map(sg.fn.silu()).map(sg.fn.mul(), upped)
    weights = sg.linear_offchip_load(down, tile=(inner, 256), **grid)
    sg.linear_offchip_store(hidden.accum(sg.fn.matmul(), weights, rank=1), y)
    g.check()
    return g


def swiglu_moe(
    experts: int, top: int, width: int, inner: int, tile: int | None, tokens: int = 64
) -> sg.Graph:
    """Figures 9 and 10: experts of three weights in bf16, static tiles or (None) dynamic ones."""
    g = sg.Graph("swiglu_moe")
    x = g.tensor("x", (tokens, width), sg.bf16)
    scores = g.tensor("scores", (tokens, top), sg.bf16)
    y = g.tensor("y", (tokens, width), sg.f32)
    route = g.input("route", sg.Selector(experts, hot=top), (tokens,))
    rows = sg.linear_offchip_load(x, tile=(1, width), shape=(tokens, 1), stride=(1, 0))
    parts = sg.partition(rows, route, rank=1)
    results = [_expert(g, i, part, width, inner, tile) for i, part in enumerate(parts)]
    merged = sg.reassemble(results, route, rank=0)
    score = sg.linear_offchip_load(scores, tile=(1, 1), shape=(tokens, top), stride=(top, 1))
    weighted = merged.map(sg.fn.mul(), score.map(sg.fn.convert(sg.f32)))
    sg.linear_offchip_store(weighted.accum(sg.fn.add(), rank=1), y)
    g.check()
    return g


def _expert(
    g: sg.Graph, i: int, part: sg.Stream, width: int, inner: int, tile: int | None
) -> sg.Stream:
    flat = part.flatten(0, 1)
    chunks, padding = (flat.promote(), None) if tile is None else flat.reshape(chunk=tile)
    packed = chunks.accum(sg.fn.retile_row(), rank=1)
    steps = inner // 64
    repeated = packed.promote(0).expand(count=steps)
    read = {"shape": (steps,), "stride": (1,), "ref": packed}
    across = {"tile": (width, 64), **read}
    gate = sg.linear_offchip_load(g.tensor(f"gate{i}", (width, inner), sg.bf16), **across)
    up = sg.linear_offchip_load(g.tensor(f"up{i}", (width, inner), sg.bf16), **across)
    below = g.tensor(f"down{i}", (inner, width), sg.bf16)
    down = sg.linear_offchip_load(below, tile=(64, width), **read)
    gated = repeated.map(sg.fn.matmul(), gate).map(sg.fn.silu())
    hidden = gated.map(sg.fn.mul(), repeated.map(sg.fn.matmul(), up))
    result = hidden.map(sg.fn.convert(sg.bf16)).accum(sg.fn.matmul(), down, rank=1)
    return result.flat_map(sg.fn.retile_streamify("row"), rank=0, padding=padding)
