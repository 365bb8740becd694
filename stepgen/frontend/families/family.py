"""Families of models: how each builds one from a checkpoint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from stepgen.frontend.builder import Builder, Handle
from stepgen.frontend.checkpoint import Source
from stepgen.frontend.model import Model
from stepgen.frontend.narrow import Narrow
from stepgen.frontend.weight import Weight
from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError
from stepgen.ir.fn import fn
from stepgen.ir.function import Function, function, function_types

_ALIASES = {
    **{"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu_fast": "gelu_tanh"},
    "swish": "silu",
}
"""Names of activations in configs; others are those of functions."""


class Family(ABC):
    """Builds a model of one family from a checkpoint.

    Attributes
    ----------
    model_type : str
        By which a config names the family.
    """

    model_type: ClassVar[str]

    def __init__(self, source: Source) -> None:
        self.source, self.config = source, source.config
        self.b = Builder(self.model_type, (1, self.tokens()))

    @abstractmethod
    def tokens(self) -> int:
        """Most tokens of a run: the longest context."""

    @abstractmethod
    def build(self) -> Model:
        """The model."""

    def activation(self, key: str) -> Function:
        """The function that a config names."""
        name = self.config.take(key, str)
        if name == "relu":
            return fn.at_least(0)
        name = _ALIASES.get(name, name)
        kind = function_types().get(name)
        if kind is None or kind.arity != 1 or kind.__dataclass_fields__.keys() - _FIELDS:
            raise StepError(
                f"{self.config.place}: {key} is {shown(name)}, which is not a known function"
            )
        return function(name)

    def head(self, x: Handle, table: str, vocabulary: int, width: int, name: str) -> Handle:
        """The logits: by the embedding's table if the head is tied to it."""
        tied = self.config.take("tie_word_embeddings", bool, self.tied)
        stored = None if tied else self.source.narrow("lm_head.weight", vocabulary, width)
        if stored is not None:
            return self.narrow(x, stored, None, name)
        own = self.source.maybe("lm_head.weight", vocabulary, width)
        weight = table if tied or own is None else own
        return self.b.linear(x, weight, transposed=True, name=name)

    def narrow(self, x: Handle, stored: Narrow, bias: Weight | None, name: str) -> Handle:
        """A linear whose weight is stored as integers with scales."""
        given = (stored.weight, stored.scale, bias)
        return self.b.scaled_linear(x, *given, bits=stored.bits, step=stored.step, name=name)

    tied: ClassVar[bool] = False


_FIELDS = Function.__dataclass_fields__.keys()
