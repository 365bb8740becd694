"""GPT-2: LayerNorm with biases, learned positions, one linear for queries, keys and values."""

from __future__ import annotations

from stepgen.frontend.builder import Handle
from stepgen.frontend.families.family import Family
from stepgen.frontend.model import Model


class Gpt2(Family):
    """Its linears are stored as [in, out]."""

    model_type = "gpt2"
    tied = True

    def tokens(self) -> int:
        """The longest context."""
        return self.config.size("n_positions")

    def _linear(self, x: Handle, name: str, rows: int, cols: int) -> Handle:
        path = f"{self.prefix}{self.b.path(name)}"
        weight = self.source.take(f"{path}.weight", rows, cols)
        bias = self.source.take(f"{path}.bias", cols)
        return self.b.linear(x, weight, bias, name=name)

    def _norm(self, x: Handle, name: str) -> Handle:
        path = f"{self.prefix}{self.b.path(name)}"
        weight, bias = (self.source.take(f"{path}.{r}", self.width) for r in ("weight", "bias"))
        eps = self.config.take("layer_norm_epsilon", float, 1e-5)
        return self.b.norm(x, weight, bias, how="layer", eps=eps, name=name)

    def _layer(self, x: Handle, layer: int) -> Handle:
        b, c, width = self.b, self.config, self.width
        each = c.divided("n_embd", width, "n_head", self.heads)
        h = self._norm(x, "ln_1")
        with b.scope("attn"):
            both = self._linear(h, "c_attn", width, 3 * width)
            parts = [b.split(both, i * width, width, name) for i, name in enumerate("qkv")]
            q, k, v = (b.heads(part, each) for part in parts)
            scale = each**-0.5 if c.take("scale_attn_weights", bool, True) else 1.0
            if c.take("scale_attn_by_inverse_layer_idx", bool, False):
                scale /= layer + 1
            made = b.join(b.attention(q, k, v, scale=scale, name="attention"))
            x = x + self._linear(made, "c_proj", width, width)
        h = self._norm(x, "ln_2")
        with b.scope("mlp"):
            inner = c.size("n_inner", 4 * width)
            made = b.map(
                self.activation("activation_function"), self._linear(h, "c_fc", width, inner)
            )
            return x + self._linear(made, "c_proj", inner, width)

    def build(self) -> Model:
        """The model."""
        c, b, source = self.config, self.b, self.source
        c.only(add_cross_attention=False)
        self.width, self.heads = c.size("n_embd"), c.size("n_head")
        self.prefix = "transformer." if source.has("transformer.wte.weight") else ""
        vocabulary = c.size("vocab_size")
        ids, positions = b.ids(), b.positions()
        tokens = source.take(f"{self.prefix}wte.weight", vocabulary, self.width)
        places = source.take(f"{self.prefix}wpe.weight", self.tokens(), self.width)
        table = b.weight("wte", tokens)
        x = b.embedding(ids, table, "wte") + b.embedding(positions, places, "wpe")
        for layer in range(c.size("n_layer")):
            with b.scope(f"h.{layer}"):
                x = self._layer(x, layer)
        x = self._norm(x, "ln_f")
        return b.model(self.head(x, table, vocabulary, self.width, "logits"))
