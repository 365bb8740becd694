"""Weights of 8 and 4 bits with scales: golden meaning, programs, files, circuits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from seeds import others_slow, some_slow

from examples import models
from frontend import decoders
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.frontend import Builder, Decoder, Model, State, load, lower, quantize, save
from stepgen.frontend.kinds.scaled_experts import ScaledExperts
from stepgen.frontend.kinds.scaled_linear import ScaledLinear
from stepgen.frontend.model import walk
from stepgen.frontend.quantizing.quantize import quantized
from stepgen.frontend.quantizing.scaling import Rounded
from stepgen.frontend.show import costs
from stepgen.frontend.weight import Weight
from stepgen.ir.errors import StepError
from stepgen.ir.fn import fn

TEXT = np.random.default_rng(5).integers(0, decoders.VOCABULARY, 10)
SCHEMES: list[dict[str, Any]] = [
    {"scheme": "w8"},
    {"scheme": "w8", "group": 3},
    {"scheme": "w4"},
    {"scheme": "w4", "group": 4},
]


def drawn(seed: int) -> tuple[Model, Model, np.random.Generator]:
    """A model, and the same with weights of fewer bits; experts could change with them."""
    rng = np.random.default_rng(seed)
    sizes = replace(decoders.drawn(rng), experts=0)
    scheme = SCHEMES[seed % len(SCHEMES)]
    if scheme["scheme"] == "w4":  # two numbers are a byte
        sizes = replace(sizes, hidden=2 * sizes.hidden)
    model = decoders.decoder(sizes, seed)
    return model, quantize(model, **scheme), rng


@pytest.mark.parametrize("seed", others_slow(range(24), (2,)))
def test_programs_compute_what_the_model_does(seed: int) -> None:
    _, model, rng = drawn(seed)
    want = model.run({"ids": TEXT}, State())["logits"]
    given = {"cache": 12, "tile": int(rng.integers(1, 7)), "columns": int(rng.integers(1, 9))}
    for element, share in (("f32", 2e-6), ("bf16", 0.03)):
        found = Decoder(model, element=element, **given).run({"ids": TEXT})["logits"]
        assert distance(found, want) <= share, element
    chunks = Decoder(model, element="f32", chunk=given["tile"], **given).run({"ids": TEXT})
    assert distance(chunks["logits"], want) <= 2e-6


@pytest.mark.parametrize("scheme", some_slow(["w4", "w8"], 1))
def test_experts_compute_what_the_model_does(scheme: str) -> None:
    sizes = decoders.Sizes(layers=2, experts=3, hidden=8)
    model = quantize(decoders.decoder(sizes, 1), scheme=scheme)
    assert any(isinstance(op.kind, ScaledExperts) for op in walk(model.ops))
    want = model.run({"ids": TEXT}, State())["logits"]
    for chunk in (None, 3):
        decoder = Decoder(model, cache=12, tile=3, columns=4, element="f32", chunk=chunk)
        assert distance(decoder.run({"ids": TEXT})["logits"], want) <= 2e-6
    with pytest.raises(StepError, match="experts with scales are read by address: leave tiling"):
        lower(model, phase="decode", tiling="static")


def distance(found: Any, want: Any) -> float:
    """As a share of what is wanted, by squares."""
    return float(np.linalg.norm(found - want) / np.linalg.norm(want))


@pytest.mark.parametrize("seed", range(8))
def test_weights_are_near_and_narrow(seed: int) -> None:
    exact, model, _ = drawn(seed)
    kinds = [op.kind for op in walk(model.ops) if isinstance(op.kind, ScaledLinear)]
    bits = 4 if SCHEMES[seed % len(SCHEMES)]["scheme"] == "w4" else 8
    assert {kind.bits for kind in kinds} == {bits}
    for op in walk(model.ops):
        if isinstance(op.kind, ScaledLinear):
            whole = model.weights[op.weights["weight"]].array
            assert whole.dtype == np.int8
            assert np.abs(whole).max() == 2 ** (bits - 1) - 1
    want, found = (m.run({"ids": TEXT}, State())["logits"] for m in (exact, model))
    assert distance(found, want) <= (0.5 if bits == 4 else 0.05)


def test_scales_are_those_of_the_least_squares() -> None:
    """A single large number would leave few steps for the others."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(2, 32, 3))
    numbers[0, 5, 1] = 8.0
    numbers[1, :16, 2] = 0.0
    made = Rounded(Weight.of(numbers), 4, 16)
    whole, scale = made.arrays
    assert scale.shape == (2, 2, 3)
    assert (whole[1, :16, 2] == 0).all()
    by_largest = np.abs(numbers.reshape(2, 2, 16, 3)).max(2) / 7
    assert (scale <= by_largest * 1.0001).all()

    def error(scales: Any) -> Any:
        step = np.repeat(np.where(scales > 0, scales, 1), 16, -2)
        off = np.clip(np.rint(numbers / step), -7, 7) * step - numbers
        return np.square(off).reshape(2, 2, 16, 3).sum(2)

    assert (error(scale) <= error(by_largest) + 1e-6).all()
    assert (error(scale) < 0.9 * error(by_largest)).any()


