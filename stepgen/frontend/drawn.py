"""Random weights, of the shapes that follow from a config."""

from __future__ import annotations

import zlib

import numpy as np

from stepgen.frontend.checkpoint import Config, Source
from stepgen.frontend.weight import ELEMENTS, Array, Weight


class Drawn(Source):
    """Weights that are drawn when they are read, each by its name.

    Parameters
    ----------
    config : Config
    seed : int
    """

    def __init__(self, config: Config, seed: int) -> None:
        self.config, self.seed = config, seed
        said = config.take("dtype", str, config.take("torch_dtype", str, "bfloat16"))
        self.element = "f32" if said == "float32" else "bf16"

    def has(self, name: str) -> bool:
        """Whether checkpoints of such a config have the weight, under its newest name."""
        part, _, role = name.rpartition(".")
        if role != "bias":
            return part == "lm_head"
        if self.config.data["model_type"] == "qwen2":
            return part.endswith(("q_proj", "k_proj", "v_proj"))
        flag = "attention_bias" if "self_attn" in part else "mlp_bias"
        return self.config.take(flag, bool, False)

    def take(self, name: str, *shape: int) -> Weight:
        """Numbers with which values keep their size from layer to layer."""
        seeds = (self.seed, zlib.crc32(name.encode()))

        def draw() -> Array:
            noise = np.random.default_rng(seeds).standard_normal(shape, np.float32)
            if len(shape) > 1:
                made = noise * max(shape[-2:]) ** -0.5
            else:
                made = 0.1 * noise + (not name.endswith("bias"))
            return np.asarray(made, ELEMENTS[self.element])

        return Weight(shape, self.element, draw)
