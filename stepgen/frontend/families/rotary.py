"""Frequencies of RoPE as configs describe them, in f32 as transformers computes them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from stepgen.frontend.checkpoint import Config
from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError

Floats = npt.NDArray[np.float32]


def frequencies(config: Config, width: int, layers: str = "", base: float = 1e4) -> Floats:
    """The angle per position of each pair of columns.

    Parameters
    ----------
    config : Config
        With ``rope_parameters``, or with ``rope_theta`` and ``rope_scaling`` as before.
    width : int
        Columns of a head.
    layers : str
        The kind of layers, of a config that has parameters for each.
    base : float
        Where the config says none.

    Raises
    ------
    StepError
        If the way of scaling is not known.
    """
    scaling = dict(config.table("rope_parameters") or config.table("rope_scaling"))
    if layers:
        scaling = dict(scaling.get(layers) or {})
    theta = scaling.get("rope_theta") or config.take("rope_theta", float, base)
    scaling = {**scaling, "rope_theta": theta}
    if scaling.get("partial_rotary_factor") not in (None, 1.0) or config.data.get(
        "partial_rotary_factor"
    ) not in (None, 1.0):
        raise StepError(f"{config.place}: RoPE of a part of the columns can't be imported")
    kind = scaling.get("rope_type") or scaling.get("type") or "default"
    plain = _plain(_number(scaling, "rope_theta", config), width)
    if kind not in _SCALED:
        known = ", ".join(_SCALED)
        raise StepError(
            f"{config.place}: RoPE of type {shown(kind)} is not known, those are {known}"
        )
    return _SCALED[kind](plain, scaling, config)


def _plain(theta: float, width: int) -> Floats:
    powers = np.arange(0, width, 2, dtype=np.float32) / np.float32(width)
    return np.asarray(np.float32(1) / np.power(np.float32(theta), powers), np.float32)


def _number(scaling: Mapping[str, Any], key: str, config: Config) -> float:
    return Config(scaling, f"{config.place}: RoPE").take(key, float)


def _default(plain: Floats, scaling: Mapping[str, Any], config: Config) -> Floats:
    return plain


def _linear(plain: Floats, scaling: Mapping[str, Any], config: Config) -> Floats:
    return plain / np.float32(_number(scaling, "factor", config))


def _llama3(plain: Floats, scaling: Mapping[str, Any], config: Config) -> Floats:
    factor, low, high, old = (
        np.float32(_number(scaling, key, config))
        for key in (
            *("factor", "low_freq_factor", "high_freq_factor"),
            "original_max_position_embeddings",
        )
    )
    length = np.float32(2 * math.pi) / plain
    slow = np.where(length > old / low, plain / factor, plain)
    smooth = (old / length - low) / (high - low)
    between = (1 - smooth) * slow / factor + smooth * slow
    medium = (length >= old / high) & (length <= old / low)
    return np.where(medium, between, slow).astype(np.float32)


_SCALED = {"default": _default, "linear": _linear, "llama3": _llama3}
"""How a longer context is made, by the name in a config."""