def test_a_file_has_the_same_model(tmp_path: Path) -> None:
    model = quantize(decoders.decoder(decoders.Sizes()), scheme="w4", group=4)
    save(model, tmp_path / "small.stepgen")
    assert load(tmp_path / "small.stepgen") == model


def test_what_it_costs() -> None:
    model = decoders.decoder(decoders.Sizes())
    found = quantized(model, scheme="w4", evaluate=TEXT)
    assert found.evaluated == len(TEXT) - 1
    assert found.losses is not None
    assert found.losses[0] != found.losses[1]
    assert all(15 < weight.sqnr < 35 for weight in found.weights.values())
    assert quantized(model, scheme="w8").losses is None
    graph, memory = lower(found.model, cache=8)
    stored = [t for t in graph.tensors.values() if t.element.name == "int4"]
    assert len(stored) == len(found.weights)
    assert all(np.abs(memory[t.name]).max() <= 7 for t in stored)


def test_caches_have_the_bytes_that_they_had_and_weights_have_fewer() -> None:
    exact = models.gpt2(layers=1)
    small = quantize(exact, scheme="w4")
    before, after = ([line.cached for line in costs(model, 9)] for model in (exact, small))
    assert sum(after) == sum(before) == 2 * 32 * 2
    (name,) = [n for n in small.weights if n.startswith("logits") and n.endswith("weight")]
    weight = small.weights[name]
    (line,) = [line for line in costs(small, 9) if line.placed.op.name == "logits"]
    others = {*line.placed.op.weights.values()} - {name}
    assert line.bytes == weight.size // 2 + 4 * sum(small.weights[n].size for n in others)
    assert f"{sum(one.whole[1] for one in costs(small, 9)):,} bytes" in str(small)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"scheme": "w3"}, "there is no scheme 'w3', those are int, w8, w4, w8a8, w4a8"),
        ({"scheme": "w8", "group": 0}, "a group must have 1 row or more, not 0"),
        ({"scheme": "int", "group": 4}, "group is for w8, w4, w8a8, w4a8: int has no scales"),
        ({}, "the scheme int needs a calibration set"),
        ({"scheme": "w8", "evaluate": [3, 99]}, "the text to evaluate: embedding .*: 99 of token"),
        (
            {"scheme": "w4"},
            r"linear .*down at .*: its weight has 3 rows, an odd number: tak",
        ),
    ],
)
def test_bad_input_is_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(StepError, match=sentence):
        quantize(decoders.decoder(decoders.Sizes(layers=1, hidden=3)), **options)


def test_what_is_quantized_is_not_quantized_again() -> None:
    model = quantize(decoders.decoder(decoders.Sizes(layers=1)), scheme="w8")
    for scheme in ("w8", "int"):
        with pytest.raises(StepError, match=r"is quantized already: scaled_linear .* has scales"):
            quantize(model, TEXT, scheme=scheme)


def test_a_model_without_linears() -> None:
    b = Builder("rows", tokens=(1, 16))
    with pytest.raises(StepError, match="rows has no linear, whose weights could get fewer bits"):
        quantize(b.model(b.map(fn.silu(), b.input("x", 4))), scheme="w8")


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "rows"), [("w8", 1), ("w4", 1), ("w4", 3)])
def test_a_circuit(scheme: str, rows: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(rows)
    b = Builder("gated", tokens=(1, 6))
    x = b.input("x", 8)
    up = b.map(fn.silu(), b.linear(x, rng.normal(size=(8, 12)), rng.normal(size=12)))
    model = quantize(b.model(b.linear(up, rng.normal(size=(12, 8)))), scheme=scheme, group=4)
    graph, weights = lower(model, rows=rows, columns=6)
    given = rng.normal(size=(4, 1, 8)).astype(np.float32)
    (name,) = graph.inputs
    one = Experiment(graph, {**weights, name: given}, lanes=2)
    verdict = one.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults


@pytest.mark.slow
def test_a_step_of_experts_in_rtl(tmp_path: Path) -> None:
    sizes = decoders.Sizes(layers=2, heads=2, groups=1, each=4, hidden=4, experts=3)
    decoder = Decoder(quantize(decoders.decoder(sizes), scheme="w4"), cache=8, tile=4)
    decoder.run({"ids": TEXT[:5]})
    one = Experiment(decoder.graph, decoder.inputs({"ids": TEXT[5:6]}), lanes=2)
    verdict = one.test(tmp_path / "rtl", driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults
