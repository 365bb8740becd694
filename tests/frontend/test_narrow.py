"""Checkpoints that others quantized: integers with scales become those of the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from seeds import others_slow

from frontend import checkpoints as hf
from frontend.decoders import logits
from stepgen.frontend import Decoder, from_checkpoint, load, save
from stepgen.frontend.kinds.scaled_linear import ScaledLinear
from stepgen.frontend.model import walk
from stepgen.ir.errors import StepError

IDS = np.random.default_rng(0).integers(0, hf.VOCABULARY, 12)


def said(bits: int, strategy: str, form: str = "pack-quantized", **more: Any) -> dict[str, Any]:
    """A ``quantization_config``."""
    weights = {"num_bits": bits, "type": "int", "strategy": strategy, "symmetric": True, **more}
    group = {"targets": ["Linear"], "weights": weights, "input_activations": None}
    return {
        **{"quant_method": "compressed-tensors", "format": form, "ignore": ["lm_head"]},
        "config_groups": {"group_0": group},
    }


def packed(whole: Any, bits: int) -> Any:
    """Numbers of rows in words, one after the other from the lowest bits on."""
    each = 32 // bits
    padded = np.pad(
        whole, [(0, 0), (0, -whole.shape[1] % each)], constant_values=-(2 ** (bits - 1))
    )
    words = np.zeros((len(whole), padded.shape[1] // each), np.uint32)
    for place in range(each):
        number = (padded[:, place::each].astype(np.int64) + 2 ** (bits - 1)).astype(np.uint32)
        words |= number << np.uint32(bits * place)
    return words.view(np.int32)


def quantized(made: dict[str, Any], bits: int, group: int | None, form: str) -> Any:
    """The tensors of a checkpoint, and what they stand for."""
    stored, real = {}, dict(made)
    for name, weight in made.items():
        if "proj.weight" not in name and ".experts." not in name:
            stored[name] = weight
            continue
        cols, rows = weight.shape
        of = rows if group is None else group
        parts = weight.reshape(cols, rows // of, of)
        if form == "tensor":
            scale = np.full((1, 1, 1), np.abs(weight).max() / (2 ** (bits - 1) - 1), np.float32)
        else:
            most = np.abs(parts).max(-1, keepdims=True)
            scale = (most / (2 ** (bits - 1) - 1)).astype(np.float32)
        whole = np.clip(np.rint(parts / scale), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        real[name] = (whole * scale).reshape(cols, rows).astype(np.float32)
        whole = whole.reshape(cols, rows).astype(np.int8)
        stored[f"{name}_scale"] = scale.reshape(1) if form == "tensor" else scale[..., 0]
        if form == "int":
            stored[name] = whole
        else:
            stored[f"{name}_packed"] = packed(whole, bits)
            stored[f"{name}_shape"] = np.array([cols, rows])
    return stored, real


CASES = {
    "llama, 4 bits, groups": ("llama", 4, 4, "pack", said(4, "group", group_size=4)),
    "qwen2, 8 bits, columns": ("qwen2", 8, None, "int", said(8, "channel", "int-quantized")),
    "qwen3, 8 bits, packed": ("qwen3", 8, None, "pack", said(8, "channel")),
    "gemma3_text, 4 bits, columns": ("gemma3_text", 4, None, "pack", said(4, "channel")),
    "llama, one scale": ("llama", 8, None, "tensor", said(8, "tensor")),
    "mixtral, 4 bits, groups": ("mixtral", 4, 4, "pack", said(4, "group", group_size=4)),
}


@pytest.mark.parametrize("name", others_slow(CASES, [*CASES][:4]))
def test_a_checkpoint_computes_what_its_numbers_say(name: str, tmp_path: Path) -> None:
    family, bits, group, form, config = CASES[name]
    c = hf.config(family, quantization_config=config)
    made, real = quantized(hf.weights(c), bits, group, form)
    model = from_checkpoint(hf.write(tmp_path / "made", c, made))
    want = hf.logits(c, real, IDS)
    assert np.abs(logits(model, IDS) - want).max() <= 1e-6 * np.abs(want).max()
    kinds = {op.kind.bits for op in walk(model.ops) if isinstance(op.kind, ScaledLinear)}
    assert kinds == {bits}
    save(model, tmp_path / "m.stepgen")
    assert load(tmp_path / "m.stepgen") == model
    if family in ("llama", "mixtral"):
        found = Decoder(model, cache=12, tile=4, element="f32").run({"ids": IDS})["logits"]
        assert np.linalg.norm(found - want) <= 1e-5 * np.linalg.norm(want)


def steps(made: dict[str, Any], step: float) -> dict[str, Any]:
    """Tensors with a scale of what each linear reads."""
    names = [name for name in made if name.endswith("weight_scale")]
    return made | {
        name.replace("weight_scale", "input_scale"): np.float32([step * (1 + n % 3)])
        for n, name in enumerate(names)
    }


@pytest.mark.parametrize("family", ["qwen2", "mixtral"])
def test_static_scales_of_values_become_steps(family: str, tmp_path: Path) -> None:
    values = {"num_bits": 8, "type": "int", "strategy": "tensor", "dynamic": False}
    config = said(8, "channel", "int-quantized")
    config["config_groups"]["group_0"]["input_activations"] = values
    c = hf.config(family, quantization_config=config)
    made, real = quantized(hf.weights(c), 8, None, "int")
    model = from_checkpoint(hf.write(tmp_path / "made", c, steps(made, 0.02)))
    found = {op.name: op for op in walk(model.ops) if isinstance(op.kind, ScaledLinear)}
    assert all("step" in op.weights for op in found.values())
    (name,) = {op.weights["step"] for name, op in found.items() if name.endswith("v_proj")}
    assert np.allclose(model.weights[name].array.max(), 0.06)
    want = hf.logits(c, real, IDS)
    assert 0 < np.abs(logits(model, IDS) - want).max() <= 0.2 * np.abs(want).max()
    found = Decoder(model, cache=12, tile=4, element="f32").run({"ids": IDS[:4]})["logits"]
    same = logits(model, IDS[:4])
    assert np.linalg.norm(found - same) <= 1e-5 * np.linalg.norm(same)


def broken(**tensors: Any) -> Any:
    """Changes tensors of a linear, by their endings."""

    def change(made: dict[str, Any]) -> None:
        for ending, value in tensors.items():
            made[f"model.layers.1.self_attn.q_proj.weight_{ending}"] = value

    return change


def valued(**more: Any) -> dict[str, Any]:
    """A config whose values are quantized, too."""
    config = said(4, "group", group_size=4)
    values = {"num_bits": 8, "type": "int", "strategy": "tensor", "symmetric": True, **more}
    config["config_groups"]["group_0"]["input_activations"] = values
    return config


@pytest.mark.parametrize(
    ("config", "change", "sentence"),
    [
        ({"quant_method": "gptq"}, None, "the quant_method 'gptq'; compressed-tensors can be"),
        ({"format": "float-quantized"}, None, "the format 'float-quantized'; pack-quantized or"),
        ({"config_groups": {}}, None, "quantization_config has no config_groups"),
        ({"config_groups": {"a": {"weights": None}}}, None, "has a group without weights"),
        (said(4, "group", type="float"), None, "the type of weights 'float'; int can be imported"),
        (said(4, "block"), None, "the strategy of weights 'block'; tensor or channel or group"),
        (said(4, "group", symmetric=False), None, "the symmetric of weights False; True can be"),
        (said(3, "group"), None, "the num_bits of weights 3; 8 or 4 can be imported"),
        (valued(dynamic=False), None, "has input_activations, but no .*q_proj.input_scale"),
        (valued(symmetric=False), None, "the symmetric of input_activations False; True can be"),
        (valued(strategy="token"), None, "the strategy of input_activations 'token'; tensor can"),
        ({}, broken(scale=np.zeros((24, 6), np.float32)), "q_proj.weight_scale must have finite"),
        ({}, broken(scale=np.full((24, 6), np.nan, np.float32)), "above 0, not nan"),
        ({}, broken(zero_point=np.zeros((24, 1), np.int8)), "q_proj.weight has a zero point"),
        ({}, broken(g_idx=np.zeros(24, np.int32)), "q_proj.weight has rows in another order"),
        ({}, broken(scale=np.ones((24, 5), np.float32)), "scales of .*q_proj.weight are of 24 x 5"),
        (
            {},
            broken(packed=np.zeros((24, 2), np.int32)),
            "q_proj.weight_packed is of 24 x 2, which",
        ),
    ],
)
def test_bad_input_is_one_sentence(config: Any, change: Any, sentence: str, tmp_path: Path) -> None:
    c = hf.config("llama", quantization_config={**said(4, "group", group_size=4), **config})
    made, _ = quantized(hf.weights(c), 4, 4, "pack")
    if change is not None:
        change(made)
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(c))
    save_file(made, folder / "model.safetensors")
    with pytest.raises(StepError, match=sentence):
        save(from_checkpoint(folder), tmp_path / "m.stepgen")
