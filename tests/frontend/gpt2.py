"""A GPT-2 of small widths, with random weights."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from stepgen.frontend import Model, from_config

WIDTH = 12
SIZES = {"n_embd": WIDTH, "n_head": 2, "n_layer": 2, "n_positions": 8, "vocab_size": 20}
OTHERS = {"model_type": "gpt2", "torch_dtype": "float32", "activation_function": "gelu_new"}
CHUNK: dict[str, Any] = {"phase": "prefill", "rows": 2, "tile": 2, "cache": 8}


def small() -> Model:
    """The model."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(OTHERS | SIZES))
        return from_config(path)
