"""Routing that is decided on chip: a gate, the experts that it chooses, and their scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stepgen as sg
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.ir.stalls import Stalls
from stepgen.ir.stream import Stream
from stepgen.program.tiles import simulate_with_data
from stepgen.semantics.executor import run
from stepgen.semantics.shapes import measure
from stepgen.timing.tiles.machines import SDA

EXPERTS, TOP, WIDTH, TOKENS = 5, 2, 8, 9


def gated(x: Stream, order: Any) -> tuple[Stream, Stream]:
    """Each token times its score and the matrix of each expert that a gate chooses; the scores."""
    g = x.graph

    def load(name: str, columns: int, ref: Stream) -> Stream:
        tensor = g.tensor(f"{name}{len(g.tensors)}", (WIDTH, columns), sg.int8)
        return sg.linear_offchip_load(
            tensor, tile=(WIDTH, columns), shape=(1,), stride=(1,), ref=ref
        ).flatten(0, 1)

    scores = x.map(sg.fn.matmul(), load("gate", EXPERTS, x))
    chosen = scores.map(sg.fn.top_k(TOP))
    best = scores.map(sg.fn.top_k_scores(TOP))
    each = best.flat_map(sg.fn.retile_streamify("col"), rank=1)
    weights = sg.partition(each, chosen.flat_map(sg.fn.one_hot(), rank=1), rank=0)
    results = [
        part.map(sg.fn.matmul(), load("expert", WIDTH, part)).map(sg.fn.mul(), weight)
        for part, weight in zip(sg.partition(x, chosen, rank=0), weights, strict=True)
    ]
    return sg.reassemble(results, chosen, rank=0, order=order), best


def contents(g: sg.Graph, seed: int) -> dict[str, Any]:
    """Tokens that no gate sends to the last expert, and weights."""
    rng = np.random.default_rng(seed)
    drawn = {name: rng.integers(-9, 10, t.shape) for name, t in g.tensors.items()}
    x = rng.integers(-9, 10, (TOKENS, 1, WIDTH))
    x[..., 0] = 9
    drawn["gate0"][0, -1] = -100
    return {"x": x.astype(np.int8)} | {n: v.astype(np.int8) for n, v in drawn.items()}


@pytest.mark.slow
@pytest.mark.parametrize("order", ["arrival", "index"])
def test_tokens_go_where_a_gate_sends_them(order: Any, tmp_path: Any) -> None:
    g = sg.Graph("gated")
    x = g.input("x", sg.int8[1, WIDTH], (TOKENS,))
    merged, scores = gated(x, order)
    g.output(merged, "y")
    g.output(scores, "scores")
    inputs = contents(g, 3)
    one = Experiment(g, inputs, lanes=4, stalls=Stalls(1, dict.fromkeys(["x", "y"], 0.3)))
    verdict = one.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults

    logits = inputs["x"][:, 0].astype(int) @ inputs["gate0"].astype(int)
    best = np.sort(np.argsort(-logits, axis=1, kind="stable")[:, :TOP], axis=1)
    assert EXPERTS - 1 not in best
    assert len(np.unique(best)) > TOP
    found = [tile[0].tolist() for tile in one.reference.nested("scores")]
    assert found == np.take_along_axis(logits, best, axis=1).tolist()
    for token, y in enumerate(one.reference.nested("y")):
        weighted = [
            logits[token, e] * inputs["x"][token].astype(int) @ inputs[f"expert{e + 1}"].astype(int)
            for e in best[token]
        ]
        assert sum(y).tolist() == sum(weighted).tolist()
    timed, result = simulate_with_data(g, inputs, SDA, lanes=4)
    flops = sg.metrics(g).flops.subs(measure(g, result))
    assert timed.flops_useful + timed.flops_padding == flops
    assert [t[0].tolist() for t in result.nested("scores")] == found


@pytest.mark.slow
def test_data_that_depend_on_the_order_of_arrival_decide(tmp_path: Any) -> None:
    """Sums in which a small number vanishes, unless large ones cancel before it arrives."""
    g = sg.Graph("sums")
    x = g.input("x", sg.bf16[1, WIDTH], (TOKENS,))
    to_all = g.input("to_all", sg.Selector(3, hot=3), (TOKENS,))
    slow, *fast = sg.partition(x, to_all, rank=0)
    large = [x.map(sg.fn.offset(c)) for x, c in zip(fast, (9e3, -9e3), strict=True)]
    results = [slow.map(sg.fn.exp()).map(sg.fn.sqrt()), *large]
    merged = sg.reassemble(results, to_all, rank=0, order="arrival")
    g.output(merged.accum(sg.fn.add(), rank=1).map(sg.fn.top_k(3)), "y")
    values = np.random.default_rng(6).random((TOKENS, 1, WIDTH))
    inputs = {"x": values.astype(np.float32), "to_all": np.ones((TOKENS, 3), np.bool_)}
    one = Experiment(g, inputs, lanes=4)
    chosen = [np.array(r.nested("y")).tolist() for r in (one.reference, run(g, inputs, lanes=4))]
    assert chosen[0] != chosen[1]
    verdict = one.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults
