"""What `stepgen time` says beside its table."""

from __future__ import annotations

WRITTEN = """
import numpy as np
import stepgen as sg


def scattered(columns: int = 5):
    g = sg.Graph("scattered")
    t = g.tensor("t", (4, columns), sg.int8)
    at = g.input("at", sg.address[1, 1], (3,))
    rows = g.input("rows", sg.int8[1, columns], (3,))
    g.output(sg.random_offchip_store(at, rows, t, tile=(1, columns)), "done")
    return g, {"at": np.arange(3).reshape(3, 1, 1), "rows": np.ones((3, 1, columns), np.int8)}


def merged(n: int = 0):
    g = sg.Graph("merged")
    x, y = (g.input(name, sg.int8[1, 4], (n,)) for name in "xy")
    data, _ = sg.eager_merge([x, y], rank=0)
    g.output(data, "out")
    return g
"""


def test_words_that_depend_on_addresses_are_a_bound(stepgen, here) -> None:
    (here / "w.py").write_text(WRITTEN)
    assert "by formula at most 48\n" in stepgen("time w.py:scattered").out
    assert "by formula 24\n" in stepgen("time w.py:scattered --set columns=8").out


def test_a_merge_without_chunks(stepgen, here) -> None:
    (here / "w.py").write_text(WRITTEN)
    assert (
        "eager_merge_0 took its inputs to their ends, no chunk\n" in stepgen("time w.py:merged").out
    )
    assert "took its inputs in the order 0 1\n" in stepgen("time w.py:merged --set n=1").out
