"""Memory bits of an elaborated circuit."""

from amaranth.hdl import Elaboratable, Shape

from stepgen.hw.private import elaborated, memories

__all__ = ["allocated_bits"]


def allocated_bits(top: Elaboratable) -> int:
    """Bits of all memories in a circuit: block RAM, LUT RAM and register files alike."""
    return sum(
        memory.depth * Shape.cast(memory.shape).width for memory in memories(elaborated(top))
    )
