"""Import of checkpoints of all families, without PyTorch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from frontend import checkpoints as hf
from frontend.decoders import logits
from stepgen.frontend import from_checkpoint, load, save
from stepgen.frontend.loading import families
from stepgen.frontend.passes.constants import fold_constants
from stepgen.frontend.passes.linears import split_linears
from stepgen.frontend.passes.norms import fold_norms
from stepgen.frontend.passes.rotary import pair_columns
from stepgen.ir.errors import StepError

FAMILIES = sorted(hf.CONFIGS)


def ids(seed: int = 0, count: int = 20) -> Any:
    return np.random.default_rng(seed).integers(0, hf.VOCABULARY, count)


def close(a: Any, b: Any, most: float = 1e-6) -> bool:
    return float(np.abs(a - b).max()) <= most * float(np.abs(b).max())


def test_all_families_are_tested() -> None:
    assert sorted(families()) == FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_a_checkpoint_computes_what_its_modules_do(family: str, tmp_path: Path) -> None:
    c = hf.config(family)
    made = hf.weights(c)
    model = from_checkpoint(hf.write(tmp_path / family, c, made))
    want = hf.logits(c, made, ids())
    assert close(logits(model, ids()), want)
    assert close(logits(model, ids(), cuts=(7, *range(8, 20))), want)
    save(model, tmp_path / "m.stepgen")
    assert load(tmp_path / "m.stepgen") == model
    trips = [loop.trips for op in model.ops if (loop := op.kind.loop())]
    layers = c.get("n_layer") or c["num_hidden_layers"]
    assert trips == [layers - (family == "qwen3_moe")]


@pytest.mark.parametrize("family", FAMILIES)
def test_passes_change_no_number_of_a_family(family: str, tmp_path: Path) -> None:
    c = hf.config(family)
    model = from_checkpoint(hf.write(tmp_path / family, c, hf.weights(c)))
    made = fold_norms(pair_columns(split_linears(fold_constants(model))))
    assert close(logits(made, ids()), logits(model, ids()), 1e-12)
    turns = [p.op.kind.attributes()["pairs"] for p in made.placed if p.op.kind.name == "rope"]
    assert set(turns) <= {"neighbours"}


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_keep_the_type_of_the_checkpoint(family: str, tmp_path: Path) -> None:
    c = hf.config(family, dtype="bfloat16")
    model = from_checkpoint(hf.write(tmp_path / family, c, hf.weights(c), shards=3))
    linears = [p.op for p in model.placed if p.op.kind.name == "linear"]
    assert {model.weights[op.weights["weight"]].element for op in linears} == {"bf16"}


def test_experts_as_one_array_are_those_one_by_one(tmp_path: Path) -> None:
    c = hf.config("mixtral")
    made = hf.weights(c)
    want = from_checkpoint(hf.write(tmp_path / "one", c, made))
    for i in range(c["num_hidden_layers"]):
        old, new = f"model.layers.{i}.block_sparse_moe.", f"model.layers.{i}.mlp."
        made[f"{new}gate.weight"] = made.pop(f"{old}gate.weight")
        gate, up, down = (
            np.stack([made.pop(f"{old}experts.{e}.{n}.weight") for e in range(4)])
            for n in ("w1", "w3", "w2")
        )
        made[f"{new}experts.gate_up_proj"] = np.concatenate([gate, up], 1)
        made[f"{new}experts.down_proj"] = down
    got = from_checkpoint(hf.write(tmp_path / "all", c, made))
    assert np.array_equal(logits(got, ids()), logits(want, ids()))


LLAMA = hf.config("llama")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"model_type": "bert"},
            "models of type 'bert' are not known, model_type must be one of gemma3_text, gpt2",
        ),
        ({"hidden_size": None}, "lacks 'hidden_size'"),
        ({"hidden_size": "24"}, "hidden_size must be an integer, not '24'"),
        ({"num_hidden_layers": 0}, "num_hidden_layers must be at least 1, not 0"),
        ({"intermediate_size": 21}, "mlp.gate_proj.weight is of 20 x 24, but .* it is of 21 x 24"),
        ({"num_hidden_layers": 5}, "lacks the weight model.layers.4.input_layernorm.weight"),
        ({"num_hidden_layers": 3}, "of llama has no weight model.layers.3.* and 8 more"),
        ({"hidden_act": "mish"}, "hidden_act is 'mish', which is not a known function"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "RoPE of type 'yarn' is not known, those are"),
        ({"rope_scaling": {"rope_type": "linear"}}, "RoPE lacks 'factor'"),
        ({"partial_rotary_factor": 0.5}, "RoPE of a part of the columns can't be imported"),
        ({"pretraining_tp": 2}, "has pretraining_tp 2; only 1 can be imported"),
        ({"dtype": "bfloat16", "torch_dtype": None}, "says bfloat16, but .* numbers of f32"),
        (
            {"quantization_config": {"bits": 4}},
            "quant_method None; compressed-tensors can be imported",
        ),
        ({"num_key_value_heads": 4}, "k_proj.weight is of 12 x 24, but by config.json .* 24 x 24"),
    ],
)
def test_a_config_that_does_not_fit(changed: Any, sentence: str, tmp_path: Path) -> None:
    hf.write(tmp_path, LLAMA, hf.weights(LLAMA))
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, **changed}))
    with pytest.raises(StepError, match=sentence):
        from_checkpoint(tmp_path)


def test_a_weight_of_integers(tmp_path: Path) -> None:
    made, name = hf.weights(LLAMA), "model.layers.1.mlp.up_proj.weight"
    folder = hf.write(tmp_path, LLAMA, {**made, name: made[name].astype(np.int32)})
    with pytest.raises(StepError, match=f"{name} has numbers of int32 without scales"):
        from_checkpoint(folder)


def test_files_that_are_missing_or_damaged(tmp_path: Path) -> None:
    made = hf.weights(LLAMA)

    def refused(sentence: str, folder: Path) -> None:
        with pytest.raises(StepError, match=sentence) as caught:
            from_checkpoint(folder)
        assert "\n" not in str(caught.value)

    refused("is not a checkpoint: it has no config.json", tmp_path / "none")
    folder = hf.write(tmp_path / "shards", LLAMA, made, shards=3)
    (folder / "model-1.safetensors").unlink()
    refused("lacks model-1.safetensors, which has 13 of its 39 weights", folder)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "../model.safetensors"}}))
    refused("which is not beside it", folder)
    index.write_text(json.dumps({"weight_map": {"a": "model-0.safetensors"}}))
    refused("lacks the weight a, which model.safetensors.index.json puts there", folder)
    index.write_text("{}")
    refused("has no 'weight_map'", folder)
    index.unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x02cposix\nsystem\n")
    refused("pytorch_model.bin may run code when it is read, so it is not", folder)
    (folder / "model.safetensors").write_bytes(b"no")
    refused("is not a file of safetensors", folder)
    whole = tmp_path / "whole.safetensors"
    save_file({"a": np.zeros(3000, np.float32)}, whole)
    for size in (whole.stat().st_size - 1, 12_000, 60):
        (folder / "model.safetensors").write_bytes(whole.read_bytes()[:size])
        refused(rf"model\.safetensors is cut off at {size:,} of [\d,]+ bytes$", folder)
    (folder / "model.safetensors").write_bytes(bytes(8) + b"{}")
    refused("is not a file of safetensors", folder)
    save_file({"a": np.zeros(2, np.uint16)}, folder / "model.safetensors")
    refused("a has numbers of U16, known are", folder)
    (folder / "config.json").write_text("{")
    refused("config.json is no JSON", folder)
    (folder / "config.json").write_text("[]")
    refused("must be an object", folder)
