"""Counts what a circuit really allocates, from its elaboration."""

from collections.abc import Iterator

from amaranth.hdl import Elaboratable, Fragment, Shape
from amaranth.hdl._mem import MemoryInstance

__all__ = ["allocated_bits"]


def allocated_bits(top: Elaboratable) -> int:
    """Bits of all memories in a circuit: block RAM, LUT RAM and register files alike."""
    return sum(
        memory._data.depth * Shape.cast(memory._data.shape).width
        for memory in _memories(Fragment.get(top, platform=None))
    )


def _memories(fragment: Fragment) -> Iterator[MemoryInstance]:
    if isinstance(fragment, MemoryInstance):
        yield fragment
    for inner, *_ in fragment.subfragments:
        yield from _memories(inner)
