"""Gemma 3: layers with windows, two tables of RoPE, four norms, and a scaled embedding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepgen.frontend.builder import Handle
from stepgen.frontend.checkpoint import Config
from stepgen.frontend.families.llama import Llama
from stepgen.frontend.families.rotary import frequencies
from stepgen.frontend.families.windows import SLIDING, types
from stepgen.frontend.weight import Weight, computed
from stepgen.ir.errors import StepError
from stepgen.ir.fn import fn


class Gemma3(Llama):
    """The decoder of text; norms multiply with 1 + weight."""

    model_type = "gemma3_text"
    head_norm = True
    tied = True
    activation_key = "hidden_activation"

    def check(self, config: Config) -> None:
        """Scores have no cap, and tokens look back only."""
        config.only(attn_logit_softcapping=0.0, use_bidirectional_attention=False)

    def windows(self, layers: int) -> Sequence[int]:
        """All layers but every sixth slide."""
        c = self.config
        every = c.size("sliding_window_pattern", 6)
        self.types = types(c, layers, [bool((i + 1) % every) for i in range(layers)])
        return [c.size("sliding_window") if t == SLIDING else 0 for t in self.types]

    def turns(self, layer: int) -> str:
        """One table for layers that slide, another one for the others."""
        kind, c = self.types[layer], self.config
        if c.table("rope_parameters"):
            base = 1e4 if kind == SLIDING else 1e6
            found = frequencies(
                Config({**c.data, "rope_theta": None}, c.place), self.each, kind, base
            )
        elif kind == SLIDING:
            local = {"rope_theta": c.take("rope_local_base_freq", float, 1e4)}
            found = frequencies(Config(local, c.place), self.each)
        else:
            found = frequencies(c, self.each, base=1e6)
        return self.b.weight(f"rope.{kind}.frequencies", found)

    def scale(self) -> float:
        """Of scores, by a width that the config names."""
        found = self.config.take("query_pre_attn_scalar", float, 256.0)
        if not found > 0:
            raise StepError(
                f"{self.config.place}: query_pre_attn_scalar must be above 0, not {found:g}"
            )
        return float(found**-0.5)

    def weight_of_norm(self, name: str, width: int) -> Weight:
        """One more than what is stored."""
        return computed(lambda w: w + 1, (width,), super().weight_of_norm(name, width))

    def embedded(self, x: Handle) -> Handle:
        """Times the root of the width."""
        return self.b.map(fn.scale(float(np.float32(self.width**0.5))), x)

    def layer(self, x: Handle, layer: int) -> Handle:
        """One layer, with norms before and behind each half."""
        width = self.width
        made = self.attention(self.norm(x, "input_layernorm", width), layer)
        x = x + self.norm(made, "post_attention_layernorm", width)
        made = self.feed_forward(self.norm(x, "pre_feedforward_layernorm", width), layer)
        return x + self.norm(made, "post_feedforward_layernorm", width)

    def logits(self, x: Handle, table: str, vocabulary: int) -> Handle:
        """With a cap, if the config has one."""
        cap, b = self.config.take("final_logit_softcapping", float, 0.0), self.b
        if not cap:
            return super().logits(x, table, vocabulary)
        x = self.head(x, table, vocabulary, self.width, "lm_head")
        return b.map(fn.scale(cap), b.map(fn.tanh(), b.map(fn.scale(1 / cap), x)), name="logits")
