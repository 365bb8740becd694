"""Weights and values with places, scales that are powers of two: bits, programs, circuits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples import models
from frontend import decoders
from stepgen.compile.lower import lower as design_of
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.frontend import Builder, Decoder, Model, State, load, lower, quantize, save
from stepgen.frontend.kinds.placed_experts import PlacedExperts
from stepgen.frontend.kinds.placed_linear import PlacedLinear
from stepgen.frontend.model import walk
from stepgen.frontend.quantizing.placing import PlacedWeight
from stepgen.frontend.quantizing.quantize import quantized
from stepgen.frontend.weight import Weight
from stepgen.ir.errors import StepError
from stepgen.ir.fn import fn
from stepgen.semantics import executor

TEXT = np.random.default_rng(5).integers(0, decoders.VOCABULARY, 60)


def two(bits: int, rows: int | None, rng: np.random.Generator) -> Model:
    """Two linears, a function and a sum, by hand."""
    b, most = Builder("two", tokens=(1, 6)), 2 ** (bits - 1) - 1

    def linear(x: Any, high: int, cols: int, bias: Any) -> Any:
        weight = rng.integers(-most, most + 1, (high, cols)).astype(np.int8)
        return b.add(PlacedLinear(bits, 7, rows), x, weights={"weight": weight, "bias": bias})

    x, bias = b.input("x", 12), rng.integers(-900, 900, 18).astype(np.int32)
    hidden = b.map(fn.at_least(0), linear(x, 12, 18, bias if rows else bias / 1024))
    return b.model(linear(hidden, 18, 12, None) + x)


@pytest.mark.parametrize("bits", [8, 4])
def test_linears_compute_the_bits_of_the_golden_meaning(bits: int) -> None:
    rng = np.random.default_rng(bits)
    model, x = two(bits, 5, rng), rng.normal(size=(5, 12)).astype(np.float32)
    want = model.run({"x": x})[model.outputs[0]]
    for settings in ({"columns": 6}, {"columns": 6, "rows": 3}):
        found = ran(model, x, **settings)
        # The golden sum of two f32 is not rounded.
        assert np.array_equal(found, want.astype(np.float32)), settings


@pytest.mark.parametrize("bits", [8, 4])
def test_weights_alone_with_places(bits: int) -> None:
    rng = np.random.default_rng(bits)
    model, x = two(bits, None, rng), rng.normal(size=(5, 12)).astype(np.float32)
    want = model.run({"x": x})[model.outputs[0]]
    for element, share in (("f32", 2e-6), ("bf16", 0.03)):
        found = ran(model, x, columns=6, element=element)
        assert np.linalg.norm(found - want) <= share * np.linalg.norm(want)


def ran(model: Model, x: Any, **settings: Any) -> Any:
    """What a model's program makes of rows."""
    graph, weights = lower(model, **settings)
    (name,), (out,) = graph.inputs, graph.outputs
    found = executor.run(graph, {**weights, name: x.reshape(len(x), 1, -1)}).nested(out)
    return np.reshape(found, (len(x), -1))


@pytest.mark.parametrize(
    ("family", "scheme"),
    [("mixtral", "w8a8"), pytest.param("gpt2", "w4a8", marks=pytest.mark.slow)],
)
def test_a_model_computes_the_bits_of_the_golden_meaning(
    family: str, scheme: str, tmp_path: Path
) -> None:
    model = getattr(models, family)(width=16, vocabulary=23)
    small = quantize(model, TEXT, scheme=scheme, scales="powers")
    want = small.run({"ids": TEXT[:5]}, State())["logits"]
    given = {"cache": 8, "tile": 4, "columns": 4, "element": "f32"}
    for chunk, tokens in ((None, 3), (4, 5)):
        found = Decoder(small, chunk=chunk, **given).run({"ids": TEXT[:tokens]})["logits"]
        assert np.array_equal(found, want[:tokens]), chunk
    save(small, tmp_path / "m.stepgen")
    assert load(tmp_path / "m.stepgen") == small


def test_experts_of_real_numbers_with_narrow_weights() -> None:
    model = quantize(decoders.decoder(decoders.Sizes(experts=3)), scheme="w8", scales="powers")
    assert any(isinstance(op.kind, PlacedExperts) for op in walk(model.ops))
    want = model.run({"ids": TEXT[:4]}, State())["logits"]
    found = Decoder(model, cache=8, element="f32").run({"ids": TEXT[:4]})["logits"]
    assert np.linalg.norm(found - want) <= 2e-6 * np.linalg.norm(want)


