"""The order of every stream of a program, from what its operators do."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from stepgen.ir.dtypes import Buffer, ElementType, Tile, address
from stepgen.ir.errors import StepError
from stepgen.ir.function import Cut
from stepgen.ir.graph import Graph
from stepgen.ir.itensor import Itensor
from stepgen.ir.stream import Node, Stream
from stepgen.ir.tile_order import TileOrder, Unknown, trips_of, walked
from stepgen.ir.where import user_line

Known = TileOrder | str
"""The order of a stream, or the reason why it is not known."""


def itensor_of(stream: Stream) -> Itensor:
    """The iterative tensor type of a stream.

    Raises
    ------
    StepError
        If its order is not known, with the reason.
    """
    try:
        return order_of(stream).itensor()
    except Unknown as reason:
        raise _unknown(stream, str(reason)) from None


def described(graph: Graph) -> list[tuple[str, str, str, str]]:
    """Each stream of a program with its type.

    Returns
    -------
    list of (str, str, str, str)
        The stream, the tensor or operator whose data it brings, the type, or the reason why that
        is not known.
    """
    rows = []
    for stream, order in orders(graph).items():
        name = stream.name if len(stream.node.outputs) > 1 else stream.node.name
        if isinstance(order, str):
            rows.append((name, "", "", order))
            continue
        try:
            rows.append((name, order.of, str(order.itensor()), ""))
        except Unknown as reason:
            rows.append((name, order.of, "", str(reason)))
    return rows


def order_of(stream: Stream) -> TileOrder:
    """The order of a stream, with the dims that its loops belong to.

    Raises
    ------
    StepError
        If it is not known, with the reason.
    """
    found = orders(stream.graph, until=stream.node)[stream]
    if isinstance(found, str):
        raise _unknown(stream, found)
    return found


def _unknown(stream: Stream, reason: str) -> StepError:
    return StepError(
        f"itensor at {user_line()}: the order of {stream.name}, {stream}, is not known: {reason}"
    )


def orders(graph: Graph, until: Node | None = None) -> dict[Stream, Known]:
    """The order of every stream of a program.

    What an input brings, or what data decide, is a tensor of its own, in the order of the stream.

    Parameters
    ----------
    graph : Graph
    until : Node, optional
        The last node to look at.

    Returns
    -------
    dict of Stream to TileOrder or str
        By stream, in the order of the nodes; a reason where the order is not known.
    """
    found: dict[Stream, Known] = {}
    numbers: dict[Stream, TileOrder] = {}
    for node in graph.nodes:
        for stream in node.outputs:
            try:
                found[stream] = Ordering(node, stream.port, found, numbers).order()
            except Unknown as reason:
                found[stream] = str(reason)
            with suppress(Unknown):
                numbers[stream] = Ordering(node, stream.port, numbers, numbers).numbers()
        if node is until:
            break
    return found


class Ordering:
    """One output of a node, and the orders of its inputs, for the rule of its operator.

    Parameters
    ----------
    node, port
        The output.
    known : mapping of Stream to TileOrder or str
        The orders of earlier streams; or, of addresses, what numbers they are.
    numbers : mapping of Stream to TileOrder
        Numbers of tiles that follow from the structure, by stream of addresses.
    """

    def __init__(
        self,
        node: Node,
        port: int,
        known: Mapping[Stream, Known],
        numbers: Mapping[Stream, TileOrder],
    ) -> None:
        self.node, self.attrs, self.port = node, node.attrs, port
        self.known, self.numbers_of = known, numbers
        self.out = node.outputs[port]

    def order(self) -> TileOrder:
        """The order of a stream of tiles or buffers."""
        if not isinstance(self.out.dtype, Tile | Buffer):
            raise Unknown(f"it carries no tiles but {self.out.dtype}")
        try:
            return self.node.face.order(self)
        except Unknown:
            if "fn" not in self.attrs:
                raise
            return self.own()  # what it makes of data whose order is not known

    def numbers(self) -> TileOrder:
        """The numbers of a stream of addresses, as tiles of 1 in one dim."""
        if self.out.dtype != Tile(1, 1, address):
            raise Unknown("it carries no addresses")
        function: Any = self.attrs.get("fn")
        if function is None:
            return self.node.face.order(self)
        if not isinstance(function, Cut):
            raise Unknown("data decide its numbers")
        if function.cuts_into() == "tiles":
            x, count = self.input(), int(function.parameters()["count"])
            dims = [[(n, (s[0] * count,)) for n, s in dim] for dim in x.dims]
            return self.cut(x.with_dims(dims), (count, (1,)))
        ranges = self.node.inputs[0]
        if function.cuts_into() != "range" or any(dim != 1 for dim in ranges.shape):
            raise Unknown("data decide its numbers")
        start = TileOrder("", (1,), address, ((),) * len(ranges.shape))
        return self.cut(start, (trips_of(self.out.dim(0)), (1,)))

    def input(self, index: int = 0) -> TileOrder:
        """The order of an input; of a feedback that of the stream alone."""
        stream = self.node.inputs[index]
        found = self.known.get(stream)
        if found is None:
            if self.known is self.numbers_of:
                raise Unknown("data decide its numbers")
            return own_order(stream)
        if isinstance(found, str):
            raise Unknown(found)
        return found

    def own(self) -> TileOrder:
        """Data of its own, in the order of the stream."""
        self._for_tiles()
        return own_order(self.out)

    def _for_tiles(self) -> None:
        if self.known is self.numbers_of:
            raise Unknown("data decide its numbers")

    def addresses(self) -> TileOrder | None:
        """The numbers of tiles that the first input has, if they follow from the structure."""
        return self.numbers_of.get(self.node.inputs[0])

    def unzipped(self, made: Node) -> TileOrder:
        """The order of what a Zip made a tuple of."""
        return Ordering(made, 0, self.known, self.numbers_of).input(self.port)

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of the tiles that it makes."""
        return extents_of(self.out.dtype)

    def load(self, dims: Any, offset: int) -> TileOrder:
        """Tiles of the node's tensor by their numbers, for loops of each dim."""
        self._for_tiles()
        tensor, (rows, cols) = self.node.graph.tensors[self.attrs["tensor"]], self.attrs["tile"]
        high, wide = tensor.grid((rows, cols))
        flat = walked(
            [(high, (rows, 0)), (wide, (0, cols))], [loop for d in dims for loop in d], offset
        )
        made, parts = [], iter(flat)
        for dim in dims:
            made.append(tuple(loop for _ in dim for loop in next(parts)))
        return TileOrder(tensor.name, (rows, cols), tensor.element.on_chip, tuple(made))

    @property
    def element(self) -> ElementType:
        """The element type of the tiles that it makes."""
        return element_of(self.out)

    def cut(self, x: TileOrder, loop: Any) -> TileOrder:
        """With a loop over the pieces of each element, within its dim or in one of its own."""
        if self.attrs["rank"]:
            return x.with_dims([*x.dims, *[()] * (self.attrs["rank"] - 1), (loop,)])
        return x.with_dims([*x.dims[:-1], (*x.dims[-1], loop)])

    def made_of(self, x: TileOrder) -> TileOrder:
        """Tiles that are made of each of those of an operand."""
        return x.with_tile(*self.tile, self.element, self.node.name)

    def widest(self) -> TileOrder:
        """The operand that has most of the result: its tile, and the most loops that move."""
        operands = [self.input(i) for i in range(len(self.node.inputs))]

        def moves(x: TileOrder) -> tuple[bool, int]:
            return x.tile[-2:] == self.tile, sum(any(s) for n, s in x.loops if n != 1)

        return max(operands, key=moves)

    def product(self) -> TileOrder:
        """Rows of the first operand, columns of the second, under loops that both have."""
        x, w, function = self.input(0), self.input(1), self.attrs["fn"]
        rows, cols = self._product_tile()
        column = -2 if function.transpose else -1
        dims: list[list[Any]] = []
        for index, (mine, other) in enumerate(zip(x.dims, w.dims, strict=True)):
            mine, other = (tuple(lp for lp in d if lp[0] != 1) for d in (mine, other))
            if [n for n, _ in mine] != [n for n, _ in other]:
                mine, other = _aligned(mine, other, index)
            dims.append(list(zip(mine, other, strict=True)))
        # Products of a loop that moves in the inner dim, or in both operands at once, as over the
        # layers of stacked weights, lie in a dim of their own.
        both = [pair for dim in dims for pair in dim if _apart(pair, column)]
        made = []
        for dim in dims:
            loops = []
            for pair in dim:
                (trips, s), (_, t) = pair
                own = tuple(int(pair is p) for p in both)
                rest = (*t[:-2], *s[:-2], s[-2], t[column])
                loops.append((trips, (*own, *((0,) * len(rest) if any(own) else rest))))
            made.append(tuple(loops))
        outer = len(both) + len(x.tile) + len(w.tile) - 4
        tile = (1,) * outer + (rows, cols)
        return TileOrder(self.node.name, tile, element_of(self.out), tuple(made))

    def _product_tile(self) -> tuple[int, int]:
        (rows, _), (high, wide) = (extents_of(s.dtype) for s in self.node.inputs[:2])
        return rows, high if self.attrs["fn"].transpose else wide


