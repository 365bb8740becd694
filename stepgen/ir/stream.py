"""Nodes and the streams between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from stepgen.ir import operator
from stepgen.ir.arguments import checked
from stepgen.ir.dims import Dim, Symbols, times
from stepgen.ir.dtypes import Buffer, DataType, Selector, Tile
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr
from stepgen.ir.methods import Methods
from stepgen.ir.where import user_line

if TYPE_CHECKING:
    from stepgen.ir.graph import Graph
    from stepgen.ir.itensor import Itensor

MOST_DIMS = 30
"""Dims of a stream: arrays of numpy have at most 32, two of them those of a tile."""


@dataclass(frozen=True)
class StreamType:
    """The compile-time type of a stream.

    Attributes
    ----------
    shape : tuple of Dim
        ``[D_N, ..., D_0]``, outermost first; D_N counts the tensors.
    dtype : DataType
        Type of one element.
    """

    shape: tuple[Dim, ...]
    dtype: DataType

    @property
    def rank(self) -> int:
        """Rank of the tensors that the stream is a sequence of."""
        return len(self.shape) - 1

    def __str__(self) -> str:
        return f"Stream[{self.dtype}; {', '.join(str(d) for d in self.shape)}]"


@dataclass(frozen=True)
class Routing:
    """Counts known of the selectors of one stream.

    Attributes
    ----------
    counts : tuple of Dim
        Number of selectors with bit i set.
    merged : dict of Dim to tuple of Dim
        For a merge's selector: by ragged dim of the merged data, the dim of each input.
    sums : dict of Dim to tuple of Expr
        Likewise, for the rows of merged tiles: those of all tiles of each input.
    once : tuple of int
        Consumers that one selector of each innermost group names.
    """

    counts: tuple[Dim, ...]
    merged: dict[Dim, tuple[Dim, ...]]
    sums: dict[Dim, tuple[Expr, ...]] = field(default_factory=dict)
    once: tuple[int, ...] = ()


@dataclass(frozen=True)
class Out:
    """Type of one output of an operator.

    Parameters
    ----------
    shape : tuple of Dim
        Outermost first.
    dtype : DataType
        Type of one element.
    totals : mapping of int to Expr
        Number of rank-k groups of the stream, for the levels k for which it is not the product of
        dims because one is ragged.
    volume : Expr, optional
        Number of scalars in all tiles of the stream or its buffers, if a dim of them is ragged.
    routing : Routing, optional
        Counts known of selectors.
    """

    EXAMPLE: ClassVar[str] = "Out(x.shape, x.dtype)"

    shape: tuple[Dim, ...]
    dtype: DataType
    totals: Mapping[int, Expr] = field(default_factory=dict)
    volume: Expr | None = None
    routing: Routing | None = None


@dataclass(eq=False)
class Node:
    """One use of an operator.

    Attributes
    ----------
    graph : Graph
        The graph that it belongs to.
    op : str
        Name of the operator.
    name : str
        Unique in the graph.
    inputs : tuple of Stream
        Its inputs; each handle has the FIFO depth of this use.
    attrs : dict
        Parameters of the operator: JSON values and functions.
    where : str
        ``file.py:12``, the user's line that made it.
    outputs : tuple of Stream
        Its outputs.
    stands_for : Stream or None
        For the placeholder of a connected feedback: the real stream.
    """

    graph: Graph
    op: str
    name: str
    inputs: tuple[Stream, ...]
    attrs: dict[str, Any]
    where: str
    outputs: tuple[Stream, ...] = ()
    stands_for: Stream | None = None

    @cached_property
    def face(self) -> operator.Operator:
        """Its operator."""
        return operator.face_of(self)

    def failure(self, message: str) -> StepError:
        """The error with a message, for the user's line."""
        return StepError(f"{self.op} {self.name} at {self.where}: {message}")

    def __repr__(self) -> str:
        return f"Node({self.name})"