def test_places_are_those_of_the_least_squares() -> None:
    rng = np.random.default_rng(0)
    for shape, bits in (((2, 32, 3), 8), ((40, 40), 4)):
        w = rng.normal(size=shape)
        made = PlacedWeight(Weight.of(w), bits)
        most = 2 ** (bits - 1) - 1

        def error(places: int, w: Any = w, most: int = most) -> float:
            off = np.clip(np.rint(np.ldexp(w, places)), -most, most) * 2.0**-places - w
            return float(np.square(off).sum())

        assert made.places == min(range(-4, 12), key=error)
        off = np.ldexp(made.integers.array.astype(float), -made.places) - w
        assert np.square(off).sum() == pytest.approx(error(made.places))
    assert PlacedWeight(Weight.of(np.zeros((2, 2))), 8).places == 0
    assert PlacedWeight(Weight.of(np.full((2, 2), 1e-30)), 8).places == 32


def test_what_it_costs() -> None:
    model = decoders.decoder(decoders.Sizes(layers=2, layer_norm=True))
    found = quantized(model, TEXT, "w8a8", scales="powers")
    assert found.losses is not None
    assert abs(found.losses[1] - found.losses[0]) < 0.03
    for ranges in found.steps.values():
        assert {np.log2(one.step) % 1 for one in ranges} == {0}
        assert len({one.step for one in ranges}) == 1
    columns = quantize(model, TEXT, scheme="w8a8")
    graphs = [lower(made, cache=8)[0] for made in (found.model, columns)]
    few, many = (
        [unit for unit in design_of(graph, lanes=2).units if unit.kind == "load"]
        for graph in graphs
    )
    assert len(few) <= len(many) - 8, "scales and steps are not loaded"


def test_a_large_bias_is_kept() -> None:
    rng = np.random.default_rng(1)
    b, ids = Builder("biased", tokens=(1, 60)), TEXT % 6
    x = b.embedding(b.ids(), rng.normal(size=(6, 8)))
    bias = np.array([1.0, -1.0, 3.0, 5.0, 0.0, 1e7])
    model = b.model(b.linear(x, rng.normal(size=(8, 6)), bias, name="y"))
    found = quantize(model, ids, scheme="w8a8", scales="powers").run({"ids": ids})["y"]
    assert found[:, 5] == pytest.approx(1e7, rel=1e-2)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"scales": "rows"}, "there are no scales 'rows', those are columns and powers"),
        ({"group": 4}, "group is for scales of columns: a power of two is for a whole weight"),
        ({"scheme": "int"}, "scales is for w8, w4, w8a8, w4a8: int has no scales"),
        ({"scheme": "w4", "hidden": 3}, "linear .*down at .*: its weight has 3 rows, an odd num"),
    ],
)
def test_bad_input_is_one_sentence(options: dict[str, Any], sentence: str) -> None:
    hidden = options.pop("hidden", 4)
    model = decoders.decoder(decoders.Sizes(layers=1, hidden=hidden))
    with pytest.raises(StepError, match=sentence):
        quantize(model, TEXT, **{"scheme": "w8a8", "scales": "powers", **options})


def test_what_is_quantized_is_not_quantized_again() -> None:
    model = quantize(decoders.decoder(decoders.Sizes(layers=1)), scheme="w8", scales="powers")
    with pytest.raises(StepError, match=r"is quantized already: placed_linear .* has scales"):
        quantize(model, TEXT)


@pytest.mark.slow
@pytest.mark.parametrize(("bits", "rows"), [(8, 5), (4, None)])
def test_a_circuit(bits: int, rows: int | None, tmp_path: Path) -> None:
    rng = np.random.default_rng(bits)
    model, x = two(bits, rows, rng), rng.normal(size=(4, 12)).astype(np.float32)
    graph, weights = lower(model, columns=6)
    (name,) = graph.inputs
    one = Experiment(graph, {**weights, name: x.reshape(4, 1, 12)}, lanes=2)
    verdict = one.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults


@pytest.mark.slow
def test_a_step_in_rtl(tmp_path: Path) -> None:
    model = models.mixtral(width=16, vocabulary=23)
    decoder = Decoder(quantize(model, TEXT, scheme="w8a8", scales="powers"), cache=8, tile=4)
    decoder.run({"ids": TEXT[:5]})
    one = Experiment(decoder.graph, decoder.inputs({"ids": TEXT[5:6]}), lanes=2)
    verdict = one.test(tmp_path / "rtl", driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults
