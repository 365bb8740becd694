"""Memories that references lead to: which of them hold all that a run stores."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from ..hw.design.table import Design
from ..ir.dims import Dim, product_bound
from ..ir.errors import StepError
from ..ir.stream import Node, Stream
from .cost import on_chip_bits


@dataclass
class Stored:
    """What the operators that store and those that pass references on have to know.

    Attributes
    ----------
    reused : collection of str
        Nodes whose memory is used again in a run, also where it could hold all of it.
    bits : dict of Node to int
        By Bufferize, the bits of its references.
    shares : dict of Stream to int
        How many of the references on a stream come back, where the memory depends on it.
    rests : dict of Node to str
        Channel on which an operator gives back references that it does not pass on.
    kept : list of str
        Nodes whose memory holds all of a run.
    """

    reused: Collection[str] = ()
    bits: dict[Node, int] = field(default_factory=dict)
    shares: dict[Stream, int] = field(default_factory=dict)
    rests: dict[Node, str] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)

    def keeps(self, node: Node, dims: Sequence[Dim]) -> bool:
        """Whether a node's memory is to hold all elements of these dims, which it then does."""
        if node.name in self.reused or product_bound(dims) is None:
            return False
        self.kept.append(node.name)
        return True

    def bits_of(self, node: Node) -> int:
        """Bits of the references that a node makes or passes on."""
        while node not in self.bits:
            node = node.inputs[0].node
        return self.bits[node]


class Rows(Protocol):
    """The rows of a design table, without the depths of its FIFOs."""

    stored: Stored

    def design(self, depths: Mapping[str, int], *, fuse: bool = True) -> Design:
        """The table."""


R = TypeVar("R", bound=Rows)


def lowered(rows: Callable[[Stored], R]) -> R:
    """The rows with which a design takes the fewest bits.

    Where references come back in any order or several times, a memory holds all chunks of a run,
    if it has a bound, or two, if this takes fewer bits: then more waits in other places. A choice
    with which something may wait for ever has no design.
    """
    first = rows(Stored())
    chosen: frozenset[str] = frozenset()
    least = _bits(rows, chosen) if first.stored.kept else 0
    for name in first.stored.kept:
        bits = _bits(rows, chosen | {name})
        if bits < least:
            chosen, least = chosen | {name}, bits
    return rows(Stored(chosen)) if chosen else first


def _bits(rows: Callable[[Stored], Rows], reused: frozenset[str]) -> float:
    try:
        return on_chip_bits(rows(Stored(reused)).design({}))
    except StepError:
        return math.inf
