"""Mixtral: Llama with experts, and one window."""

from __future__ import annotations

from collections.abc import Sequence

from stepgen.frontend.builder import Handle
from stepgen.frontend.checkpoint import Config
from stepgen.frontend.families.experts import experts
from stepgen.frontend.families.llama import Llama


class Mixtral(Llama):
    """Llama whose MLPs are experts."""

    model_type = "mixtral"

    def check(self, config: Config) -> None:
        """Nothing else changes what it computes."""

    def windows(self, layers: int) -> Sequence[int]:
        """The same for all layers."""
        return [self.config.take("sliding_window", int, 0)] * layers

    def feed_forward(self, x: Handle, layer: int) -> Handle:
        """The experts of a layer."""
        c = self.config
        count = c.size(c.first("num_local_experts", "num_experts"))
        hidden = c.size("intermediate_size")
        old = self.source.has(self.b.path("block_sparse_moe.gate.weight"))
        with self.b.scope("block_sparse_moe" if old else "mlp"):
            weights = experts(self, count, hidden, ("w1", "w3", "w2"))
            top = c.size("num_experts_per_tok")
            return self.b.experts(x, *weights, top=top, activation=self.act, name="experts")
