"""Windows of layers, as configs describe them."""

from __future__ import annotations

from collections.abc import Sequence

from stepgen.frontend.checkpoint import Config
from stepgen.ir.errors import StepError

SLIDING, FULL = "sliding_attention", "full_attention"
"""Kinds of layers in a config."""


def types(config: Config, layers: int, sliding: Sequence[bool]) -> list[str]:
    """The kind of each layer: as the config says, or which of them slide.

    Raises
    ------
    StepError
        If the config has another number of kinds, or another kind.
    """
    named = config.take("layer_types", list, [SLIDING if s else FULL for s in sliding])
    strange = [kind for kind in named if kind not in (SLIDING, FULL)]
    if strange or len(named) != layers:
        raise StepError(
            f"{config.place}: layer_types must be {layers} times {SLIDING} or {FULL}, "
            f"not {len(named)} with {strange[0] if strange else 'these'}"
        )
    return named


def by_type(config: Config, layers: int, window: int, sliding: Sequence[bool]) -> Sequence[int]:
    """The window of each layer; 0 if it is unbounded."""
    return [window if kind == SLIDING else 0 for kind in types(config, layers, sliding)]
