"""Rows of real numbers as int8 that count steps: one size of them for a row, found beforehand.

Such rows times a matrix of integers are sums of int32, which are exact in any order. So the golden
meaning, the reference and the circuit compute the same bits, whatever lanes and tiles are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from stepgen.frontend.integers import Numbers, products
from stepgen.frontend.rows import Rows
from stepgen.frontend.weight import Array, Weight, computed
from stepgen.ir.dtypes import f32, int8
from stepgen.ir.fn import fn
from stepgen.ir.stream import Stream
from stepgen.semantics import numbers

if TYPE_CHECKING:
    from stepgen.frontend.run import OpRun
    from stepgen.frontend.site import Site

MOST = 127
"""Steps of the largest number that is not cut off."""


def per_step(at: OpRun | Site, step: Array) -> Array:
    """What numbers are multiplied with, so that 1 is a step: as f32.

    Raises
    ------
    StepError
        If a step has no size.
    """
    wide = step.astype(np.float64)
    with np.errstate(all="ignore"):
        found = numbers.round_to(1 / wide, "f32")
    strange = wide[~(np.isfinite(wide) & np.isfinite(found) & (found > 0))]
    if strange.size:
        at.fail(f"a step of its input must be a finite number above 0, not {strange[0]:g}")
    return found


def counted(at: OpRun, x: Array | Numbers, step: Array) -> Numbers:
    """The golden meaning: rows of real numbers in steps, the nearest ones; others are cut off."""
    real = x if isinstance(x, Numbers) else Numbers(numbers.round_to(x, "f32"))
    made: Numbers = real.map(fn.mul(), Numbers(per_step(at, step))).map(fn.convert(int8))
    return made


def scaled_sums(x: Array, weight: Array, scale: Array, bias: Array | None = None) -> Numbers:
    """The golden meaning: products of integers, and a bias of int32, times what 1 stands for."""
    sums = Numbers(products(x, weight))
    if bias is not None:
        sums = sums.map(fn.add(), Numbers(bias))
    made: Numbers = made_real(sums, Numbers(scale))
    return made


def made_real(sums: Any, scale: Any) -> Any:
    """Sums of int32, of arrays or streams, as f32: rounded once, scaled, and rounded again."""
    return sums.map(fn.convert(f32)).map(fn.mul(), scale)


def both(scale: Array, step: Array) -> Array:
    """What 1 of the sums stands for, as f32: the steps of a weight times those of its input."""
    return numbers.round_to(scale.astype(np.float64) * step.astype(np.float64), "f32")


def as_sums(bias: Array, scale: Array) -> Array:
    """A bias as int32 that counts what 1 of the sums stands for; 0 where that is nothing."""
    with np.errstate(all="ignore"):
        exact = np.rint(bias.astype(np.float64) / scale)
    return numbers.saturate(np.where(scale > 0, exact.clip(-(2.0**31), 2.0**31), 0), "int32")


def room(bias: Weight, step: Weight) -> Weight:
    """The smallest scales of columns with which a bias is one of the sums."""
    return computed(lambda b, s: np.abs(b) / (s * 2.0**30), bias.shape, bias, step)


def both_weights(at: Site, scale: Weight, step: Weight) -> Weight:
    """As `both`, of scales [.., rows, columns] and steps [.., rows] or [.., 1]."""
    if scale.shape[:-2] != step.shape[:-1]:
        at.fail("its scales are those of all layers, and its steps are not")
    return computed(lambda a, b: both(a, b[..., None]), scale.shape, scale, step)


def inverse(at: Site, step: Weight) -> Weight:
    """As `per_step`, of a weight."""
    return Weight(step.shape, "f32", lambda: per_step(at, step.numbers()))


def in_steps(at: Site, role: str, x: Rows, step: Weight) -> Rows:
    """Rows of f32 in steps; operations that read the same rows in the same steps share them."""

    def made() -> Stream:
        if at.shared(role):
            (factor,) = per_step(at, step.numbers())
            scaled = x.map(fn.scale(float(factor)))
        else:
            scaled = x.each(fn.mul(), at.load(role, inverse(at, step), (1, 1), f32).stream)
        return scaled.stream.map(fn.convert(int8))

    key = ("steps", id(x.stream.node), x.stream.port, step.numbers().tobytes())
    return replace(x, stream=at.once(key, made))
