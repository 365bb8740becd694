"""Language models of full size, with random weights that are made only when they are read."""

from __future__ import annotations

import stepgen as sg


def gpt2(layers: int = 24) -> sg.frontend.Model:
    """GPT-2 medium: 355 million parameters."""
    sizes = {"n_embd": 1024, "n_layer": layers, "n_head": 16, "n_positions": 1024}
    more = {"vocab_size": 50257, "activation_function": "gelu_new"}
    return sg.frontend.from_config({"model_type": "gpt2", **sizes, **more})


def qwen(layers: int = 24) -> sg.frontend.Model:
    """Qwen2 0.5B."""
    sizes = {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": layers}
    heads = {"num_attention_heads": 14, "num_key_value_heads": 2, "rope_theta": 1e6}
    more = {"vocab_size": 151936, "max_position_embeddings": 32768, "rms_norm_eps": 1e-6}
    known = {"model_type": "qwen2", "hidden_act": "silu", "tie_word_embeddings": True}
    return sg.frontend.from_config({**sizes, **heads, **more, **known})


def llama(layers: int = 22) -> sg.frontend.Model:
    """TinyLlama 1.1B."""
    sizes = {"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": layers}
    heads = {"num_attention_heads": 32, "num_key_value_heads": 4}
    more = {"vocab_size": 32000, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5}
    known = {"model_type": "llama", "hidden_act": "silu"}
    return sg.frontend.from_config({**sizes, **heads, **more, **known})


def gemma(layers: int = 26) -> sg.frontend.Model:
    """Gemma 3 1B: of six layers five look back 512 tokens."""
    sizes = {"hidden_size": 1152, "intermediate_size": 6912, "num_hidden_layers": layers}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256}
    windows = {"sliding_window": 512, "sliding_window_pattern": 6, "query_pre_attn_scalar": 256}
    more = {"vocab_size": 262144, "max_position_embeddings": 32768, "rms_norm_eps": 1e-6}
    known = {"model_type": "gemma3_text", "hidden_activation": "gelu_pytorch_tanh"}
    tied = {"tie_word_embeddings": True}
    return sg.frontend.from_config({**sizes, **heads, **windows, **more, **known, **tied})