def _apart(pair: Any, column: int) -> bool:
    """Whether a loop moves in the inner dim of two factors, or in both of them at once."""
    (_, s), (_, t) = pair
    inner = s[-1] or t[-1 if column == -2 else -2]
    return bool(inner or (any(s[:-1]) and (any(t[:-2]) or t[column])))


def _aligned(a: Any, b: Any, index: int) -> tuple[Any, Any]:
    """Loops of one dim of two operands, split until they have the same trips."""
    made: tuple[list[Any], list[Any]] = ([], [])
    left, right = list(a), list(b)
    while left and right:
        (n, s), (m, t) = left.pop(), right.pop()
        if not (isinstance(n, int) and isinstance(m, int)):
            if n != m:
                raise Unknown(f"loops over dim {index} of its operands differ, {n} against {m}")
            least = n
        else:
            least = min(n, m)
            if max(n, m) % least:
                raise Unknown(f"loops over dim {index} of its operands differ, {n} against {m}")
            if n > least:
                left.append((n // least, tuple(step * least for step in s)))
            if m > least:
                right.append((m // least, tuple(step * least for step in t)))
        made[0].insert(0, (least, s))
        made[1].insert(0, (least, t))
    if left or right:
        raise Unknown(f"loops over dim {index} of its operands differ")
    return made


def own_order(stream: Stream) -> TileOrder:
    """A stream as data of its own: a dim for each of its dims, then rows and columns."""
    if not isinstance(stream.dtype, Tile):
        raise Unknown(f"data decide which {stream.dtype} comes when")
    trips = [trips_of(dim) for dim in stream.shape]
    moving = [i for i, n in enumerate(trips) if n != 1]
    dims = []
    for place, count in enumerate(trips):
        steps = tuple(int(place == at) for at in moving)
        dims.append(((count, (*steps, 0, 0)),) if place in moving else ())
    tile = (1,) * len(moving) + extents_of(stream.dtype)
    return TileOrder(stream.node.name, tile, element_of(stream), tuple(dims))


def extents_of(dtype: Any) -> tuple[int, int]:
    """Rows and columns of tiles, or of those in buffers.

    Raises
    ------
    Unknown
        If they are known only at run time.
    """
    tile = dtype.tile if isinstance(dtype, Buffer) else dtype
    rows, cols = tile.rows.static, tile.cols.static
    if not rows or not cols:
        raise Unknown(f"the extents of its tiles, {tile}, are known only at run time")
    return rows, cols


def element_of(stream: Stream) -> ElementType:
    """The element type of a stream of tiles."""
    assert isinstance(stream.dtype, Tile)
    return stream.dtype.element
