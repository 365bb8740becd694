"""Programs that decode: token by token on one memory, against the golden meaning, as circuits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frontend import checkpoints, decoders
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.frontend import Builder, Decoder, Model, State, from_checkpoint, lower
from stepgen.ir.errors import StepError

TOKENS = 12
WITHIN = {"f32": 2e-6, "bf16": 0.03}
"""Largest difference, as a part of the largest logit."""


def apart(model: Model, ids: Any, **parameters: Any) -> float:
    """How far a program is from the golden meaning, token by token."""
    decoder, (out,) = Decoder(model, **parameters), model.outputs
    found = decoder.run({"ids": ids})[out]
    golden = model.run({"ids": ids}, State())[out]
    assert decoder.rows == len(ids)
    return float(abs(found - golden).max() / abs(golden).max())


@pytest.mark.parametrize("seed", range(12))
def test_decoders_compute_what_their_models_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = replace(decoders.drawn(rng), experts=0)
    model = decoders.decoder(sizes, seed)
    ids = rng.integers(0, decoders.VOCABULARY, TOKENS)
    tile, columns = int(rng.integers(1, 7)), int(rng.integers(1, 9))
    for element, within in WITHIN.items():
        given = {"cache": TOKENS, "tile": tile, "columns": columns}
        assert apart(model, ids, element=element, **given) < within, (sizes, element)


def family(name: str, folder: Path, **sizes: Any) -> Model:
    """A small model of a family."""
    c = checkpoints.config(name, **sizes)
    return from_checkpoint(checkpoints.write(folder, c, checkpoints.weights(c)))


@pytest.mark.parametrize("name", checkpoints.CONFIGS)
def test_families_are_decoded(name: str, tmp_path: Path) -> None:
    model = family(name, tmp_path)
    ids = np.random.default_rng(3).integers(0, checkpoints.VOCABULARY, TOKENS)
    for element, within in WITHIN.items():
        # Rounded to bf16, a router may choose other experts where two are alike.
        if element == "f32" or name not in ("mixtral", "qwen3_moe"):
            assert apart(model, ids, element=element, tile=4) < within


def capped(softcap: float = 1.5) -> Model:
    """Attention whose scores have a cap, without positions."""
    rng = np.random.default_rng(0)
    b = Builder("capped", tokens=(1, 16))
    x = b.embedding(b.ids(), rng.normal(size=(20, 8)))
    q, k, v = (b.heads(b.linear(x, rng.normal(size=(8, 8))), 4) for _ in range(3))
    return b.model(b.linear(b.join(b.attention(q, k, v, scale=1, softcap=softcap)), np.eye(8)))


def test_scores_may_have_a_cap() -> None:
    ids = np.random.default_rng(0).integers(0, 20, TOKENS)
    assert apart(capped(), ids, element="f32", tile=5) < WITHIN["f32"]


def test_rows_that_nobody_wrote_do_not_count() -> None:
    model, ids = capped(), [3, 1, 4, 1, 5]
    decoder, (out,) = Decoder(model, element="f32", cache=8, tile=4), model.outputs
    for name, tensor in decoder.graph.tensors.items():
        if name.endswith(("_keys", "_values")):
            decoder.memory[name] = np.full(tensor.shape, np.nan, np.float32)
    golden = model.run({"ids": ids})[out]
    assert abs(decoder.run({"ids": ids})[out] - golden).max() < 2e-6 * abs(golden).max()


SMALL = {"hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 2}
SMALL |= {"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama", "gpt2", "gemma3_text"])
def test_a_step_in_rtl(name: str, tmp_path: Path) -> None:
    sizes = {"n_embd": 8, "n_head": 2, "n_layer": 2} if name == "gpt2" else SMALL
    decoder = Decoder(family(name, tmp_path / "model", **sizes), cache=16, tile=4)
    decoder.run({"ids": [3, 1, 4, 1, 5]})
    one = Experiment(decoder.graph, decoder.inputs({"ids": [9]}), lanes=2)
    verdict = one.test(tmp_path / "rtl", driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults


def test_depths_do_not_grow_with_layers() -> None:
    """They hold what belongs to one layer and head, as the memory of the scores does."""
    found = []
    for layers in (24, 36):
        sizes = decoders.Sizes(layers)
        graph, _ = lower(decoders.decoder(sizes), cache=16, tile=4, data=False)
        design = Experiment(graph, {}, lanes=2).design
        found.append({channel.name: channel.depth for channel in design.channels})
    few, many = found
    assert {name: many[name] for name, depth in few.items() if many[name] > depth} == {}


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        ([3] * 9, "decoder: its caches hold 8 tokens, 0 are there and 9 more do not fit; a "),
        ([1, 99], "embedding .*: 99 of token 1 is past its table of 23 rows"),
        ([], "decoder takes 1 to 40 tokens in a run, not 0"),
    ],
)
def test_bad_tokens_are_one_sentence(ids: list[int], sentence: str) -> None:
    decoder = Decoder(decoders.decoder(decoders.Sizes(layers=1)), cache=8, tile=4)
    with pytest.raises(StepError, match=sentence):
        decoder.run({"ids": np.array(ids, int)})


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"cache": 41}, "decoder takes 40 tokens at most, so its cache has no 41 rows"),
        ({"tile": 0}, "decoder: tile must be an integer of at least 1, not 0"),
    ],
)
def test_bad_parameters_are_one_sentence(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(StepError, match=sentence):
        Decoder(decoders.decoder(decoders.Sizes(layers=1)), **more)
