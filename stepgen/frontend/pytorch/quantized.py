"""Linears that pt2e has quantized: weights of int8, and the steps of what these read.

An exported program has ``quantize_per_tensor`` and ``dequantize_per_tensor`` where a value becomes
int8 and a real number again, and ``dequantize_per_tensor`` or ``dequantize_per_channel`` behind a
weight of int8. Between linears models have real numbers, so what others read is not rounded.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from stepgen.frontend.kinds.scaled_linear import ScaledLinear
from stepgen.frontend.pytorch.layout import Layout
from stepgen.frontend.pytorch.needed import torch
from stepgen.frontend.pytorch.values import Val, short
from stepgen.frontend.weight import Array

QUANTIZE, DEQUANTIZE = "quantize_per_tensor", "dequantize_per_tensor"
BITS = 8


def linears_alone(exported: Any) -> bool:
    """Let linears alone read what was rounded, and others what it was before.

    Returns
    -------
    bool
        Whether any value or weight of an exported program is quantized; it is changed in place.
    """
    found = False
    for node in exported.graph.nodes:
        found |= node.op == "call_function" and short(node).startswith("dequantize_")
        if node.op != "call_function" or short(node) != DEQUANTIZE:
            continue
        rounded = node.args[0]
        if rounded.op == "call_function" and short(rounded) == QUANTIZE:
            node.replace_all_uses_with(
                rounded.args[0], delete_user_cb=lambda user: short(user) != "linear"
            )
    if found:
        exported.graph_module.recompile()
    return bool(found)


class Quantized(Layout):
    """Follows which values and weights are int8, and how large their steps are."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.narrow: dict[str, tuple[Array, Array]] = {}

    def _on_quantize_per_tensor(self, x: Any, scale: Any, zero: Any, *kind: Any) -> Val:
        self._check(zero, kind)
        return replace(self._value(x), step=float(self._numbers(scale).item()))

    def _on_dequantize_per_tensor(
        self, x: Any, scale: Any, zero: Any, *kind: Any, **_: Any
    ) -> Val | None:
        if x.name not in self.constants:
            return self._value(x)
        self._check(zero, kind)
        self._keep(x, self._numbers(scale).reshape(1))
        return None

    def _on_dequantize_per_channel(
        self, x: Any, scale: Any, zero: Any, axis: int, *kind: Any, **_: Any
    ) -> None:
        whole = self._constant(x)
        self._check(zero, kind)
        if axis % whole.ndim:
            raise self._fail(f"its scales are of dim {axis}; those of results, dim 0, are known")
        self._keep(x, self._numbers(scale))

    def _keep(self, x: Any, scale: Array) -> None:
        """A weight [out, in], and its scale for each row or for all."""
        whole = self._constant(x).detach().cpu().numpy()
        strange = scale[~(np.isfinite(scale) & (scale > 0))]
        if strange.size:
            raise self._fail(f"a scale must be a finite number above 0, not {strange[0]:g}")
        self.narrow[self.node.name] = whole, np.broadcast_to(scale, len(whole)).astype(np.float32)

    def _check(self, zero: Any, kind: Any) -> None:
        """Check that numbers are int8, with 0 in their middle."""
        points = self._numbers(zero)
        if points.any():
            strange = points[points != 0].flat[0]
            raise self._fail(
                f"its zero point is {strange:g}; only 0 can be imported: have the quantizer make "
                f"symmetric values, with torch.per_tensor_symmetric"
            )
        low, high, dtype = kind[:3]
        if dtype != torch().int8 or high != 127 or low not in (-127, -128):
            raise self._fail(f"its numbers are {dtype} of {low} to {high}; int8 can be imported")

    def _numbers(self, given: Any) -> Array:
        """A number, or those of a constant."""
        if isinstance(given, torch().fx.Node):
            given = self._constant(given).detach().cpu().numpy()
        return np.asarray(given, np.float64)

    def _scaled_linear(self, x: Val, weight: Any, bias: Any) -> Val:
        whole, scale = self.narrow[weight.name]
        x = self._rows(x)
        weights: dict[str, Any] = {"weight": np.ascontiguousarray(whole.T), "scale": scale[None]}
        if bias is not None:
            weights["bias"] = self._array(self._constant(bias))
        if x.step is not None:
            weights["step"] = np.array([x.step], np.float32)
        made = self._add(ScaledLinear(BITS), x, weights=weights)
        return Val(made, x.dims, len(whole))
