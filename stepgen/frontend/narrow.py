"""Weights of checkpoints that others quantized, as compressed-tensors has them.

``config.json`` says under ``quantization_config`` how many bits a number has and which numbers
share a scale. Beside ``<name>_scale`` there is either ``<name>``, of int8, or ``<name>_packed``:
its words of 32 bits have the numbers of a row from the lowest bits on, each plus half of its range.
Where values that a linear reads are int8 of one static scale, that is ``input_scale`` beside its
weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepgen.frontend.kind import shape_text
from stepgen.frontend.weight import Array, Weight
from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError

CONFIG = "quantization_config"
METHOD = "compressed-tensors"
FORMATS = ("pack-quantized", "int-quantized", "naive-quantized")
STRATEGIES = ("tensor", "channel", "group")
ENDINGS = ("_packed", "_scale", "_shape")
"""Of names of what belongs to a weight."""

INPUT_SCALE = "input_scale"
INPUTS = (INPUT_SCALE, "input_zero_point")
"""Names of what belongs to the values that a linear reads."""

UNKNOWN = {"_zero_point": "a zero point", "_g_idx": "rows in another order"}
"""By ending what a weight may have that can't be imported."""


@dataclass(frozen=True)
class Narrow:
    """A weight as integers and scales.

    Attributes
    ----------
    weight : Weight
        [in, out], of int8.
    scale : Weight
        [groups, out].
    bits : int
        Of a number.
    step : Weight or None
        [1], where what it multiplies is int8: what 1 stands for.
    """

    weight: Weight
    scale: Weight
    bits: int
    step: Weight | None = None

    @property
    def real(self) -> Weight:
        """What both make, [out, in]."""
        rows, cols = self.weight.shape

        def read() -> Array:
            scale = self.scale.numbers()
            scales = np.repeat(scale, rows // len(scale), axis=0)
            return np.ascontiguousarray((self.weight.numbers() * scales).T, np.float32)

        return Weight((cols, rows), "f32", read)


class Quantization:
    """What a config says about weights that are quantized.

    Parameters
    ----------
    data : dict
        The ``quantization_config``.
    place : str
        The file, for messages.

    Raises
    ------
    StepError
        If weights are quantized in another way than can be imported.
    """

    def __init__(self, data: Mapping[str, Any], place: str) -> None:
        self.place = place
        self._only("quant_method", data.get("quant_method"), METHOD)
        self._only("format", data.get("format"), *FORMATS)
        groups = data.get("config_groups")
        if not isinstance(groups, dict) or not groups:
            raise StepError(f"{place}: {CONFIG} has no config_groups")
        self.bits: set[int] = set()
        self.static: set[bool] = set()
        for group in groups.values():
            weights = group.get("weights") if isinstance(group, dict) else None
            if not isinstance(weights, dict):
                raise StepError(f"{place}: {CONFIG} has a group without weights")
            self._only("type of weights", weights.get("type"), "int")
            self._only("strategy of weights", weights.get("strategy"), *STRATEGIES)
            self._only("symmetric of weights", weights.get("symmetric", True), True)
            self._only("num_bits of weights", weights.get("num_bits"), 8, 4)
            self.bits.add(weights["num_bits"])
            self.static.add(self._static(group.get("input_activations")))

    def _static(self, values: Any) -> bool:
        """Whether values have one scale; those that have it for a token stay real numbers."""
        if not isinstance(values, dict) or values.get("dynamic"):
            return False
        self._only("type of input_activations", values.get("type"), "int")
        self._only("num_bits of input_activations", values.get("num_bits"), 8)
        self._only("strategy of input_activations", values.get("strategy"), "tensor")
        self._only("symmetric of input_activations", values.get("symmetric", True), True)
        return True

    def _only(self, what: str, found: Any, *known: Any) -> None:
        if not any(type(found) is type(one) and found == one for one in known):
            raise StepError(
                f"{self.place}: {CONFIG} has the {what} {shown(found)}; "
                f"{' or '.join(map(str, known))} can be imported"
            )

    def narrow(self, tensors: Mapping[str, Weight], name: str, cols: int, rows: int) -> Narrow:
        """A weight [cols, rows] of a checkpoint.

        Raises
        ------
        StepError
            If it does not fit its scales, or has what can't be imported.
        """
        for ending, what in UNKNOWN.items():
            if f"{name}{ending}" in tensors:
                raise StepError(f"{self.place}: {name} has {what}, which can't be imported")
        scale = tensors[f"{name}_scale"]
        outer, groups = (*scale.shape, 1, 1)[:2]
        if outer not in (1, cols) or rows % groups or (outer == 1 and groups > 1):
            raise StepError(
                f"{self.place}: the scales of {name} are of {shape_text(scale.shape)}, and its "
                f"weight is of {cols} x {rows}"
            )

        def scales() -> Array:
            found = self._sizes(f"{name}_scale", scale).reshape(outer, groups).T
            return np.ascontiguousarray(np.broadcast_to(found, (groups, cols)))

        made, step = Weight((groups, cols), "f32", scales), self._step(tensors, name)
        if f"{name}_packed" not in tensors:
            return Narrow(tensors[name].T, made, max(self.bits), step)
        packed = tensors[f"{name}_packed"]
        for bits in sorted(self.bits):
            if packed.shape == (cols, -(-rows * bits // 32)):
                return Narrow(_unpacked(packed, bits, cols, rows), made, bits, step)
        raise StepError(
            f"{self.place}: {name}_packed is of {shape_text(packed.shape)}, which are not "
            f"{cols} rows of {rows} numbers of {' or '.join(map(str, sorted(self.bits)))} bits"
        )

    def _step(self, tensors: Mapping[str, Weight], name: str) -> Weight | None:
        """The scale of what a weight multiplies, if it has one."""
        beside, point = inputs_of(name)
        scale, zero = tensors.get(beside), tensors.get(point)
        if scale is None:
            if self.static == {True}:
                raise StepError(f"{self.place}: {CONFIG} has input_activations, but no {beside}")
            return None
        if scale.size != 1:
            raise StepError(
                f"{self.place}: {beside} must be one number, not {shape_text(scale.shape)}"
            )
        if zero is not None and zero.numbers().any():
            raise StepError(
                f"{self.place}: {point} must be 0, not {zero.numbers().ravel()[0]:g}: values are "
                f"symmetric"
            )
        return Weight((1,), "f32", lambda: self._sizes(beside, scale).reshape(1))

    def _sizes(self, name: str, scale: Weight) -> Array:
        """Scales, checked."""
        found = scale.numbers().astype(np.float32)
        strange = found[~(np.isfinite(found) & (found > 0))]
        if strange.size:
            raise StepError(
                f"{self.place}: {name} must have finite numbers above 0, not {strange[0]:g}"
            )
        return found


def inputs_of(name: str) -> list[str]:
    """Names of what may belong to the values that a weight multiplies."""
    return [f"{name.removesuffix('weight')}{own}" for own in INPUTS]


def _unpacked(packed: Weight, bits: int, cols: int, rows: int) -> Weight:
    """The numbers of words, [rows, cols]."""

    def read() -> Array:
        words = packed.numbers().astype(np.int64)[..., None] >> bits * np.arange(32 // bits)
        numbers = (words & (1 << bits) - 1) - (1 << bits - 1)
        return np.ascontiguousarray(numbers.reshape(cols, -1)[:, :rows].T.astype(np.int8))

    return Weight((rows, cols), "int8", read)
