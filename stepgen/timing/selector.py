"""Bits of a selector beat in the cycle model."""

from __future__ import annotations

import numba as nb

from .kernel import aux_of


@nb.njit(inline="always")
def selected(M, selector, n, count):  # type: ignore[no-untyped-def]
    """Bit `n` of a selector of `count` bits; the machine stores a single bit in the beat itself."""
    return aux_of(selector) if count == 1 else M[aux_of(selector) + n]
