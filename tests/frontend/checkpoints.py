"""Small checkpoints in Hugging Face's layout, and what their models compute, in plain numpy.

The numpy here follows the published modules by the names of their weights. It shares nothing with
the package that is tested but the files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

VOCABULARY = 29
CONFIGS: dict[str, dict[str, Any]] = {
    "gpt2": {
        **{"n_embd": 24, "n_layer": 3, "n_head": 3, "n_positions": 32},
        **{"activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "n_inner": None},
    },
    "llama": {
        "rope_theta": 500.0,
        "rope_scaling": {
            **{"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0},
            **{"high_freq_factor": 4.0, "original_max_position_embeddings": 16},
        },
    },
    "qwen2": {
        **{"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 2},
        **{"tie_word_embeddings": True, "rope_theta": 1e6},
    },
    "qwen3": {"head_dim": 10, "rope_parameters": {"rope_type": "default", "rope_theta": 1e5}},
    "gemma3_text": {
        **{"head_dim": 6, "sliding_window": 4, "sliding_window_pattern": 3},
        **{"query_pre_attn_scalar": 9, "hidden_activation": "gelu_pytorch_tanh"},
        **{"rope_theta": 1e6, "rope_local_base_freq": 1e4, "final_logit_softcapping": 6.0},
        **{"rope_scaling": {"rope_type": "linear", "factor": 8.0}, "tie_word_embeddings": True},
    },
    "mixtral": {
        **{"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 7},
        **{"rope_theta": 1e6},
    },
    "qwen3_moe": {
        **{"num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 7},
        **{"norm_topk_prob": False, "head_dim": 6, "mlp_only_layers": [0], "rope_theta": 1e6},
    },
}
"""What the config of each family says beside what all but GPT-2 say."""

COMMON = {
    **{"hidden_size": 24, "intermediate_size": 20, "num_hidden_layers": 4, "rms_norm_eps": 1e-6},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 32},
}


def config(family: str, **changed: Any) -> dict[str, Any]:
    """The config of a family."""
    common = {} if family == "gpt2" else COMMON
    said = {"model_type": family, "vocab_size": VOCABULARY, "dtype": "float32"}
    act = {} if family in ("gpt2", "gemma3_text") else {"hidden_act": "silu"}
    return {**said, **common, **act, **CONFIGS[family], **changed}


def weights(c: dict[str, Any], seed: int = 0) -> dict[str, Any]:
    """Random weights under the names that checkpoints have."""
    rng, family = np.random.default_rng(seed), c["model_type"]
    made: dict[str, Any] = {}

    def w(name: str, *shape: int) -> None:
        scale = 0.4 if len(shape) == 1 else 1.5 / np.sqrt(shape[-1])
        made[name] = (rng.normal(size=shape) * scale).astype(np.float32)

    if family == "gpt2":
        d, p = c["n_embd"], "transformer."
        w(f"{p}wte.weight", VOCABULARY, d)
        w(f"{p}wpe.weight", c["n_positions"], d)
        for i in range(c["n_layer"]):
            for name, rows, cols in (
                *(("attn.c_attn", d, 3 * d), ("attn.c_proj", d, d)),
                *(("mlp.c_fc", d, 4 * d), ("mlp.c_proj", 4 * d, d)),
            ):
                w(f"{p}h.{i}.{name}.weight", rows, cols)
                w(f"{p}h.{i}.{name}.bias", cols)
            for name in ("ln_1", "ln_2"):
                w(f"{p}h.{i}.{name}.weight", d)
                w(f"{p}h.{i}.{name}.bias", d)
        w(f"{p}ln_f.weight", d)
        w(f"{p}ln_f.bias", d)
        return made
    d, hidden = c["hidden_size"], c["intermediate_size"]
    heads, groups = c["num_attention_heads"], c["num_key_value_heads"]
    each = c.get("head_dim") or d // heads
    w("model.embed_tokens.weight", VOCABULARY, d)
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        for name, rows, cols in (
            *(("q", heads * each, d), ("k", groups * each, d)),
            *(("v", groups * each, d), ("o", d, heads * each)),
        ):
            w(f"{p}self_attn.{name}_proj.weight", rows, cols)
            if family == "qwen2" and name != "o":
                w(f"{p}self_attn.{name}_proj.bias", rows)
        norms = ["input_layernorm", "post_attention_layernorm"]
        if family == "gemma3_text":
            norms += ["pre_feedforward_layernorm", "post_feedforward_layernorm"]
        for name in norms:
            w(f"{p}{name}.weight", d)
        if family.startswith(("qwen3", "gemma3")):
            w(f"{p}self_attn.q_norm.weight", each)
            w(f"{p}self_attn.k_norm.weight", each)
        names = {"gate": "mlp.gate_proj", "up": "mlp.up_proj", "down": "mlp.down_proj"}
        places, width = [names], hidden
        if family == "mixtral":
            w(f"{p}block_sparse_moe.gate.weight", c["num_local_experts"], d)
            at = "block_sparse_moe.experts"
            places = [
                {"gate": f"{at}.{e}.w1", "up": f"{at}.{e}.w3", "down": f"{at}.{e}.w2"}
                for e in range(c["num_local_experts"])
            ]
        elif family == "qwen3_moe" and i not in c["mlp_only_layers"]:
            w(f"{p}mlp.gate.weight", c["num_experts"], d)
            width = c["moe_intermediate_size"]
            places = [
                {role: f"mlp.experts.{e}.{role}_proj" for role in names}
                for e in range(c["num_experts"])
            ]
        for place in places:
            w(f"{p}{place['gate']}.weight", width, d)
            w(f"{p}{place['up']}.weight", width, d)
            w(f"{p}{place['down']}.weight", d, width)
    w("model.norm.weight", d)
    if not c.get("tie_word_embeddings"):
        w("lm_head.weight", VOCABULARY, d)
    return made


def write(folder: Path, c: dict[str, Any], made: dict[str, Any], *, shards: int = 1) -> Path:
    """Write a checkpoint, in several files if asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(c))
    if c["dtype"] == "bfloat16":
        made = {name: a.astype(ml_dtypes.bfloat16) for name, a in made.items()}
    if shards == 1:
        save_file(made, folder / "model.safetensors")
        return folder
    places = {name: f"model-{i % shards}.safetensors" for i, name in enumerate(made)}
    for file in set(places.values()):
        save_file({n: a for n, a in made.items() if places[n] == file}, folder / file)
    index = {"metadata": {}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


def attend(q: Any, k: Any, v: Any, scale: float, window: int) -> Any:
    """Of [T, heads, width], token by token."""
    group = q.shape[1] // k.shape[1]
    made = np.zeros((*q.shape[:2], v.shape[2]))
    for t in range(len(q)):
        first = max(0, t - window + 1) if window else 0
        for h in range(q.shape[1]):
            scores = k[first : t + 1, h // group] @ q[t, h] * scale
            made[t, h] = softmax(scores) @ v[first : t + 1, h // group]
    return made.reshape(len(q), -1)


def angles(c: dict[str, Any], each: int, slides: bool) -> Any:
    """Frequencies of RoPE, [each / 2]."""
    rope = c.get("rope_parameters") or c.get("rope_scaling") or {}
    base = rope.get("rope_theta") or c.get("rope_theta") or 1e4
    gemma = c["model_type"] == "gemma3_text"
    if gemma and slides:
        base, rope = c["rope_local_base_freq"], {}
    freq = base ** (-np.arange(0, each, 2) / each)
    if rope.get("rope_type") == "linear":
        return freq / rope["factor"]
    if rope.get("rope_type") == "llama3":
        old, made = rope["original_max_position_embeddings"], []
        for f in freq:
            turns = old * f / (2 * np.pi)
            low, high = rope["low_freq_factor"], rope["high_freq_factor"]
            share = np.clip((turns - low) / (high - low), 0, 1)
            made.append(f * share + f / rope["factor"] * (1 - share))
        return np.array(made)
    return freq


def turn(x: Any, freq: Any) -> Any:
    """Columns j and j + half of [T, heads, width]."""
    half = x.shape[2] // 2
    z = x[..., :half] + 1j * x[..., half:]
    z = z * np.exp(1j * np.arange(len(x))[:, None] * freq)[:, None]
    return np.concatenate([z.real, z.imag], -1)


def logits(c: dict[str, Any], made: dict[str, Any], ids: Any) -> Any:
    """What the model of a checkpoint computes."""
    w = {name: a.astype(np.float64) for name, a in made.items()}
    return (_gpt2 if c["model_type"] == "gpt2" else _llama)(c, w, ids)


def _gpt2(c: dict[str, Any], w: Any, ids: Any) -> Any:
    d, heads = c["n_embd"], c["n_head"]

    def norm(x: Any, name: str) -> Any:
        z = x - x.mean(-1, keepdims=True)
        z = z / np.sqrt((z**2).mean(-1, keepdims=True) + 1e-5)
        return z * w[f"{name}.weight"] + w[f"{name}.bias"]

    def conv(x: Any, name: str) -> Any:
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][: len(ids)]
    for i in range(c["n_layer"]):
        p = f"transformer.h.{i}."
        q, k, v = np.split(conv(norm(x, f"{p}ln_1"), f"{p}attn.c_attn"), 3, -1)
        q, k, v = (y.reshape(len(ids), heads, -1) for y in (q, k, v))
        x = x + conv(attend(q, k, v, (d // heads) ** -0.5, 0), f"{p}attn.c_proj")
        x = x + conv(gelu(conv(norm(x, f"{p}ln_2"), f"{p}mlp.c_fc")), f"{p}mlp.c_proj")
    return norm(x, "transformer.ln_f") @ w["transformer.wte.weight"].T


def _llama(c: dict[str, Any], w: Any, ids: Any) -> Any:
    family, d, heads = c["model_type"], c["hidden_size"], c["num_attention_heads"]
    each = c.get("head_dim") or d // heads
    gemma = family == "gemma3_text"
    act = gelu if gemma else silu

    def norm(x: Any, name: str) -> Any:
        z = x / np.sqrt((x**2).mean(-1, keepdims=True) + c["rms_norm_eps"])
        return z * (w[f"{name}.weight"] + gemma)

    def linear(x: Any, name: str) -> Any:
        return x @ w[f"{name}.weight"].T + w.get(f"{name}.bias", 0)

    def gated(x: Any, gate: str, up: str, down: str) -> Any:
        return linear(act(linear(x, gate)) * linear(x, up), down)

    def experts(x: Any, p: str) -> Any:
        names = ("w1", "w3", "w2") if family == "mixtral" else ("gate_proj", "up_proj", "down_proj")
        shares = softmax(linear(x, f"{p}gate"))
        y = np.zeros_like(x)
        for t in range(len(x)):
            chosen = np.argsort(-shares[t])[: c["num_experts_per_tok"]]
            whole = 1 if c.get("norm_topk_prob") is False else shares[t, chosen].sum()
            for e in chosen:
                one = gated(x[t : t + 1], *(f"{p}experts.{e}.{n}" for n in names))[0]
                y[t] += shares[t, e] / whole * one
        return y

    x = w["model.embed_tokens.weight"][ids] * (np.sqrt(d) if gemma else 1)
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        slides = gemma and (i + 1) % c["sliding_window_pattern"] != 0
        slides = slides or (family == "qwen2" and i >= c["max_window_layers"])
        window = c["sliding_window"] if slides or family == "mixtral" else 0
        h = norm(x, f"{p}input_layernorm")
        q, k, v = (linear(h, f"{p}self_attn.{n}_proj").reshape(len(ids), -1, each) for n in "qkv")
        if f"{p}self_attn.q_norm.weight" in w:
            q, k = norm(q, f"{p}self_attn.q_norm"), norm(k, f"{p}self_attn.k_norm")
        freq = angles(c, each, slides)
        scale = (c["query_pre_attn_scalar"] if gemma else each) ** -0.5
        h = linear(attend(turn(q, freq), turn(k, freq), v, scale, window), f"{p}self_attn.o_proj")
        x = x + (norm(h, f"{p}post_attention_layernorm") if gemma else h)
        h = norm(x, f"{p}{'pre_feedforward' if gemma else 'post_attention'}_layernorm")
        if family == "mixtral":
            h = experts(h, f"{p}block_sparse_moe.")
        elif f"{p}mlp.gate.weight" in w:
            h = experts(h, f"{p}mlp.")
        else:
            h = gated(h, *(f"{p}mlp.{n}_proj" for n in ("gate", "up", "down")))
        x = x + (norm(h, f"{p}post_feedforward_layernorm") if gemma else h)
    head = w.get("lm_head.weight", w["model.embed_tokens.weight"])
    y = norm(x, "model.norm") @ head.T
    cap = c.get("final_logit_softcapping")
    return cap * np.tanh(y / cap) if cap else y
