"""Models from a config alone: those of a checkpoint, with random weights."""

from __future__ import annotations

import json
from pathlib import Path

import models
import numpy as np
import pytest

from frontend import checkpoints
from stepgen import frontend
from stepgen.cli.app import execute
from stepgen.frontend.model import Model
from stepgen.ir.errors import StepError

EXAMPLES = ("gpt2", "llama", "qwen2", "qwen3", "gemma3", "mixtral", "qwen3_moe")


def kept(model: Model) -> list[tuple[str, tuple[int, ...]]]:
    """Types and shapes of the weights, whatever they are called."""
    return sorted((weight.element, weight.shape) for weight in model.weights.values())


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("family", checkpoints.CONFIGS)
def test_it_has_the_weights_of_a_checkpoint(family: str, biased: bool, tmp_path: Path) -> None:
    c = checkpoints.config(family)
    made = checkpoints.weights(c)
    if biased and family == "llama":
        c["attention_bias"] = c["mlp_bias"] = True
        for name in [*made]:
            if name.endswith("_proj.weight"):
                made[name.replace("weight", "bias")] = np.zeros(len(made[name]), np.float32)
    want = frontend.from_checkpoint(checkpoints.write(tmp_path, c, made))
    found = frontend.from_config(tmp_path / "config.json")
    assert kept(found) == kept(want)
    assert str(found.ops[0].kind) == str(want.ops[0].kind)
    assert found.outputs == want.outputs


@pytest.mark.parametrize("name", EXAMPLES)
def test_values_keep_their_size(name: str) -> None:
    model = getattr(models, name)(layers=6)
    assert model.weights["embed_tokens" if name != "gpt2" else "wte"].element == "bf16"
    ids = np.random.default_rng(0).integers(64, size=12)
    (logits,) = model.run({"ids": ids}).values()
    assert logits.shape == (12, 64)
    assert 0.1 < np.abs(logits).max() < 100
    assert model.weights[next(iter(model.weights))].bytes < 150_000


def test_weights_depend_on_name_and_seed_alone() -> None:
    one, two, other = models.llama(2), models.llama(5), models.llama(2, seed=1)
    for name, weight in one.weights.items():
        more = two.weights[name].array
        if weight.shape[0] == 2 and more.shape[0] == 5:
            more = more[:2]
        assert np.array_equal(weight.array, more), name
    same = [n for n, w in one.weights.items() if w.same(other.weights[n])]
    assert all("frequencies" in name for name in same)


def test_a_large_model_is_there_at_once() -> None:
    """Its numbers are made when they are read."""
    sizes = {"n_embd": 1024, "n_layer": 24, "n_head": 16, "n_positions": 1024}
    c = {"model_type": "gpt2", "vocab_size": 50257, "activation_function": "gelu_new", **sizes}
    model = frontend.from_config(c)
    assert model.parameters == 354_823_168
    assert not any("array" in vars(weight) for weight in model.weights.values())


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text(json.dumps(checkpoints.config("llama")))
    assert execute(["import", "config.json", "-o", "a.stepgen", "--set", "seed=3"]) == 0
    assert frontend.load("a.stepgen") == frontend.from_config("config.json", 3)
    assert execute(["import", "models:llama", "--set", "layers=4", "-o", "b.stepgen"]) == 0
    assert frontend.load("b.stepgen") == models.llama(4)
    capsys.readouterr()
    # A config is a program, as the file that would be imported.
    assert execute(["simulate", "config.json", "--set", "cache=8", "--json"]) == 0
    direct = json.loads(capsys.readouterr().out)
    assert execute(["import", "config.json", "-o", "c.stepgen"]) == 0
    capsys.readouterr()
    assert execute(["simulate", "c.stepgen", "--set", "cache=8", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cycles"] == direct["cycles"]
    for line, sentence in (
        ("import config.json --set layers=3", "config.json has no parameter 'layers', it has seed"),
        ("import none.json", "none.json can't be read: "),
        ("import models:lama", "models.py has no function 'lama'"),
    ):
        assert execute(line.split()) == 2
        assert sentence in capsys.readouterr().err


def test_what_a_config_lacks_is_named() -> None:
    for change, sentence in (
        (
            {"model_type": "bert"},
            r"the config: models of type 'bert' are not known, model_type must ",
        ),
        ({"num_hidden_layers": 0}, r"the config: num_hidden_layers must be at least 1, not 0"),
        ({"vocab_size": None}, r"the config lacks 'vocab_size'"),
        (
            {"num_key_value_heads": 3},
            r"num_attention_heads must be a multiple of num_key_value_heads, and \d+ is not",
        ),
        ({"head_dim": 3}, r"the config: head_dim is 3: it must be even, for RoPE turns pairs"),
        (
            {"head_dim": None, "hidden_size": 12, "num_attention_heads": 4},
            r"hidden_size / num_attention_heads, the columns of a head, is 3: it must be even",
        ),
    ):
        with pytest.raises(StepError, match=sentence):
            frontend.from_config({**checkpoints.config("llama"), **change})


@pytest.mark.parametrize(
    ("family", "key", "number"),
    [("gpt2", "n_embd", 25), ("gpt2", "n_head", 5), ("gemma3_text", "query_pre_attn_scalar", 0)],
)
def test_a_number_that_does_not_fit_names_its_key(family: str, key: str, number: int) -> None:
    with pytest.raises(StepError, match=f"the config: .*{key}"):
        frontend.from_config({**checkpoints.config(family), key: number})
