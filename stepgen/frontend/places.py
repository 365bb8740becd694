"""Rows of real numbers as int8 with places: what is read as integers by one operation alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from stepgen.frontend.integers import Numbers
from stepgen.frontend.rows import Rows
from stepgen.frontend.weight import Array
from stepgen.ir.dtypes import int8
from stepgen.ir.fn import fn
from stepgen.semantics import numbers

if TYPE_CHECKING:
    from stepgen.frontend.site import Site


def counted(x: Array | Numbers, places: int) -> Numbers:
    """The golden meaning: the nearest int8; numbers that do not fit are cut off."""
    real = x if isinstance(x, Numbers) else Numbers(numbers.round_to(x, "f32"))
    made: Numbers = real.map(fn.convert(int8, places=places))
    return made


def in_places(at: Site, x: Rows, places: int) -> Rows:
    """Rows of f32 as int8; operations that read the same rows with the same places share them."""
    key = ("places", id(x.stream.node), x.stream.port, places)
    return replace(x, stream=at.once(key, lambda: x.stream.map(fn.convert(int8, places=places))))
