"""Values of int8 in steps: golden meaning and programs bit for bit, calibration, circuits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples import models
from frontend import decoders
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.frontend import Builder, Decoder, Model, State, load, lower, quantize, save
from stepgen.frontend.quantizing.quantize import quantized
from stepgen.frontend.quantizing.ranges import Histogram
from stepgen.frontend.show import costs
from stepgen.ir.errors import StepError
from stepgen.ir.fn import fn
from stepgen.semantics import executor

TEXT = np.random.default_rng(5).integers(0, decoders.VOCABULARY, 60)
LINEARS = [(8, 1), (8, 2), (4, 1), (4, 3)]
"""Bits of a weight, and groups of its rows."""


def two(bits: int, groups: int, rng: np.random.Generator) -> Model:
    """Two linears, a function and a sum, by hand."""
    b, most = Builder("two", tokens=(1, 6)), 2 ** (bits - 1) - 1

    def linear(x: Any, rows: int, cols: int, bias: Any) -> Any:
        weight = rng.integers(-most, most + 1, (rows, cols)).astype(np.int8)
        scale = rng.uniform(0.001, 0.01, (groups, cols)).astype(np.float32)
        return b.scaled_linear(x, weight, scale, bias, bits=bits, step=np.float32([0.037]))

    x = b.input("x", 12)
    hidden = b.map(fn.at_least(0), linear(x, 12, 18, rng.normal(size=18)))
    return b.model(linear(hidden, 18, 12, None) + x)


@pytest.mark.parametrize(("bits", "groups"), LINEARS)
def test_linears_compute_the_bits_of_the_golden_meaning(bits: int, groups: int) -> None:
    rng = np.random.default_rng(bits + groups)
    model, x = two(bits, groups, rng), rng.normal(size=(5, 12)).astype(np.float32)
    want = model.run({"x": x})[model.outputs[0]]
    for settings in ({"columns": 6}, {"columns": 6, "rows": 3}, {"element": "f32"}):
        graph, weights = lower(model, **settings)
        (name,), (out,) = graph.inputs, graph.outputs
        found = executor.run(graph, {**weights, name: x.reshape(5, 1, 12)}).nested(out)
        # The golden sum of two f32 is not rounded.
        assert np.array_equal(np.reshape(found, want.shape), want.astype(np.float32)), settings


@pytest.mark.parametrize(
    ("family", "scheme"),
    [
        *(("gpt2", "w8a8"), ("mixtral", "w4a8")),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (("gpt2", "w4a8"), ("llama", "w8a8"), ("mixtral", "w8a8"))
        ),
    ],
)
def test_a_model_computes_the_bits_of_the_golden_meaning(family: str, scheme: str) -> None:
    """With sums of f32 between them, as no number is near enough to the middle of two steps."""
    model = quantize(getattr(models, family)(width=16, vocabulary=23), TEXT, scheme=scheme)
    want = model.run({"ids": TEXT[:5]}, State())["logits"]
    given = {"cache": 8, "tile": 4, "columns": 4, "element": "f32"}
    for chunk, tokens in ((None, 3), (4, 5)):
        found = Decoder(model, chunk=chunk, **given).run({"ids": TEXT[:tokens]})["logits"]
        assert np.array_equal(found, want[:tokens]), chunk


@pytest.mark.parametrize("calibration", ["mse", "minmax", "percentile"])
def test_what_it_costs(calibration: str) -> None:
    model = decoders.decoder(decoders.Sizes(layers=2, layer_norm=True))
    found = quantized(model, TEXT, "w8a8", calibration=calibration)
    assert found.losses is not None
    assert abs(found.losses[1] - found.losses[0]) < 0.02
    errors = {(error.name, error.layer): error for error in found.errors}
    assert len(found.steps) == 7
    for name, ranges in found.steps.items():
        for one in ranges:
            assert one.largest / 127 >= one.step * 0.9999 > 0
            assert errors[name, one.layer].sqnr > 20
    cut = [one.cut for ranges in found.steps.values() for one in ranges]
    assert max(cut) < (1e-9 if calibration == "minmax" else 0.01)


def test_histograms_grow_and_forget_no_number() -> None:
    rng, seen = np.random.default_rng(0), Histogram()
    parts = [rng.normal(size=1000) * size for size in (0.0, 0.01, 3.0, 0.5, 40.0)]
    for part in parts:
        seen.add(part)
    every = np.abs(np.concatenate(parts))
    assert seen.counts.sum() == len(every)
    assert seen.largest == every.max()
    most, few = seen.percentile(), len(every) // 1000
    assert (every > most).sum() <= few < (every >= most - seen.top / len(seen.counts)).sum()

    def error(most: float) -> float:
        step = most / 127
        return float(np.square(np.clip(np.rint(every / step), 0, 127) * step - every).sum())

    best = min(error(most) for most in np.linspace(0.2, 1, 200) * every.max())
    found = 127 * seen.step("mse", powers=False)
    assert error(found) <= 1.02 * best
    assert error(found) < error(seen.largest)
    best = min(error(127 * 2.0**places) for places in range(-8, 3))
    assert error(127 * seen.step("mse", powers=True)) == best


def test_operations_have_schemes_of_their_own(tmp_path: Path) -> None:
    model = decoders.decoder(decoders.Sizes(layers=2))
    override = {"*.linear*": "w8", "*.down": "w4a8", "logits": "none"}
    found = quantized(model, TEXT, "w8a8", group=4, override=override)
    assert [name.rpartition(".")[2] for name in found.steps] == ["out", "up", "down"]
    bits = {name.rpartition(".")[2]: one.bits for name, one in found.weights.items()}
    assert bits == {"linear": 8, "linear_1": 8, "linear_2": 8, "out": 8, "up": 8, "down": 4}
    save(found.model, tmp_path / "m.stepgen")
    assert load(tmp_path / "m.stepgen") == found.model
    want = found.model.run({"ids": TEXT[:5]}, State())["logits"]
    made = Decoder(found.model, cache=8, element="f32").run({"ids": TEXT[:5]})["logits"]
    assert np.linalg.norm(made - want) <= 2e-6 * np.linalg.norm(want)


def test_a_bias_without_a_weight_is_kept() -> None:
    """Sums of a column of small weights have room for it."""
    rng = np.random.default_rng(1)
    weight = rng.normal(size=(8, 6))
    weight[:, 2], weight[:, 3] = 0, 1e-20
    b, ids = Builder("biased", tokens=(1, 60)), TEXT % 6
    x = b.embedding(b.ids(), rng.normal(size=(6, 8)))
    bias = np.array([1.0, -1.0, 3.0, 5.0, 0.0, 1e9])
    model = b.model(b.linear(x, weight, bias, name="y"))
    found = quantize(model, ids, scheme="w8a8").run({"ids": ids})["y"]
    want = model.run({"ids": ids})["y"]
    assert np.abs(found - want)[:, :5].max() < 0.1
    assert found[:, 2:4] == pytest.approx(want[:, 2:4], rel=1e-6)
    assert found[:, 5] == pytest.approx(want[:, 5], rel=1e-6)


def test_a_model_without_logits_has_errors_and_no_loss() -> None:
    b = Builder("rows", tokens=(1, 60))
    x = b.embedding(b.ids(), np.random.default_rng(0).normal(size=(50, 4)))
    model = b.model(b.linear(x, np.eye(4), name="y"))
    found = quantized(model, TEXT, "w8a8")
    assert found.losses is None
    assert "y" in {error.name for error in found.errors}
    with pytest.raises(StepError, match="gives 4 logits, and a text has the id"):
        quantize(model, TEXT, "w8a8", evaluate=TEXT)


def classifier() -> Model:
    """Two inputs without ids, and a score for each of three classes."""
    rng = np.random.default_rng(3)
    b = Builder("classifier", tokens=(1, 40))
    x = b.map(fn.add(), b.input("x", 8), b.input("z", 8))
    return b.model(b.linear(b.map(fn.silu(), x), rng.normal(size=(8, 3)), name="y"))


def test_a_model_without_ids_is_calibrated_on_its_inputs() -> None:
    model, rng = classifier(), np.random.default_rng(4)
    given = {name: rng.normal(size=(100, 8)) for name in model.inputs}  # more rows than a run has
    found = quantized(model, given, "w8a8")
    assert (found.tokens, found.losses) == (100, None)
    ((_, (step,)),) = found.steps.items()
    x = given["x"] + given["z"]
    assert step.largest == pytest.approx((x / (1 + np.exp(-x))).max())
    assert {error.name for error in found.errors} >= {"y"}
    few = {name: rows[:40] for name, rows in given.items()}
    want = model.run(few)["y"]
    assert np.abs(found.model.run(few)["y"] - want).max() < 0.05 * np.abs(want).max()


@pytest.mark.parametrize(
    ("x", "given"),
    [
        ([[1j] * 8], "[[1j, 1j, 1j"),
        ([["a"] * 8], "[['a', 'a', "),
        ([[10**400] * 8], "[[an integer of 1329 bits"),
        ([[1], [2, 3]], "[[1], [2, 3]]"),
    ],
)
def test_inputs_that_are_no_real_numbers(x: Any, given: str) -> None:
    said = f"classifier: the input x must be f32[T, 8], not {given}"
    with pytest.raises(StepError, match=re.escape(said)):
        classifier().run({"x": x, "z": np.ones((1, 8))})


@pytest.mark.parametrize(
    ("calibrate", "options", "sentence"),
    [
        (None, {}, r"classifier takes no ids, so w8a8 needs a .* inputs by name: x, z \(npz\)"),
        ([1, 2], {}, "classifier takes no ids, so w8a8 needs a calibration set with arrays of"),
        ({"x": (2, 8)}, {}, "the calibration set lacks z: the inputs of classifier are x, z"),
        ({"x": (2, 8), "z": (2, 8), "y": (2, 8)}, {}, "classifier has no input y, its inputs are"),
        ({"x": (2, 8), "z": (2, 7)}, {}, r"classifier: the input z must be .*, not of 2 x 7"),
        ({"x": (2, 8), "z": (3, 8)}, {}, "must have the same rows: x has 2, z has 3"),
        ({"x": (0, 8), "z": (0, 8)}, {}, "the calibration set has no rows: give at least 1"),
        ({"x": (2, 8), "z": (2, 8)}, {"evaluate": [1, 2]}, "only models from ids to logits have a"),
        ([1, 2], {"scheme": "int"}, "have a loss, and a form of the scheme int"),
    ],
)
def test_bad_inputs_of_a_model_without_ids(
    calibrate: Any, options: dict[str, Any], sentence: str
) -> None:
    given = calibrate
    if isinstance(calibrate, dict):
        given = {name: np.ones(shape) for name, shape in calibrate.items()}
    with pytest.raises(StepError, match=sentence):
        quantize(classifier(), given, **{"scheme": "w8a8", **options})


@pytest.mark.parametrize("scheme", ["w8", "w4", "w8a8"])
def test_scales_and_steps_are_no_parameters(scheme: str) -> None:
    model = decoders.decoder(decoders.Sizes(layers=2, experts=3))
    made = quantize(model, TEXT, scheme=scheme)
    ends = ("scale", "step")
    roles = {n: r for p in made.placed for r, n in p.op.weights.items() if r.endswith(ends)}
    assert roles
    weights = {name: w for name, w in made.weights.items() if w.element != "int32"}
    assert made.parameters == sum(w.size for name, w in weights.items() if name not in roles)
    assert made.parameters == sum(line.whole[0] for line in costs(made, 1))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "the scheme w8a8 needs a calibration set: ids of a text"),
        ({"calibrate": []}, "the calibration set needs at least 2 ids, it has 0"),
        ({"calibrate": [3, 99]}, "the calibration set: embedding .*: 99 of token 1 is past its"),
        ({"calibrate": TEXT, "calibration": "entropy"}, "no calibration 'entropy', those are minm"),
        ({"calibrate": TEXT, "override": {"x": "w2"}}, "override 'x': there is no scheme 'w2'"),
        ({"calibrate": TEXT, "override": {"*.up*": "w8", "*.wq": "w8"}}, "override '.*wq' fits no"),
        ({"scheme": "w8", "override": {"*": "none"}}, "decoder has no linear, whose weights could"),
        ({"scheme": "w8", "override": {"*.up": "w8a8"}}, "the scheme w8a8 needs a calibration"),
        ({"scheme": "w8", "calibration": "mse"}, "calibration is for w8a8, w4a8: w8 leaves values"),
        ({"scheme": "int", "calibration": "mse"}, "calibration is for w8a8, w4a8: int searches"),
        ({"scheme": "int", "override": {"*": "w8"}}, "override is for w8, w4, w8a8, w4a8: int has"),
    ],
)
def test_bad_input_is_one_sentence(options: dict[str, Any], sentence: str) -> None:
    model = decoders.decoder(decoders.Sizes(layers=1))
    with pytest.raises(StepError, match=sentence):
        quantize(model, **{"scheme": "w8a8", **options})


def test_numbers_that_are_not_finite_have_no_step() -> None:
    b = Builder("strange", tokens=(1, 60))
    x = b.embedding(b.ids(), np.full((decoders.VOCABULARY, 4), np.nan), name="table")
    model = b.model(b.linear(x, np.eye(4), name="y"))
    with pytest.raises(StepError, match="y reads nan on the calibration set"):
        quantize(model, TEXT, scheme="w8a8")


@pytest.mark.parametrize("step", [0.0, -1.0, np.nan, np.inf, 1e-42])
def test_a_step_has_a_size(step: float) -> None:
    b = Builder("one", tokens=(1, 4))
    weight, scale = np.eye(4, dtype=np.int8), np.ones((1, 4), np.float32)
    made = b.scaled_linear(b.input("x", 4), weight, scale, step=np.float32([step]), name="y")
    model = b.model(made)
    for use in (lambda: model.run({"x": np.ones((1, 4))}), lambda: lower(model)):
        with pytest.raises(StepError, match=r"scaled_linear y at .*: a step of its input must be"):
            use()


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(("bits", "groups"), [(8, 1), (4, 3)])
def test_a_circuit(bits: int, groups: int, rows: int, tmp_path: Path) -> None:
    """Its results are those of the golden meaning, too."""
    rng = np.random.default_rng(rows)
    model, x = two(bits, groups, rng), rng.normal(size=(4, 12)).astype(np.float32)
    graph, weights = lower(model, rows=rows, columns=6)
    (name,) = graph.inputs
    one = Experiment(graph, {**weights, name: x.reshape(4, 1, 12)}, lanes=2)
    verdict = one.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gpt2", "mixtral"])
def test_a_step_in_rtl(family: str, tmp_path: Path) -> None:
    model = getattr(models, family)(width=16, vocabulary=23)
    decoder = Decoder(quantize(model, TEXT, scheme="w8a8"), cache=8, tile=4)
    decoder.run({"ids": TEXT[:5]})
    one = Experiment(decoder.graph, decoder.inputs({"ids": TEXT[5:6]}), lanes=2)
    verdict = one.test(tmp_path / "rtl", driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults
