"""Qwen2: Llama with biases, and windows in its last layers."""

from __future__ import annotations

from collections.abc import Sequence

from stepgen.frontend.checkpoint import Config
from stepgen.frontend.families.llama import Llama
from stepgen.frontend.families.windows import by_type


class Qwen2(Llama):
    """Llama with biases of queries, keys and values."""

    model_type = "qwen2"

    def check(self, config: Config) -> None:
        """Nothing else changes what it computes."""

    def windows(self, layers: int) -> Sequence[int]:
        """Those of the layers that the config calls sliding, or of the last ones."""
        c = self.config
        window = c.take("sliding_window", int, 0)
        if not c.take("use_sliding_window", bool, False):
            return [0] * layers
        first = c.take("max_window_layers", int, layers)
        return by_type(c, layers, window, [layer >= first for layer in range(layers)])
