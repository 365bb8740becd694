"""Memory bits of an elaborated circuit."""

from collections.abc import Iterator

from amaranth.hdl import Elaboratable, Fragment, Shape
from amaranth.hdl._mem import MemoryData, MemoryInstance

__all__ = ["allocated_bits", "memories"]


def allocated_bits(top: Elaboratable) -> int:
    """Bits of all memories in a circuit: block RAM, LUT RAM and register files alike."""
    return sum(
        memory.depth * Shape.cast(memory.shape).width
        for memory in memories(Fragment.get(top, platform=None))
    )


def memories(circuit: Fragment) -> Iterator[MemoryData]:
    """All memories in a circuit, those of its parts included."""
    if isinstance(circuit, MemoryInstance):
        yield circuit._data
    for part, *_ in circuit.subfragments:
        yield from memories(part)
