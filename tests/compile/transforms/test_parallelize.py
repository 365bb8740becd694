from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from same import check_same

import stepgen as sg
from examples.attention import attention
from stepgen.compile.transforms import Transformed, insert_forks, parallelize
from stepgen.semantics.executor import run
from stepgen.semantics.tokens import encode

fn = sg.fn
WAYS = ("coarse", "interleaved", "dynamic")


def lookups(
    lengths: Sequence[int], how: str = "stored", seed: int = 0
) -> tuple[sg.Graph, dict[str, Any]]:
    """Each request sums up products with a range of tiles; results by address, as output or rows."""
    rng = np.random.default_rng(seed)
    batch, room = len(lengths), 8
    g = sg.Graph("lookups")
    span = g.input("span", sg.address[1, 2], (batch,))
    query = g.tensor("query", (2 * batch, 4), sg.int8)
    table = g.tensor("table", (4 * room, 4), sg.int8)
    tiles = span.flat_map(fn.span(), rank=1).random_offchip_load(table, tile=(4, 4))
    x = sg.linear_offchip_load(query, tile=(2, 4), shape=(batch,), stride=(1,), name="query")
    total = x.promote(0).expand(tiles).accum(fn.matmul(), tiles, rank=1, init=0, name="total")
    y = g.tensor("y", (2 * batch, 4), sg.int32)
    inputs = {
        "span": [np.array([[rng.integers(0, room - n + 1), n]]) for n in lengths],
        "query": rng.integers(-9, 9, (2 * batch, 4)).astype(np.int8),
        "table": rng.integers(-9, 9, (4 * room, 4)).astype(np.int8),
    }
    if how == "stored":
        place = g.input("place", sg.address[1, 1], (batch,))
        sg.random_offchip_store(place, total, y, tile=(2, 4), name="ack")
        inputs["place"] = rng.permutation(batch).reshape(batch, 1, 1)
    elif how == "rows":
        sg.linear_offchip_store(total, y)
    else:
        g.output(total, "total_out")
        g.output(tiles, "tiles_out")
    return g, inputs


def arrivals(new: Transformed, inputs: dict[str, Any], seed: int) -> dict[str, list[int]]:
    """Orders in which regions may become free: a region can finish only what it was given."""
    g = new.graph
    merge = next((n for n in g.nodes if n.op == "eager_merge"), None)
    if merge is None:
        return {}
    rng = np.random.default_rng(seed)
    given = new.inputs(inputs)
    total, work = len(given["regions_later"]), [int(np.argmax(s)) for s in given["regions_first"]]
    order: list[int] = []
    while work:
        region = int(rng.choice(work))
        work.remove(region)
        order.append(region)
        if len(order) <= total - len(given["regions_first"]):
            work.append(region)
    return {merge.name: order}


LENGTHS = {
    "one": [3],
    "alike": [2] * 6,
    "uneven": [8, 0, 1, 5, 0, 2, 1],
    "nothing": [0, 0, 0],
    "few": [1, 4],
}


@pytest.mark.parametrize("regions", [1, 2, 3, 4])
@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("results", ["stored", "rows", "outputs"])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_regions_do_together_what_one_does(lengths, results, how, regions):
    old, inputs = lookups(LENGTHS[lengths], results)
    new = parallelize(old, regions=regions, how=how)
    check_same(old, new, inputs)
    for seed in range(2):
        check_same(old, insert_forks(new), inputs, arrivals(new, inputs, seed))
