"""Qwen3-MoE: Qwen3 with experts in some layers or all."""

from __future__ import annotations

from collections.abc import Sequence

from stepgen.frontend.builder import Handle
from stepgen.frontend.families.experts import experts
from stepgen.frontend.families.qwen3 import Qwen3


class Qwen3Moe(Qwen3):
    """Qwen3 whose MLPs are experts, but in layers that the config names."""

    model_type = "qwen3_moe"

    def windows(self, layers: int) -> Sequence[int]:
        """The same for all layers."""
        c = self.config
        window = c.take("sliding_window", int, 0)
        return [window if c.take("use_sliding_window", bool, False) else 0] * layers

    def feed_forward(self, x: Handle, layer: int) -> Handle:
        """The experts of a layer, or its MLP."""
        c = self.config
        step = c.size("decoder_sparse_step", 1)
        if layer in c.take("mlp_only_layers", list, []) or (layer + 1) % step:
            return super().feed_forward(x, layer)
        count = c.size(c.first("num_experts", "num_local_experts"))
        hidden = c.size("moe_intermediate_size")
        with self.b.scope("mlp"):
            weights = experts(self, count, hidden, ("gate_proj", "up_proj", "down_proj"))
            top = c.size("num_experts_per_tok")
            normalise = c.take("norm_topk_prob", bool, False)
            return self.b.experts(
                x, *weights, top=top, activation=self.act, normalise=normalise, name="experts"
            )
