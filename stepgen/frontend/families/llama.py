"""Llama, whose parts other families change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepgen.frontend.builder import Handle
from stepgen.frontend.checkpoint import Config
from stepgen.frontend.families.family import Family
from stepgen.frontend.families.rotary import frequencies
from stepgen.frontend.model import Model
from stepgen.frontend.weight import Weight
from stepgen.ir.errors import StepError
from stepgen.ir.fn import fn
from stepgen.ir.function import Function


class Llama(Family):
    """RMSNorm, RoPE, heads of queries that share keys, a gated MLP."""

    model_type = "llama"
    head_norm = False
    activation_key = "hidden_act"

    def tokens(self) -> int:
        """The longest context."""
        return self.config.size("max_position_embeddings")

    def check(self, config: Config) -> None:
        """Check what a config may say that is not built."""
        config.only(pretraining_tp=1)

    def windows(self, layers: int) -> Sequence[int]:
        """How far each layer looks back; 0 if it is unbounded."""
        return [0] * layers

    def turns(self, layer: int) -> str:
        """The weight with the frequencies of a layer."""
        return self.b.weight("rope.frequencies", frequencies(self.config, self.each))

    def scale(self) -> float:
        """Of scores."""
        return float(self.each**-0.5)

    def take(self, name: str, *shape: int) -> Weight:
        """A weight by the path in the builder's scope."""
        return self.source.take(self.b.path(name), *shape)

    def linear(self, x: Handle, name: str, rows: int, cols: int) -> Handle:
        """A linear with the weights of this name, and its bias if there is one."""
        bias = self.source.maybe(self.b.path(f"{name}.bias"), cols)
        stored = self.source.narrow(self.b.path(f"{name}.weight"), cols, rows)
        if stored is not None:
            return self.narrow(x, stored, bias, name)
        return self.b.linear(x, self.take(f"{name}.weight", cols, rows).T, bias, name=name)

    def weight_of_norm(self, name: str, width: int) -> Weight:
        """What a norm multiplies with."""
        return self.take(f"{name}.weight", width)

    def norm(self, x: Handle, name: str, width: int) -> Handle:
        """A norm with the weights of this name."""
        weight = self.weight_of_norm(name, width)
        return self.b.norm(x, weight, eps=self.config.take("rms_norm_eps", float), name=name)

    def attention(self, x: Handle, layer: int) -> Handle:
        """The attention of a layer, with its projections."""
        b, width, each = self.b, self.width, self.each
        with b.scope("self_attn"):
            q = self.linear(x, "q_proj", width, self.heads * each)
            k = self.linear(x, "k_proj", width, self.groups * each)
            v = self.linear(x, "v_proj", width, self.groups * each)
            q, k, v = b.heads(q, each, "q"), b.heads(k, each, "k"), b.heads(v, each, "v")
            if self.head_norm:
                q, k = self.norm(q, "q_norm", each), self.norm(k, "k_norm", each)
            turns = self.turns(layer)
            q = b.rope(q, self.positions, turns, name="q_rope")
            k = b.rope(k, self.positions, turns, name="k_rope")
            window = None
            if any(self.all_windows):
                far = self.all_windows[layer]
                window = b.weight(f"window.{far}", np.int32(far))
            made = b.attention(q, k, v, scale=self.scale(), window=window, name="attention")
            return self.linear(b.join(made), "o_proj", self.heads * each, width)

    def feed_forward(self, x: Handle, layer: int) -> Handle:
        """The gated MLP of a layer."""
        width, hidden = self.width, self.config.size("intermediate_size")
        with self.b.scope("mlp"):
            gate = self.linear(x, "gate_proj", width, hidden)
            up = self.linear(x, "up_proj", width, hidden)
            made = self.b.map(fn.mul(), self.b.map(self.act, gate), up)
            return self.linear(made, "down_proj", hidden, width)

    def layer(self, x: Handle, layer: int) -> Handle:
        """One layer."""
        width = self.width
        x = x + self.attention(self.norm(x, "input_layernorm", width), layer)
        return x + self.feed_forward(self.norm(x, "post_attention_layernorm", width), layer)

    def embedded(self, x: Handle) -> Handle:
        """What becomes of the embedding."""
        return x

    def logits(self, x: Handle, table: str, vocabulary: int) -> Handle:
        """The logits."""
        return self.head(x, table, vocabulary, self.width, "logits")

    def head_width(self, c: Config) -> int:
        """Columns of a head, which RoPE turns in pairs."""
        if c.data.get("head_dim") is None:
            heads = c.size("num_attention_heads")
            found = c.divided("hidden_size", c.size("hidden_size"), "num_attention_heads", heads)
            named = f"hidden_size / num_attention_heads, the columns of a head, is {found}"
        else:
            found = c.size("head_dim")
            named = f"head_dim is {found}"
        if found % 2:
            raise StepError(f"{c.place}: {named}: it must be even, for RoPE turns pairs")
        return found

    def build(self) -> Model:
        """The model."""
        c, b = self.config, self.b
        self.check(c)
        self.width, layers = c.size("hidden_size"), c.size("num_hidden_layers")
        self.heads = c.size("num_attention_heads")
        self.groups = c.size("num_key_value_heads", self.heads)
        c.divided("num_attention_heads", self.heads, "num_key_value_heads", self.groups)
        self.each = self.head_width(c)
        self.act: Function = self.activation(self.activation_key)
        self.all_windows = self.windows(layers)
        vocabulary = c.size("vocab_size")
        ids, self.positions = b.ids(), b.positions()
        with b.scope("model"):
            table = b.weight(
                "embed_tokens", self.take("embed_tokens.weight", vocabulary, self.width)
            )
            x = self.embedded(b.embedding(ids, table, "embed_tokens"))
            for layer in range(layers):
                with b.scope(f"layers.{layer}"):
                    x = self.layer(x, layer)
            x = self.norm(x, "norm", self.width)
        return b.model(self.logits(x, table, vocabulary))
