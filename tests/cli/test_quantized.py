"""A whole model of w8a8 by commands: from a config to a simulated board."""

from __future__ import annotations

import json

import numpy as np
import pytest

GPT2 = {
    **{"model_type": "gpt2", "n_embd": 16, "n_layer": 2, "n_head": 2, "n_inner": 32},
    **{"n_positions": 32, "vocab_size": 40, "activation_function": "gelu_new"},
}
BOARD = "virtual:ulx3s-85f-sdram"


@pytest.mark.slow
def test_a_gpt2_of_w8a8_in_verilog_and_on_a_board(stepgen, here) -> None:
    """All numbers, bytes and cycles are compared; two builds take most of the time."""
    (here / "config.json").write_text(json.dumps(GPT2))
    np.save("text.npy", np.random.default_rng(0).integers(0, 40, 60))
    np.save("ids.npy", [3, 1, 7])
    made = stepgen("quantize config.json --scheme w8a8 --calibrate text.npy -o g.stepgen --json")
    assert made.json["scheme"] == "w8a8"
    assert abs(made.json["loss"]["after"] - made.json["loss"]["before"]) < 0.02
    model = "g.stepgen --set cache=8 --set tile=4 --lanes 2"

    tested = stepgen(f"test {model} --ids ids.npy --driver cpp --json").json
    assert tested["good"]
    board = f"deploy {model} --no-counters --board {BOARD}"
    text = stepgen(f"{board} --ids ids.npy --more 2 --resident --json -o board.npz").json
    assert text["good"]
    assert all(one["cycles"]["board"] == one["cycles"]["predicted"] for one in text["tokens"])
    host = stepgen(f"run {model} --ids ids.npy --more 2 --json -o host.npz").json
    assert text["generated"] == host["generated"]
    with np.load("board.npz") as one, np.load("host.npz") as other:
        assert np.array_equal(one["logits"], other["logits"])

    alone = stepgen(f"{board} --json").json  # behind drawn caches, with the same build
    assert alone["good"]
    assert alone["cycles"]["board"] == alone["cycles"]["predicted"]
