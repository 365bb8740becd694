"""Memories of several sizes, and which of those that references lead to hold all of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from stepgen.compile.cost import on_chip_bits
from stepgen.hw.design.table import Design, DesignError
from stepgen.ir.dims import Dim, product_bound
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node, Stream


@dataclass(frozen=True)
class SizeChoice:
    """Sizes that the memory of a unit may have.

    Attributes
    ----------
    full, lean : UnitParams
        With the memory for full rate, and with the least.
    beats : float
        Most beats that go through it in a run; infinite where no bound is known.
    origin : str
        The unit's, in the design table.
    """

    full: Any
    lean: Any
    beats: float
    origin: str


@dataclass
class Stored:
    """What the operators that store and those that pass references on have to know.

    Attributes
    ----------
    reused : collection of str
        Nodes whose memory is used again in a run, also where it could hold all of it.
    lean : collection of str
        Which of `choices` are the least with which all runs end.
    paced : bool
        Whether FIFOs are deep enough for full rate, and not for progress alone.
    bits : dict of Node to int
        By Bufferize, the bits of its references.
    shares : dict of Stream to int
        How many of the references on a stream come back, where the memory depends on it.
    rests : dict of Node to str
        Channel on which an operator gives back references that it does not pass on.
    kept : list of str
        Nodes whose memory holds all of a run.
    choices : dict of str to Choice
        What memories may be, where there is a choice, by node and kind of unit.
    """

    reused: Collection[str] = ()
    lean: Collection[str] = ()
    paced: bool = True
    bits: dict[Node, int] = field(default_factory=dict)
    shares: dict[Stream, int] = field(default_factory=dict)
    rests: dict[Node, str] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    choices: dict[str, SizeChoice] = field(default_factory=dict)

    def chosen(self, node: Node, choice: SizeChoice) -> Any:
        """The parameters of a node's unit: of its memory's sizes that which it is to have."""
        name = f"{node.name} {choice.full.kind}"
        self.choices[name] = choice
        return choice.lean if name in self.lean else choice.full

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


class LoweredRows(Protocol):
    """The rows of a design table, without the depths of its FIFOs."""

    graph: Graph
    stored: Stored

    def design(self, depths: Mapping[str, int], *, fuse: bool = True) -> Design:
        """The table."""


R = TypeVar("R", bound=LoweredRows)


@dataclass(frozen=True)
class Made(Generic[R]):
    """Rows, which are used up, and the design that they became.

    Attributes
    ----------
    rows : Rows
    design : Design or None
        None if something may wait for ever.
    """

    rows: R
    design: Design | None

    @classmethod
    def of(cls, rows: R) -> Made[R]:
        """Derive the depths of its FIFOs."""
        try:
            return cls(rows, rows.design({}))
        except DesignError:
            raise
        except StepError:
            return cls(rows, None)

    @property
    def bits(self) -> float:
        """Of all its memories."""
        return math.inf if self.design is None else on_chip_bits(self.design)


def lowered(rows: Callable[[Stored], R]) -> R:
    """The rows with which a design takes the fewest bits.

    Where references come back in any order or several times, a memory holds all chunks of a run,
    if it has a bound, or two, if this takes fewer bits: then more waits in other places. A choice
    with which something may wait for ever has no design.

    Parameters
    ----------
    rows : function of Stored
    """
    first = rows(Stored())
    chosen = _fewest(rows, first.stored).rows.stored.reused if first.stored.kept else ()
    return rows(Stored(chosen)) if chosen else first


def designed(
    rows: Callable[[Stored], R],
    depths: Mapping[str, int],
    *,
    fuse: bool,
    lean: Collection[str] = (),
    paced: bool = True,
) -> tuple[Graph, Stored, Design]:
    """The program of such rows, what is known of its memories, and the design.

    Parameters
    ----------
    rows : function of Stored
    depths, fuse
        As for `stepgen.compile.lower.lower`.
    lean, paced
        As of `Stored`.

    Raises
    ------
    StepError
        If there is no design.
    """
    last = rows(Stored((), lean, paced))
    if last.stored.kept:
        made = _fewest(rows, last.stored)
        if made.design is not None and fuse and not depths:
            return made.rows.graph, made.rows.stored, made.design
        last = rows(Stored(made.rows.stored.reused, lean, paced))
    return last.graph, last.stored, last.design(depths, fuse=fuse)


def _fewest(rows: Callable[[Stored], R], first: Stored) -> Made[R]:
    """The design that takes the fewest bits, if memories are used again where that saves some."""
    best = Made.of(rows(Stored((), first.lean, first.paced)))
    for name in first.kept:
        again = Stored(frozenset({*best.rows.stored.reused, name}), first.lean, first.paced)
        best = min(best, Made.of(rows(again)), key=lambda made: made.bits)
    return best