class Stream(Methods):
    """A handle to one output of a node.

    Every operator is a method too: ``x.flatten(0, 1)`` is ``flatten(x, 0, 1)``. Two handles are
    equal when they mean the same output.

    Attributes
    ----------
    node, port
        The output.
    type : StreamType
        Its shape and data type.
    totals : tuple of Expr
        ``totals[k]`` is the number of rank-k groups in the whole stream; ``totals[0]`` the number
        of elements.
    volume : Expr
        Number of scalars in all tiles of the stream, or of its buffers.
    depth : int or None
        Least depth of the FIFO of this use in beats; None leaves it to the compiler.
    """

    def __init__(
        self,
        node: Node,
        port: int,
        type: StreamType,
        totals: tuple[Expr, ...],
        volume: Expr,
        depth: int | None = None,
    ) -> None:
        self.node = node
        self.port = port
        self.type = type
        self.totals = totals
        self.volume = volume
        self.depth = depth

    @property
    def graph(self) -> Graph:
        """The graph of the stream."""
        return self.node.graph

    @property
    def shape(self) -> tuple[Dim, ...]:
        """``[D_N, ..., D_0]``, outermost first."""
        return self.type.shape

    @property
    def dtype(self) -> DataType:
        """Type of one element."""
        return self.type.dtype

    @property
    def tile(self) -> Tile:
        """Type of one element of a stream of tiles.

        Raises
        ------
        StepError
            If the stream has other elements.
        """
        if not isinstance(self.dtype, Tile):
            raise StepError(f"tile at {user_line()}: {self.name} carries no tiles but is {self}")
        return self.dtype

    @property
    def rank(self) -> int:
        """Rank of the tensors that the stream is a sequence of."""
        return self.type.rank

    @property
    def itensor(self) -> Itensor:
        """The order in which it brings the tiles of a tensor.

        Raises
        ------
        StepError
            If the order is not known, with the reason.
        """
        from stepgen.ir.ordering import itensor_of

        return itensor_of(self)

    @property
    def name(self) -> str:
        """Name of the node and number of the output: ``partition_0.3``."""
        return f"{self.node.name}.{self.port}"

    @checked
    def dim(self, level: int) -> Dim:
        """The dim D_level.

        Parameters
        ----------
        level : int
            Counted from the innermost: 0 to the rank.

        Returns
        -------
        Dim

        Raises
        ------
        StepError
            If the stream has no such dim.
        """
        if not 0 <= level <= self.rank:
            raise StepError(
                f"dim at {user_line()}: {self.name} of rank {self.rank} has no dim D{level}"
            )
        return self.shape[self.rank - level]

    @checked
    def count(self, consumer: int) -> Dim:
        """How many of a stream's selectors name a consumer: the dim E_i of a Partition by them.

        With it a loop declares what comes back, before there is a Partition.

        Parameters
        ----------
        consumer : int
            From 0 on.

        Returns
        -------
        Dim

        Raises
        ------
        StepError
            If it is not a stream of selectors, or they have no such consumer.
        """
        if not isinstance(self.dtype, Selector):
            raise StepError(f"count at {user_line()}: {self.name} has no selectors but is {self}")
        if not 0 <= consumer < self.dtype.n:
            raise StepError(
                f"count at {user_line()}: the selectors of {self.name} have the consumers 0 to "
                f"{self.dtype.n - 1}, not {consumer}"
            )
        return self.graph.routing(self).counts[consumer]

    @checked
    def fifo(self, depth: int) -> Stream:
        """The same stream, with a FIFO of at least `depth` beats for one use.

        Parameters
        ----------
        depth : int
            At least 2.

        Returns
        -------
        Stream
            Equal to this one.

        Raises
        ------
        StepError
            If the depth is below 2.
        """
        if depth < 2:
            raise StepError(
                f"fifo at {user_line()}: {self.name} needs a depth of at least 2, not {depth}"
            )
        return Stream(self.node, self.port, self.type, self.totals, self.volume, depth)

    def _repr_html_(self) -> str:
        """A table and a picture, for notebooks."""
        from stepgen.ir.picture import stream_html

        return stream_html(self)

    def resolved(self) -> Stream:
        """The real stream, if this handle is that of a connected feedback.

        Returns
        -------
        Stream
            Else this one.
        """
        source = self.node.stands_for
        if source is None:
            return self
        depth = self.depth or source.depth
        return Stream(source.node, source.port, source.type, source.totals, source.volume, depth)

    @property
    def origin(self) -> Stream:
        """The stream that this one is a copy of: the input of the first of its forks."""
        stream = self
        while stream.node.face.copies:
            stream = stream.node.inputs[0]
        return stream

    def __bool__(self) -> bool:
        raise self._undecided("bool")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int | float | np.generic | np.ndarray):
            raise self._undecided("==")
        return isinstance(other, Stream) and (self.node, self.port) == (other.node, other.port)

    def _undecided(self, operator: str) -> StepError:
        return StepError(
            f"{operator} at {user_line()}: {self.name} has elements only when the program runs, so "
            f"Python can't decide by them: sg.fn.compare makes flags of them, and partition "
            f"routes them"
        )

    def __hash__(self) -> int:
        return hash((self.node, self.port))

    def __str__(self) -> str:
        return str(self.type)

    def __repr__(self) -> str:
        return f"<{self.name} {self.type}>"


def make_stream(node: Node, port: int, out: Out, symbols: Symbols) -> Stream:
    """The stream of an output, with its totals completed.

    Raises
    ------
    StepError
        If it has too many dims.
    """
    if len(out.shape) > MOST_DIMS:
        raise StepError(
            f"{node.name} at {node.where} would have {len(out.shape)} dims, but a stream can have "
            f"{MOST_DIMS} at most"
        )
    totals = _totals(out, symbols)
    volume = out.volume
    if volume is None:
        volume = _volume(out.dtype, totals[0], symbols)
    return Stream(node, port, StreamType(out.shape, out.dtype), totals, volume)


def _volume(dtype: DataType, count: Expr, symbols: Symbols) -> Expr:
    if not isinstance(dtype, (Tile, Buffer)):
        return count
    ragged = [d for d in dtype.dims if d.is_ragged]
    if not ragged:
        return times([count, *(d.expr for d in dtype.dims)])
    summed = symbols.fresh(f"sum_{ragged[0]}_", "dynamic").expr
    return times([summed, *(d.expr for d in dtype.dims if not d.is_ragged)])


def _totals(out: Out, symbols: Symbols) -> tuple[Expr, ...]:
    totals: list[Expr] = []
    for level in range(len(out.shape) - 1, -1, -1):
        dim = out.shape[len(out.shape) - 1 - level]
        if level in out.totals:
            total = out.totals[level]
        elif not totals:
            total = dim.expr
        elif dim.is_ragged:
            positive = totals[-1].positive and not dim.may_be_empty
            total = symbols.fresh(f"sum_{dim}_", "dynamic", positive=positive).expr
        else:
            total = times([totals[-1], dim.expr])
        totals.append(total)
    return tuple(reversed(totals))
