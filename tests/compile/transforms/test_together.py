"""Transforms one after the other, in any order."""

from __future__ import annotations

from itertools import permutations
from zlib import crc32

import pytest
from same import check_same, draw_routing, small_moe

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


@pytest.mark.parametrize("tiling", TILINGS)
@pytest.mark.parametrize("order", list(permutations(["tiling", *OTHERS])), ids="-".join)
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
