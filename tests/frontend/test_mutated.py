"""Files of models with one mistake: one sentence, or another model that is possible."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mutations import TEXTS, mutated
from safetensors.numpy import save_file
from seeds import some_slow

from frontend.decoders import Sizes, decoder
from stepgen.frontend import Model, dumps, load, loads, save
from stepgen.ir.errors import StepError

MODELS = {
    "plain": Sizes(layers=3, joined=True, layer_norm=True, scale=0.5),
    "experts": Sizes(layers=2, experts=3, head_norm=True, windows=(0, 2), tied=True),
}


def message_of(call: Callable[[], object]) -> str:
    """The sentence with which a call is refused, empty if it is not."""
    try:
        call()
    except StepError as error:
        return str(error)
    return ""


def refused(model: Model, text: str) -> bool:
    """Whether a text is refused in one sentence; else the model is printed, and runs or refuses."""

    def use() -> None:
        found = loads(text, model.weights)
        assert str(found)
        found.run({"ids": np.arange(3)})

    sentence = message_of(use)
    assert "\n" not in sentence
    assert len(sentence) < 900
    return bool(sentence)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", some_slow(range(4), 2))
def test_a_mistake_in_the_operations(name: str, seed: int) -> None:
    model = decoder(MODELS[name])
    data = json.loads(dumps(model))
    found = [refused(model, json.dumps(made)) for _, made in mutated(data, seed, 150)]
    assert sum(found) > 100


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_no_operations_at_all(text: str) -> None:
    assert refused(decoder(MODELS["plain"]), text)


def test_a_mistake_in_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "m.stepgen"
    save(decoder(Sizes(layers=1)), path)
    good, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(60):
        made = bytearray(good)
        made[int(rng.integers(800))] = int(rng.integers(256))
        path.write_bytes(made[: int(rng.choice([len(good), rng.integers(len(good))]))])
        assert "\n" not in message_of(lambda: load(path))


def edited(change: Any) -> str:
    data = json.loads(dumps(decoder(Sizes(layers=1))))
    change(data)
    return json.dumps(data)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d: d["ops"][0].update(kind="conv"), "there is no operation 'conv', those are att"),
        (lambda d: d.update(format=2), "is in format 2 of stepgen .*, which reads format 1"),
        (lambda d: d["inputs"]["ids"].update(shape=["T", "S"]), "only its first dim may be dyn"),
        (lambda d: d["inputs"]["ids"].update(shape=[3]), "its first dim must be 'T'"),
        (lambda d: d["ops"][0]["attrs"].update(x=1), "no attribute 'x', its attributes are none"),
        (lambda d: d["ops"][1]["attrs"].clear(), "lacks the attribute fn"),
        (lambda d: d["ops"][0].update(inputs=["x"]), "it reads 'x', which nothing before it makes"),
        (lambda d: d.update(outputs=["x"]), "no operation makes its output 'x'"),
        (lambda d: d.update(more=1), "has no field 'more', it has name"),
        (lambda d: d["ops"][0]["weights"].update(table="w"), "its table is 'w', and there is no"),
        (lambda d: d["ops"][0]["weights"].clear(), "it needs the weight table"),
        (lambda d: d["ops"][2]["weights"].update(x="table"), "it has no weight 'x'; its weights"),
        (lambda d: d.update(tokens=[3, 2]), "T must run from at least 1 to a larger number"),
    ],
)
def test_what_is_wrong_is_named(change: Any, sentence: str) -> None:
    model = decoder(Sizes(layers=1))
    with pytest.raises(StepError, match=sentence):
        loads(edited(change), model.weights, "m.stepgen")


def test_weights_alone_are_no_model(tmp_path: Path) -> None:
    save_file({"a": np.zeros(3, np.float32)}, tmp_path / "m.stepgen")
    with pytest.raises(StepError, match="has weights but no model"):
        load(tmp_path / "m.stepgen")
