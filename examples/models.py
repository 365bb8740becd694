"""Small language models of seven families, with random weights, as programs."""

from __future__ import annotations

from typing import Any

import stepgen as sg

TOKENS = 64
"""The longest context."""


def _config(
    model_type: str, layers: int, width: int, vocabulary: int, **more: Any
) -> dict[str, Any]:
    """A config as Hugging Face's config.json: four heads, of which two share keys and values."""
    sizes = {"hidden_size": width, "intermediate_size": 2 * width, "num_hidden_layers": layers}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": width // 4}
    known = {"vocab_size": vocabulary, "max_position_embeddings": TOKENS, "hidden_act": "silu"}
    return {"model_type": model_type, "rms_norm_eps": 1e-6, **sizes, **heads, **known, **more}


def gpt2(
    layers: int = 2, width: int = 32, vocabulary: int = 64, seed: int = 0
) -> sg.frontend.Model:
    """LayerNorm, learned positions, GELU."""
    sizes = {"n_embd": width, "n_layer": layers, "n_head": 4, "n_positions": TOKENS}
    more = {"vocab_size": vocabulary, "activation_function": "gelu_new"}
    return sg.frontend.from_config({"model_type": "gpt2", **sizes, **more}, seed)


def llama(
    layers: int = 2, width: int = 32, vocabulary: int = 64, seed: int = 0
) -> sg.frontend.Model:
    """RMSNorm, RoPE, a gated MLP, heads of queries that share keys and values."""
    return sg.frontend.from_config(_config("llama", layers, width, vocabulary), seed)


def qwen2(
    layers: int = 2, width: int = 32, vocabulary: int = 64, seed: int = 0
) -> sg.frontend.Model:
    """Llama with biases, and a head tied to the embedding."""
    tied = _config("qwen2", layers, width, vocabulary, tie_word_embeddings=True)
    return sg.frontend.from_config(tied, seed)


def qwen3(
    layers: int = 2, width: int = 32, vocabulary: int = 64, seed: int = 0
) -> sg.frontend.Model:
    """Llama with norms of the heads of queries and keys."""
    return sg.frontend.from_config(_config("qwen3", layers, width, vocabulary), seed)


def gemma3(
    layers: int = 2, width: int = 32, vocabulary: int = 64, seed: int = 0
) -> sg.frontend.Model:
    """Layers that look back 16 tokens, each second one further; scaled embeddings, more norms."""
    windows = {"sliding_window": 16, "sliding_window_pattern": 2}
    more = {"query_pre_attn_scalar": width // 4, "hidden_activation": "gelu_pytorch_tanh"}
    made = _config("gemma3_text", layers, width, vocabulary, **windows, **more)
    return sg.frontend.from_config({**made, "tie_word_embeddings": True}, seed)


def mixtral(
    layers: int = 2, width: int = 32, vocabulary: int = 64, experts: int = 4, seed: int = 0
) -> sg.frontend.Model:
    """Llama with a mixture of experts, of which each token goes to two."""
    more = {"num_local_experts": experts, "num_experts_per_tok": 2}
    return sg.frontend.from_config(_config("mixtral", layers, width, vocabulary, **more), seed)


def qwen3_moe(
    layers: int = 2, width: int = 32, vocabulary: int = 64, experts: int = 4, seed: int = 0
) -> sg.frontend.Model:
    """Qwen3 with a mixture of experts whose weights add up to one."""
    more = {"num_experts": experts, "num_experts_per_tok": 2, "moe_intermediate_size": width}
    made = _config("qwen3_moe", layers, width, vocabulary, **more, norm_topk_prob=True)
    return sg.frontend.from_config(made, seed)
