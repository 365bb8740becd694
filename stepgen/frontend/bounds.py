"""Least cycles of the operations of a model, for one token, from the streams that they become."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stepgen.frontend import caches
from stepgen.frontend.kind import TOKENS
from stepgen.frontend.lowering import lowered
from stepgen.frontend.model import Model, walk
from stepgen.frontend.site import Lowering
from stepgen.functions.products import Matmul, MatmulAdd
from stepgen.ir.dtypes import Buffer, Tile
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr, ceiling, sum_of
from stepgen.ir.metrics import metrics
from stepgen.ir.stream import Node, Stream
from stepgen.ir.wire import LANES


@dataclass(frozen=True)
class Bound:
    """What a run takes of one operation.

    Attributes
    ----------
    read, written : int
        Bytes off chip.
    beats : int or None
        The least cycles of its units: none takes or sends more than a beat in one. None where data
        decide.
    of : str
        The node of the program that takes so many.
    parts : int
        Tokens of the run, times the layers of the operation.
    """

    read: int
    written: int
    beats: int | None
    of: str
    parts: int

    def port(self, word: int) -> int:
        """Cycles of the memory port, which moves a word of so many bytes in each direction."""
        return -(-max(self.read, self.written) // word)

    def least(self, word: int) -> int | None:
        """The least cycles of a run."""
        return None if self.beats is None else max(self.beats, self.port(word))

    def each(self, number: int) -> int:
        """A number of a run, for one token and layer."""
        return -(-number // self.parts)


@dataclass(frozen=True)
class Costs:
    """Least cycles of a model's program.

    Parameters
    ----------
    lowering : Lowering
    filled : int or sequence of int
        Tokens in the caches before the run, or those of each request.
    lanes : int
        Of a beat.
    """

    lowering: Lowering
    filled: int | Sequence[int]
    lanes: int

    @property
    def tokens(self) -> int:
        """Of a run; of a program that takes any number, those of a tile."""
        sizes = self.lowering.caches
        return self.lowering.rows if sizes is None else sizes.tokens

    @cached_property
    def trips(self) -> dict[str, int]:
        """How often each operation runs."""
        return {one.op.name: one.trips for one in self.lowering.model.placed}

    @cached_property
    def nodes(self) -> dict[str, list[Node]]:
        """The nodes of each operation."""
        found: dict[str, list[Node]] = {op.name: [] for op in walk(self.lowering.model.ops)}
        for node in self.lowering.graph.nodes:
            if node.name in self.lowering.owner:
                found[self.lowering.owner[node.name]].append(node)
        return found

    @cached_property
    def dims(self) -> dict[str, int]:
        """Dims of the program, as far as the model and the caches decide them."""
        made = self.lowering
        known = {TOKENS: self.tokens, **made.extents}
        if made.caches is None:
            return known
        sizes, behind = made.caches, np.array(self.filled).reshape(-1)
        if sizes.chunk is None:
            behind = np.broadcast_to(behind, sizes.requests)
        which = np.arange(len(behind))
        given = caches.fed(made.model, sizes, behind, which, sizes.chunk or 1)
        for name, ranges in made.ranges.items():
            length, total = made.graph.span(ranges)
            lengths = given[name][..., -1]
            known |= {str(length): int(lengths.max()), str(total): int(lengths.sum())}
        return known

    @cached_property
    def bounds(self) -> dict[str, Bound]:
        """What each operation takes, by name."""
        traffic = metrics(self.lowering.graph, "paper").nodes
        found = {}
        for name, nodes in self.nodes.items():
            moved: dict[bool, list[Expr]] = {False: [], True: []}
            for node in nodes:
                moved[bool(node.face.writes)].append(traffic[node.name].traffic)
            read, written = (self._number(sum_of(*moved[way])) for way in (False, True))
            beats = {node.name: self._beats(node) for node in nodes}
            known = {node: n for node, n in beats.items() if n is not None}
            of = max(known, key=known.__getitem__, default="")
            decided = len(known) == len(beats) and read is not None and written is not None
            parts = self.trips[name] * self.tokens
            found[name] = Bound(
                read or 0, written or 0, known.get(of, 0) if decided else None, of, parts
            )
        return found

    def port(self, word: int, names: Collection[str] | None = None) -> int:
        """Cycles of the memory port for a token, of all operations or of some."""
        every = self._some(names)
        both = (sum(b.read for b in every), sum(b.written for b in every))
        return -(-max(both) // (word * self.tokens))

    def busiest(self, names: Collection[str] | None = None) -> int:
        """Cycles of the busiest of their operators for a token."""
        return -(-max((b.beats or 0 for b in self._some(names)), default=0) // self.tokens)

    def _some(self, names: Collection[str] | None) -> list[Bound]:
        return [b for name, b in self.bounds.items() if names is None or name in names]

    def _number(self, expr: Expr) -> int | None:
        """The number of an expression; None if data decide it."""
        given = {s: self.dims[s.name] for s in expr.free_symbols if s.name in self.dims}
        made = expr.subs(given)
        return None if made.free_symbols else int(ceiling(made))

    def _beats(self, node: Node) -> int | None:
        """The most beats that it takes or sends on a stream, or steps of its products."""
        streams = [s for s in (*node.inputs, *node.outputs) if not isinstance(s.dtype, Buffer)]
        counts = [self._count(s) for s in streams]
        if isinstance(node.attrs.get("fn"), Matmul | MatmulAdd):
            outer = node.outputs[0].dtype
            assert isinstance(outer, Tile)
            slices = ceiling(outer.cols.expr / self.lanes)
            counts.append(self._number(self._slices(node.inputs[0]) * slices))
        known = [n for n in counts if n is not None]
        return max(known, default=0) if len(known) == len(counts) else None

    def _count(self, stream: Stream) -> int | None:
        return self._number(self._slices(stream))

    def _slices(self, stream: Stream) -> Expr:
        """Beats of a stream."""
        tile = stream.dtype
        if not isinstance(tile, Tile):
            return stream.totals[0]
        return stream.volume / tile.cols.expr * ceiling(tile.cols.expr / self.lanes)


def costs_of(model: Model, rows: int) -> Costs | str:
    """Least cycles of a model for the last of so many tokens, or why they are unknown."""
    caching = bool(caches.places(model))
    try:
        made = lowered(model, cache=rows if caching else None, data=False)
    except StepError as error:
        return str(error)
    return Costs(made, rows - 1, LANES)
