"""Bits of a selector beat in the cycle model."""

from __future__ import annotations

from stepgen.timing.kernel import Memory, aux_of, helper


@helper
def selected(M: Memory, selector: int, n: int, count: int) -> int:
    """Bit `n` of a selector of `count` bits; a single bit is stored in the beat itself."""
    return aux_of(selector) if count == 1 else M[aux_of(selector) + n]
