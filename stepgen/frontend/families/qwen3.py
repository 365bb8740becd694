"""Qwen3: Qwen2 whose heads of queries and keys have norms."""

from __future__ import annotations

from stepgen.frontend.families.qwen2 import Qwen2


class Qwen3(Qwen2):
    """Qwen2 with norms of heads."""

    model_type = "qwen3"
    head_norm = True
