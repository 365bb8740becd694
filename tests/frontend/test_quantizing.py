"""Models of integers: golden meaning and program bit for bit, files, errors, circuits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from seeds import some_slow

from frontend import decoders
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.frontend import Batch, Builder, Decoder, Model, State, load, quantize, save
from stepgen.frontend.quantizing.quantize import quantized
from stepgen.ir.errors import StepError
from stepgen.ir.fn import fn

TEXT = np.random.default_rng(5).integers(0, decoders.VOCABULARY, 80)


def plain(rng: np.random.Generator) -> decoders.Sizes:
    """Sizes of which every operation has a form of integers."""
    return replace(decoders.drawn(rng), layer_norm=False, head_norm=False)


@pytest.mark.parametrize("seed", some_slow(range(16), 5))
def test_programs_compute_the_bits_of_the_golden_meaning(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = plain(rng)
    model, ids = decoders.integers(decoders.decoder(sizes, seed)), TEXT[:10]
    given = {"cache": 12, "tile": int(rng.integers(1, 7)), "columns": int(rng.integers(1, 9))}
    found = Decoder(model, **given).run({"ids": ids})["logits"]
    assert np.array_equal(found, model.run({"ids": ids}, State())["logits"]), sizes
    assert np.array_equal(found, decoders.logits(model, ids, cuts=(3, 4))), sizes


@pytest.mark.parametrize("experts", [0, 3])
def test_chunks_and_batches_compute_the_same_bits(experts: int) -> None:
    model = decoders.integers(decoders.decoder(decoders.Sizes(layers=2, experts=experts)))
    want = model.run({"ids": TEXT[:10]}, State())["logits"]
    decoder = Decoder(model, cache=12, tile=4, chunk=4)
    assert np.array_equal(decoder.run({"ids": TEXT[:10]})["logits"], want)
    batch = Batch(model, requests=2, cache=12, tile=4)
    first, other = batch.admit(TEXT[:3]), batch.admit(TEXT[:1])
    for place in range(3):
        found = batch.step()
        if place == 2:
            assert np.array_equal(found[first]["logits"].ravel(), want[2])
        if place == 0:
            assert np.array_equal(found[other]["logits"].ravel(), want[0])
            batch.leave(other)


def test_a_file_has_the_same_model(tmp_path: Path) -> None:
    model = decoders.integers(decoders.decoder(decoders.Sizes(experts=3)))
    save(model, tmp_path / "small.stepgen")
    found = load(tmp_path / "small.stepgen")
    assert found == model
    assert {w.element for w in found.weights.values()} == {"int8", "int16", "int32", "f64"}


@pytest.mark.slow
def test_a_search_finds_places_that_are_nearer() -> None:
    model = decoders.decoder(decoders.Sizes(layers=2, experts=3))
    found = quantized(model, TEXT, evaluate=TEXT[:20])
    assert found.distances[-1] < 0.8 * found.distances[0]
    assert found.evaluated == 19
    assert abs(found.losses[1] - found.losses[0]) < 0.1
    embedding, norm, *others = found.errors
    assert embedding.sqnr > 60
    assert norm.sqnr > 25
    assert {error.layer for error in others} == {(), (0,), (1,)}


def capped() -> Model:
    """A model with an operation that has no form of integers."""
    b = Builder("capped", tokens=(1, 16))
    with b.scope("layers.0"):
        x = b.embedding(b.ids(), np.eye(8))
        q, k, v = (b.heads(b.linear(x, np.eye(8)), 4) for _ in range(3))
        x = b.join(b.attention(q, k, v, scale=1, softcap=1.5, name="attention"))
    return b.model(b.linear(x, np.eye(8)))


def rows() -> Model:
    """A model that begins with rows."""
    b = Builder("rows", tokens=(1, 16))
    return b.model(b.map(fn.silu(), b.input("x", 4)))


@pytest.mark.parametrize(
    ("model", "ids", "sentence"),
    [
        ("decoder", [], "the calibration set needs at least 2 ids, it has 0"),
        ("decoder", [3], "the calibration set needs at least 2 ids, it has 1"),
        ("decoder", [3, 99], "the calibration set: embedding .*: 99 of token 1 is past its table"),
        ("decoder", [0.5, 1], "the calibration set must be a list of integers, not "),
        ("quantized", [3, 1], r"decoder is quantized already: its embedding is int16\[T, 16\]"),
        ("rows", [3, 1], "rows takes no ids, its inputs are x"),
        ("capped", [3, 1], "attention layers.0.attention at .*: the scheme int has no form of it"),
        ("layer", [3, 1], "norm .*first_norm at .*: the scheme int has no form of it: it takes"),
    ],
)
def test_bad_input_is_one_sentence(model: str, ids: Any, sentence: str) -> None:
    made = decoders.decoder(decoders.Sizes(layers=1, layer_norm=model == "layer"))
    models = {"rows": rows, "capped": capped, "quantized": lambda: decoders.integers(made)}
    with pytest.raises(StepError, match=sentence):
        quantize(models.get(model, lambda: made)(), ids)


@pytest.mark.slow
def test_a_step_in_rtl(tmp_path: Path) -> None:
    sizes = decoders.Sizes(layers=2, heads=2, groups=1, each=4, hidden=4, experts=3)
    model = decoders.integers(decoders.decoder(sizes))
    decoder = Decoder(model, cache=8, tile=4)
    decoder.run({"ids": TEXT[:5]})
    one = Experiment(decoder.graph, decoder.inputs({"ids": TEXT[5:6]}), lanes=2)
    verdict = one.test(tmp_path / "rtl", driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults
