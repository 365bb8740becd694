"""Programs that decode: token by token on one memory, against the golden meaning, as circuits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from seeds import others_slow

from frontend import checkpoints, decoders
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.frontend import Batch, Builder, Decoder, Model, State, Weight, from_checkpoint, lower
from stepgen.ir.errors import StepError

TOKENS = 12
WITHIN = {"f32": 2e-6, "bf16": 0.03}
"""Largest difference, as a part of the largest logit."""


def apart(model: Model, ids: Any, **parameters: Any) -> Any:
    """How far a program is from the golden meaning, by token: first chunks, then one by one."""
    decoder, (out,) = Decoder(model, **parameters), model.outputs
    first, behind = np.split(ids, [9])
    found = [decoder.run({"ids": part})[out] for part in (first, behind)]
    golden = model.run({"ids": ids}, State())[out]
    assert decoder.rows == len(ids)
    return abs(np.concatenate(found) - golden).max(-1) / abs(golden).max()


def moved(model: Model, ids: Any, element: str) -> Any:
    """How far results move, by token, when every weight is rounded up or down.

    Where a row is nearly constant in front of a norm, or two experts nearly tie, it is far.
    """
    rng, (out,) = np.random.default_rng(0), model.outputs
    ulp, golden = {"f32": 2.0**-24, "bf16": 2.0**-9}[element], model.run({"ids": ids})[out]
    worst = np.zeros(len(ids))
    for _ in range(6):
        near = {
            name: weight
            if "window" in name or "frequencies" in name
            else Weight.of(weight.numbers() * (1 + rng.uniform(-ulp, ulp, weight.shape)))
            for name, weight in model.weights.items()
        }
        found = replace(model, weights=near).run({"ids": ids})[out]
        worst = np.maximum(worst, abs(found - golden).max(-1) / abs(golden).max())
    return worst


@pytest.mark.parametrize("seed", others_slow(range(12), (3, 5, 6, 8, 10)))
def test_decoders_compute_what_their_models_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = decoders.drawn(rng)
    model = decoders.decoder(sizes, seed)
    ids = rng.integers(0, decoders.VOCABULARY, TOKENS)
    tile, columns = int(rng.integers(1, 7)), int(rng.integers(1, 9))
    chunk = int(rng.choice([n for n in range(1, tile + 1) if tile % n == 0]))
    for element, within in WITHIN.items():
        given = {"cache": TOKENS, "tile": tile, "columns": columns}
        given |= {"chunk": chunk if element == "f32" else None}
        far, allowed = apart(model, ids, element=element, **given), moved(model, ids, element)
        assert (far < np.maximum(within, 4 * allowed)).all(), (sizes, element, far)
        assert np.median(far) < within


def family(name: str, folder: Path, **sizes: Any) -> Model:
    """A small model of a family."""
    c = checkpoints.config(name, **sizes)
    return from_checkpoint(checkpoints.write(folder, c, checkpoints.weights(c)))


@pytest.mark.parametrize("name", others_slow(checkpoints.CONFIGS, ("mixtral", "qwen3_moe")))
def test_families_are_decoded(name: str, tmp_path: Path) -> None:
    model = family(name, tmp_path)
    ids = np.random.default_rng(3).integers(0, checkpoints.VOCABULARY, TOKENS)
    for element, within in WITHIN.items():
        # Rounded to bf16, a router may choose other experts where two are alike.
        if element == "f32" or name not in ("mixtral", "qwen3_moe"):
            chunk = 4 if element == "f32" else None
            assert apart(model, ids, element=element, tile=4, chunk=chunk).max() < within


def capped(softcap: float = 1.5) -> Model:
    """Attention whose scores have a cap, without positions."""
    rng = np.random.default_rng(0)
    b = Builder("capped", tokens=(1, 16))
    x = b.embedding(b.ids(), rng.normal(size=(20, 8)))
    q, k, v = (b.heads(b.linear(x, rng.normal(size=(8, 8))), 4) for _ in range(3))
    return b.model(b.linear(b.join(b.attention(q, k, v, scale=1, softcap=softcap)), np.eye(8)))


def test_scores_may_have_a_cap() -> None:
    ids = np.random.default_rng(0).integers(0, 20, TOKENS)
    assert apart(capped(), ids, element="f32", tile=5).max() < WITHIN["f32"]


def test_rows_that_nobody_wrote_do_not_count() -> None:
    model, ids = capped(), [3, 1, 4, 1, 5]
    decoder, (out,) = Decoder(model, element="f32", cache=8, tile=4), model.outputs
    for name, tensor in decoder.graph.tensors.items():
        if name.endswith(("_keys", "_values")):
            decoder.memory[name] = np.full(tensor.shape, np.nan, np.float32)
    golden = model.run({"ids": ids})[out]
    assert abs(decoder.run({"ids": ids})[out] - golden).max() < 2e-6 * abs(golden).max()


def test_a_window_past_the_caches_sees_all_that_is_in_them() -> None:
    model, ids = decoders.decoder(decoders.Sizes(layers=2, windows=(40, 3))), np.arange(6)
    decoder = Decoder(model, element="f32", cache=8, tile=4)
    found, golden = decoder.run({"ids": ids})["logits"], model.run({"ids": ids})["logits"]
    assert abs(found - golden).max() < 2e-6 * abs(golden).max()


SMALL = {"hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 2}
SMALL |= {"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama", "gpt2", "gemma3_text", "mixtral"])
def test_a_step_in_rtl(name: str, tmp_path: Path) -> None:
    sizes = {"n_embd": 8, "n_head": 2, "n_layer": 2} if name == "gpt2" else SMALL
    decoder = Decoder(family(name, tmp_path / "model", **sizes), cache=16, tile=4)
    decoder.run({"ids": [3, 1, 4, 1, 5]})
    one = Experiment(decoder.graph, decoder.inputs({"ids": [9]}), lanes=2)
    verdict = one.test(tmp_path / "rtl", driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults


def test_only_the_last_token_of_a_prompt_goes_to_the_head() -> None:
    model, ids = decoders.decoder(decoders.Sizes(layers=2)), np.arange(7)
    decoder = Decoder(model, element="f32", cache=16, tile=4, chunk=4, last=True)
    found, golden = decoder.run({"ids": ids})["logits"], model.run({"ids": ids})["logits"]
    assert abs(found - golden[-1:]).max() < 2e-6 * abs(golden).max()


@pytest.mark.parametrize(("windows", "chunk"), [((0,), None), ((2, 5), 4)])
def test_requests_join_and_leave(windows: tuple[int, ...], chunk: int | None) -> None:
    model = decoders.decoder(decoders.Sizes(layers=2, groups=1, windows=windows))
    rng = np.random.default_rng(1)
    batch = Batch(model, requests=3, element="f32", cache=16, tile=4, chunk=chunk)
    waiting = [rng.integers(0, 20, n).tolist() for n in (5, 1, 3, 6)]
    compared = 0
    while waiting or batch.requests:
        while waiting and len(batch.requests) < 3:
            batch.admit(waiting.pop(0))
        for request, found in batch.step().items():
            golden = model.run({"ids": request.ids})["logits"][-1]
            assert abs(found["logits"] - golden).max() < 2e-6 * abs(golden).max()
            compared += 1
            request.append(int(rng.integers(0, 20)))
            if len(request.ids) > 8:
                batch.leave(request)
    assert compared == sum(8 - n + 1 for n in (5, 1, 3, 6))


def test_bad_requests_are_one_sentence() -> None:
    batch = Batch(decoders.decoder(decoders.Sizes(layers=1)), requests=1, cache=8, tile=4)
    with pytest.raises(StepError, match="decoder: there is no request: admit one"):
        batch.step()
    with pytest.raises(StepError, match="its caches hold 8 tokens, 0 are there and 9 more"):
        batch.admit([1] * 9)
    request = batch.admit([1])
    with pytest.raises(StepError, match="all 1 places are taken: let a request leave, or make"):
        batch.admit([1])
    batch.step()
    with pytest.raises(StepError, match="<request 0: 1 of 1 tokens> has no token to decode"):
        batch.step()
    batch.leave(request)
    with pytest.raises(StepError, match="<request 0: 1 of 1 tokens> is not in the batch"):
        batch.leave(request)


@pytest.mark.slow
def test_a_chunk_of_an_attention_in_rtl(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    b = Builder("attend", tokens=(1, 16))
    x = b.heads(b.embedding(b.ids(), rng.normal(size=(20, 4))), 4)
    decoder = Decoder(b.model(b.join(b.attention(x, x, x, scale=1))), cache=8, tile=2, chunk=2)
    decoder.run({"ids": [3, 1]})
    assert decoder.prefill is not None
    one = Experiment(decoder.prefill, decoder.inputs({"ids": [4, 1]}), lanes=2)
    verdict = one.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults


@pytest.mark.slow
def test_a_chunk_and_a_batch_in_rtl(tmp_path: Path) -> None:
    model = family("llama", tmp_path / "model", **SMALL)
    decoder = Decoder(model, cache=16, tile=4, chunk=4, last=True)
    decoder.run({"ids": [3, 1, 4, 1]})
    assert decoder.prefill is not None
    batch = Batch(model, requests=4, cache=16, tile=4)
    for prompt in ([3, 1, 4, 1, 5, 9], [2, 7, 1], [6, 5, 3, 5]):
        batch.admit(prompt)
    batch.step()
    batch.admit([8, 8])
    batch.step()
    batch.leave(batch.requests[0])
    for request in batch.requests:
        request.append(4)
    runs = {"chunk": (decoder.prefill, decoder.inputs({"ids": [9, 2, 6]}))}
    runs["batch"] = (batch.graph, batch.inputs())
    for name, (graph, inputs) in runs.items():
        verdict = Experiment(graph, inputs, lanes=2).test(
            tmp_path / name, driver="cpp", opt=LEAST_BUILD
        )
        assert verdict.good, verdict.outcome.faults


@pytest.mark.slow
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
