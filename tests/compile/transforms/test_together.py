"""Transforms one after the other, in any order."""

from __future__ import annotations

from itertools import permutations
from zlib import crc32

import pytest
from same import check_same, draw_routing, small_moe
from seeds import one_seed_each

from examples.moe_swiglu import moe_swiglu
from stepgen.compile.transforms import (
    capped_tiling,
    dynamic_tiling,
    insert_forks,
    row_references,
    static_tiling,
    time_multiplex,
)

TILINGS = {
    "static": lambda g: static_tiling(g, tile=3),
    "dynamic": dynamic_tiling,
    "capped": lambda g: capped_tiling(g, rows=2),
}
OTHERS = {
    "references": row_references,
    "regions": lambda g: time_multiplex(g, regions=2),
    "forks": insert_forks,
}


@pytest.mark.parametrize(
    ("tiling", "order"), one_seed_each(TILINGS, permutations(["tiling", *OTHERS]))
)
def test_any_order_gives_the_same_program(order, tiling):
    seed = crc32(f"{order} {tiling}".encode())
    written = list(TILINGS)[seed % 3]
    old, inputs = small_moe(draw_routing(seed), written)
    new = old
    for name in order:
        if (name, tiling) == ("tiling", written) == ("tiling", "dynamic"):
            continue
        new = (OTHERS | {"tiling": TILINGS[tiling]})[name](new)
    check_same(old, new, inputs)


@pytest.mark.parametrize(
    ("tiling", "order"), one_seed_each(TILINGS, permutations(["tiling", "references", "regions"]))
)
def test_results_still_meet_what_was_routed_beside_them(order, tiling):
    """Each result of an expert is multiplied by its token's score: there are as many of both."""
    sizes = {"experts": 4, "top": 2, "width": 8, "inner": 8, "columns": 4}
    old, inputs = moe_swiglu(**sizes, tokens=5, tiling="static", tile=2, seed=len(tiling))
    new = old
    for name in order:
        new = (OTHERS | {"tiling": TILINGS[tiling]})[name](new)
    check_same(old, new, inputs)


@pytest.mark.parametrize("tiling", ["static", "capped"])
def test_a_tile_whose_weight_comes_once_stays_one(tiling):
    """The gate multiplies the tile of all tokens with a weight that is loaded once in a run."""
    sizes = {"experts": 4, "top": 2, "width": 8, "inner": 8, "columns": 4}
    old, inputs = moe_swiglu(**sizes, tokens=7, tiling="dynamic", gate="top_k")
    new = TILINGS[tiling](old)
    again = [node for node in new.graph.nodes if node.op == "reshape"]
    assert len(again) == sizes["experts"]
    check_same(old, new, inputs)
