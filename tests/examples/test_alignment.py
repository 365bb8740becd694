"""Local alignment against plain dynamic programming, cell by cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import example

import stepgen as sg
from stepgen.ir.text import dumps, loads
from stepgen.semantics.executor import run
from stepgen.semantics.shapes import measure

PRICES = {"match": 3, "mismatch": -3, "gap": 2}


def smith_waterman(query: Any, target: Any) -> tuple[int, int]:
    """The best local score, and that of an alignment up to the end of the query."""
    table = np.zeros((len(query) + 1, len(target) + 1), int)
    for i, q in enumerate(query, 1):
        for j, t in enumerate(target, 1):
            pair = table[i - 1, j - 1] + (PRICES["match"] if q == t else PRICES["mismatch"])
            gap = max(table[i - 1, j], table[i, j - 1]) - PRICES["gap"]
            table[i, j] = max(0, pair, gap)
    return int(table.max()), int(table[-1].max())


def check(queries: Any, targets: Any) -> None:
    graph, inputs = example("alignment").alignment(queries, targets, **PRICES)
    graph.check()
    assert loads(dumps(graph)) == graph
    result = run(graph, inputs)
    measure(graph, result)
    expected = [smith_waterman(q, t) for q in queries for t in targets]
    got = (result.tensors[name].ravel().tolist() for name in ("best", "ending"))
    assert list(zip(*got, strict=True)) == expected


@pytest.mark.parametrize("seed", range(5))
def test_drawn_sequences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    queries = [rng.integers(0, 4, rng.integers(1, 20)) for _ in range(7)]
    check(queries, rng.integers(0, 4, (3, 15)))


def test_known_sequences() -> None:
    letters = {letter: i for i, letter in enumerate("ACGT")}
    query, target = ([letters[c] for c in word] for word in ("GGTTGACTA", "TGTTACGG"))
    assert smith_waterman(query, target)[0] == 13
    check([query, query[:1], target], np.array([target]))


def test_targets_of_one_letter() -> None:
    check([[0], [1, 0], [2, 2, 2]], np.array([[0], [2]]))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"queries": [[1], []]}, "needs queries of at least 1 letter"),
        ({"queries": [[1, 4]]}, "has the letters 0 to 3, not those of queries"),
        ({"targets": np.array([[-1]])}, "has the letters 0 to 3, not those of targets"),
    ],
)
def test_settings_that_do_not_fit(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sg.StepError, match=sentence):
        example("alignment").alignment(**settings)
