"""A model on its way to a streaming tensor program: values as streams of tiles, weights as tensors.

Tokens are rows, and a tile has one or several of them. The last dim of a value is whole, one tile
wide, or it comes in slices, a dim of tiles of fewer columns: a linear of whole rows makes slices,
and a linear of slices adds its products up to whole rows, so neither needs a buffer between them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from stepgen.compile.converting import Way
from stepgen.frontend.cached import COUNTED, Cached
from stepgen.frontend.kind import Value
from stepgen.frontend.orders import Joint
from stepgen.frontend.products import divisor
from stepgen.frontend.rows import Layers, Rows
from stepgen.frontend.sent import ROWS, Tiling
from stepgen.frontend.sharing import queued
from stepgen.frontend.weight import Array, Weight
from stepgen.ir.dims import DimLike
from stepgen.ir.dtypes import ElementType, address, f32
from stepgen.ir.errors import StepError
from stepgen.ir.fn import fn
from stepgen.ir.graph import Graph
from stepgen.ir.itensor import Itensor
from stepgen.ir.stream import Stream
from stepgen.ops.linear_offchip_load import linear_offchip_load
from stepgen.ops.random_offchip_load import random_offchip_load
from stepgen.semantics.numbers import DTYPES

if TYPE_CHECKING:
    from stepgen.frontend.caches import Caches, Places
    from stepgen.frontend.model import Model, Op
    from stepgen.frontend.sharing import SharedArray, Sharing
    from stepgen.frontend.writing import Tokens

Made = TypeVar("Made")


@dataclass(frozen=True)
class Site:
    """An operation while it is lowered.

    Attributes
    ----------
    lowering : Lowering
    op : Op
    """

    lowering: Lowering
    op: Op

    def fail(self, message: str) -> NoReturn:
        """Raise an error that names the operation."""
        raise StepError(f"{self.op.where}: {message}")

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The types of what it reads."""
        return tuple(self.lowering.model.types[name] for name in self.op.inputs)

    @property
    def heads(self) -> bool:
        """Whether the input has several heads in a row, not just columns."""
        return len(self.inputs[0].shape) > 2

    def because(self, reason: str) -> None:
        """Say why the operation takes the form that it takes."""
        self.lowering.reasons.setdefault(self.op.name, []).append(reason)

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What several operations need of one layer, made for the first of them."""
        lowering = self.lowering
        own = lowering.made if lowering.layers is None else lowering.made_in_layer
        if key not in own:
            own[key] = make()
        made: Made = own[key]
        return made

    def cut(self, width: int) -> int:
        """Columns of the slices of a result: of the heads that it becomes, or as many as may be."""
        wanted = self.lowering.columns_of.get(self.op.name)
        if wanted is not None:
            return wanted
        return divisor(width, self.lowering.columns)

    def factor(self, stream: Stream) -> Stream:
        """A stream of f32 in the element type that is multiplied."""
        element = self.lowering.element
        if element == f32:
            return stream
        key = ("factor", id(stream.node), stream.port)
        return self.once(key, lambda: stream.map(fn.convert(element)))

    def factors(self, x: Rows, element: ElementType | None = None) -> Rows:
        """Rows in the element type that is multiplied; those of a given one have it already."""
        return x if element is not None else replace(x, stream=self.factor(x.stream))

    def tensor(self, role: str, weight: Weight, element: ElementType) -> Any:
        """A weight as a tensor in off-chip memory, its last dim as columns."""
        return self.lowering.tensor(f"{self.op.name}_{role}", weight, weight.shape[-1], element)

    def load(
        self, role: str, weight: Weight, tile: tuple[int, int], element: ElementType | None = None
    ) -> Rows:
        """All tiles of a weight, once for each tile of tokens; of a layer in a loop, its tiles.

        Parameters
        ----------
        role : str
        weight : Weight
            Packed: its last dim has the columns of tiles.
        tile : tuple of int
            Several of them become slices.
        element : ElementType, optional
            By default that of factors.
        """
        layers, count = self.lowering.layers, weight.size // math.prod(tile)
        if layers is not None and not self.shared(role):
            return Rows(self.of_layer(role, weight, tile, element), count // layers.trips)
        loaded = self.of_all(role, weight, tile, element)
        return Rows(loaded if count > 1 else loaded.flatten(0, 1), count)

    def of_layer(
        self, role: str, weight: Weight, tile: tuple[int, int], element: ElementType | None = None
    ) -> Stream:
        """As `load`, the tiles of each layer of a loop."""
        layers = self.lowering.layers
        assert layers is not None
        at = self.tiles(layers, weight.size // math.prod(tile) // layers.trips)
        return self.picked(role, weight, at, tile, element)

    def of_all(
        self, role: str, weight: Weight, tile: tuple[int, int], element: ElementType | None = None
    ) -> Stream:
        """As `load`, tiles that all layers share, in a dim of their own."""
        lowering, layers, count = (
            self.lowering,
            self.lowering.layers,
            weight.size // math.prod(tile),
        )
        tensor = self.tensor(role, weight, element or lowering.element)
        alone = layers is None and lowering.dims[0] == 1  # one tile needs no trigger
        return linear_offchip_load(
            tensor,
            tile=tile,
            shape=(1, count) if alone else (count,),
            stride=(0, 1) if alone else (1,),
            ref=None if alone else lowering.first if layers is None else layers.number,
            name=lowering.name(f"{tensor.name}_load"),
        )

    def columns(
        self, role: str, matrix: Weight, x: Rows, cols: int, element: ElementType | None = None
    ) -> Rows:
        """Whole rows times a matrix [in, out], in slices of so many of its columns.

        Rows are of the given element type already; by default they become factors.
        """
        inner, factor = matrix.shape[-2], self.factors(x, element)
        # Transposed, a weight streams past a single row, and no part of it is kept.
        loaded = self.load(role, matrix.T, (cols, inner), element)
        repeated = factor.brought(inner, loaded.slices)
        return Rows(repeated.map(fn.matmul(transpose=True), loaded.stream), loaded.slices)

    def picked(
        self,
        role: str,
        weight: Weight,
        at: Stream,
        tile: tuple[int, int],
        element: ElementType | None = None,
    ) -> Stream:
        """Tiles of a weight, packed as for `load`, by their numbers."""
        tensor = self.tensor(role, weight, element or self.lowering.element)
        name = self.lowering.name(f"{tensor.name}_load")
        return random_offchip_load(at, tensor, tile=tile, name=name)

    def shared(self, role: str) -> bool:
        """Whether a weight is that of all layers, as outside of loops."""
        layers = self.lowering.layers
        return layers is None or self.op.weights[role] in layers.shared

    def tiles(self, layers: Layers, count: int) -> Stream:
        """The addresses of a layer's tiles, of which each layer has so many."""
        if count == 1:
            return layers.number
        return self.once(
            ("tiles", count), lambda: layers.number.flat_map(fn.tile_addresses(count), rank=1)
        )

    def row(self, role: str, weight: Weight, element: ElementType) -> Stream:
        """One row of numbers, once for each tile of tokens."""
        return self.load(role, weight, (1, weight.size), element).stream

    def look_up(
        self, role: str, weight: Weight, at: Rows, element: ElementType | None = None
    ) -> Rows:
        """Rows of a matrix by their numbers; of a layer in a loop, those of its own.

        They are of the given element type; by default f32, of a matrix of factors.
        """
        lowering, layers, numbers = self.lowering, self.lowering.layers, at.stream
        if layers is not None and not self.shared(role):
            first = layers.number.map(fn.scale(weight.shape[-2]))
            if lowering.rows > 1:
                first = first.promote(0).expand(count=lowering.rows)
            numbers = numbers.map(fn.add(), first)
        tensor = self.tensor(role, weight, element or lowering.element)
        tile, name = (1, weight.shape[-1]), lowering.name(f"{tensor.name}_load")
        rows = random_offchip_load(numbers, tensor, tile=tile, name=name)
        if element is None and tensor.element != f32:
            rows = rows.map(fn.convert(f32))
        return Rows(lowering.packed(rows))

    @property
    def requests(self) -> int:
        """Those of which a tile has a token each; 1 where all of its tokens are of one."""
        caches = self.lowering.caches
        return 1 if caches is None or caches.chunk else self.lowering.rows

    def by_request(self, x: Rows) -> Rows:
        """A value with a dim of requests, which see caches of their own."""
        return x.by_rows() if self.requests > 1 else x

    def together(self, x: Rows) -> Rows:
        """The reverse of `by_request`."""
        return x.of_rows() if self.requests > 1 else x

    def cached(self) -> Cached:
        """Where the caches of an attention get their new rows."""
        lowering = self.lowering
        if lowering.caches is None:
            self.fail("attention can only be lowered with phase=decode or phase=prefill")
        caches, places = lowering.caches, lowering.places[self.op.name]
        outer = lowering.dims[:1] if lowering.layers is None else lowering.layers.number.shape
        dims = (*outer, *(n for n in (self.requests, places.heads) if n > 1))

        def declared() -> Cached:
            if caches.writes and not any(places.windows):
                made = self._counted(caches, places)
            else:
                made = Cached.declared(lowering.graph, caches, places, dims)
                if caches.writes:
                    made = made.behind(self._of_heads(self._layer().map(fn.scale(0)), places))
            lowering.ranges[f"{places.name}_span"] = made.span
            return made

        return self.once(places, declared)

    def _layer(self) -> Stream:
        """The number of each layer, 0 outside of a loop, once its token is there."""
        tokens, layers = self.lowering.tokens, self.lowering.layers
        assert tokens is not None
        return tokens.ids.map(fn.scale(0)) if layers is None else layers.number

    def _of_heads(self, stream: Stream, places: Places) -> Stream:
        """A stream once for each head of keys."""
        return stream.promote(0).expand(count=places.heads) if places.heads > 1 else stream

    def _counted(self, caches: Caches, places: Places) -> Cached:
        """The places of a run that writes, of which a host says what a token's have in common."""
        lowering, tokens = self.lowering, self.lowering.tokens
        assert tokens is not None

        def of_places(stream: Stream) -> Stream:
            if lowering.layers is not None:
                stream = stream.promote(0).expand(lowering.layers.number)
            return self._of_heads(stream, places)

        number, heads = self._layer(), places.heads
        if heads > 1:
            number = number.flat_map(fn.tile_addresses(heads), rank=1)
        length, row = (
            lowering.graph.input(f"{places.name}_{what}", address[1, 1], lowering.dims)
            for what in COUNTED
        )
        each = (of_places(one) for one in (length, row, tokens.positions()))
        return Cached.counted(caches, places, number, *each)

    def cache(self, what: str, rows: Rows, element: ElementType | None = None) -> Any:
        """A tensor with caches of such rows, all 0; by default of factors."""
        caches, places = self.lowering.caches, self.lowering.places[self.op.name]
        assert caches is not None
        shape = (places.count * caches.requests * caches.tiles * caches.tile, rows.cols)
        empty = Weight(shape, "f32", lambda: np.zeros(shape, np.float32))
        return self.tensor(what, empty, element or self.lowering.element)


@dataclass
class Lowering:
    """A model on its way to a program.

    Attributes
    ----------
    model : Model
    graph : Graph
    element : ElementType
        That of factors.
    rows, columns : int
        Tokens of a tile, and the most columns of a slice.
    tile_rows, tile_cols : int or None
        The most rows and columns of a tile of a linear's matrix, if they are chosen.
    data : bool
        Whether the contents of all tensors are made; those of addresses always are.
    tiling : {"address", "static", "dynamic"}
        How experts read their weights.
    expert_rows : int
        Rows of a static tile of an expert.
    routed : bool
        Whether the experts of tokens are an input.
    weights : dict of str to array
        Contents of tensors by name.
    values : dict of str to Rows
        What is lowered so far.
    first : Stream or None
        The first rows, whose tiles make loads read.
    layers : Layers or None
        Those of the loop that is being lowered.
    padding : Stream or None
        Which rows of the tiles of a stream are not tokens.
    tokens : Tokens or None
        Those of a run that writes.
    caches : Caches or None
        Those of a program that keeps them, a tile of tokens in each run.
    places : mapping of str to Places
        Those of each attention.
    array, arrays : {"own", "shared"}, dict of str to SharedArray
        Whether linears of loops share units of products, and these by linear.
    columns_of : dict of str to int
        Columns of slices that what reads a value wants.
    made, made_in_layer : dict
        What several operations share, and those of a layer.
    owner : dict of str to str
        By node the operation that it is part of; what several share is the first one's.
    reasons : dict of str to list of str
        Why an operation takes the form that it takes, where there was a choice.
    dims : tuple
        Those of the input streams.
    joints : list of Joint
        Which operations read values in an order other than that in which they are made.
    extents : dict of str to int
        Dims that the model decides, by name.
    ranges : dict of str to Stream
        The tiles of caches that tokens see, by the names that `caches.fed` gives them.
    """

    model: Model
    graph: Graph
    element: ElementType
    rows: int
    columns: int
    data: bool
    tiling: Tiling = "address"
    expert_rows: int = ROWS
    routed: bool = False
    tile_rows: int | None = None
    tile_cols: int | None = None
    weights: dict[str, Array] = field(default_factory=dict)
    values: dict[str, Rows] = field(default_factory=dict)
    first: Stream | None = None
    layers: Layers | None = None
    padding: Stream | None = None
    tokens: Tokens | None = None
    caches: Caches | None = None
    places: Mapping[str, Places] = field(default_factory=dict)
    array: Sharing = "own"
    arrays: dict[str, SharedArray] = field(default_factory=dict)
    columns_of: dict[str, int] = field(default_factory=dict)
    made: dict[Hashable, Any] = field(default_factory=dict)
    made_in_layer: dict[Hashable, Any] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    owner: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, list[str]] = field(default_factory=dict)
    dims: tuple[DimLike, ...] = (1,)
    joints: list[Joint] = field(default_factory=list)
    extents: dict[str, int] = field(default_factory=dict)
    ranges: dict[str, Stream] = field(default_factory=dict)

    def anew(self, *, data: bool) -> Lowering:
        """One of the same model and settings, with nothing lowered yet."""
        chosen = ("tiling", "expert_rows", "routed", "tile_rows", "tile_cols", "array", "caches")
        same = {name: getattr(self, name) for name in (*chosen, "places", "columns_of", "dims")}
        graph = Graph(self.graph.name)
        return Lowering(self.model, graph, self.element, self.rows, self.columns, data, **same)

    @property
    def positions(self) -> int:
        """How many positions there are."""
        return self.model.tokens[1] if self.caches is None else self.caches.rows

    def name(self, wanted: str) -> str:
        """An identifier like a name of the model that is not used yet."""
        text = re.sub(r"[^A-Za-z0-9]+", "_", wanted).strip("_")
        text = text if text[:1].isalpha() else f"op_{text}"
        found, number = text, 0
        while found in self.names:
            number += 1
            found = f"{text}_{number}"
        self.names.add(found)
        return found

    def tensor(self, name: str, weight: Weight, cols: int, element: ElementType) -> Any:
        """A tensor with the numbers of a weight in rows of so many columns."""
        made = self.graph.tensor(self.name(name), (weight.size // cols, cols), element)
        if self.data or element == address:  # addresses decide what runs
            numbers = weight.numbers().reshape(made.shape)
            self.weights[made.name] = numbers.astype(DTYPES[element.on_chip.name])
        return made

    def packed(self, stream: Stream) -> Stream:
        """Tiles of one token as tiles of several."""
        if self.rows > 1:
            stream = stream.accum(fn.retile_row(), rank=1)
        self.first = stream if self.first is None else self.first
        return stream

    def result(self, made: Rows) -> Stream:
        """What a program gives: a tile for each token, or its slices, which nobody joins."""
        if self.rows == 1:
            return made.stream
        cut = fn.retile_streamify("row")
        if self.caches is not None:
            return made.whole().stream.flat_map(cut, rank=1)
        return made.whole().stream.flat_map(cut, rank=0, padding=self.padding)

    def input(self, name: str, value: Value, dims: Sequence[DimLike]) -> Rows:
        """A stream of ids, or of rows; those of a tile are a chunk, at the end filled up with 0."""
        self.names.add(name)
        tile = address[1, 1] if value.element == "int32" else f32[1, value.width]
        heads = [int(n) for n in value.shape[1:-1] if n != 1]
        given = self.graph.input(name, tile, (*dims, *heads))
        if self.rows > 1 and self.caches is None:
            given, padding = given.reshape(chunk=self.rows, pad=0)
            self.padding = padding if self.padding is None else self.padding
        made = given if tile == address[1, 1] else self.packed(given)
        return Rows(made, heads[0] if heads else 1)

    def lower(self, ops: Sequence[Op]) -> None:
        """Operations in order."""
        for op in ops:
            weights = {role: self.model.weights[name] for role, name in op.weights.items()}
            inputs = queued(self, [self.noted(n, op.name) for n in op.inputs])
            first = len(self.graph.nodes)
            made = op.kind.lower(Site(self, op), *inputs, **weights)
            self.values[op.name] = replace(made, note=None)
            for node in self.graph.nodes[first:]:
                self.owner.setdefault(node.name, op.name)  # those of a loop's body are its own

    def noted(self, name: str, reader: str) -> Rows:
        """A value, whose reader's orders are kept as joints."""

        def note(made: Itensor, read: Itensor, way: Way, shared: bool) -> None:
            kind, bits = ("shared buffer", way.own) if shared else (way.name, way.bits)
            joint = Joint(name, reader, made, read, kind, bits, way.why, way.bits - bits)
            self.joints.append(joint)

        return replace(self.read(name), note=note)

    def keep_last(self, names: Collection[str]) -> None:
        """Go on with the last token of a chunk alone, of these values."""
        last = self.graph.input("last", address[1, 1], (1,))
        first = last.map(fn.scale(0))
        for name in names:
            value = self.values[name]
            if value.stream.dtype == address[1, 1]:
                raise StepError(
                    f"{self.model.name}: {name} is read behind the last attention, so all tokens "
                    "of a chunk are needed: leave last out"
                )
            # Of all rows one is not 0, so their sum is that row.
            alone = value.whole().stream.map(fn.mask_rows(0, 1), last, first)
            row = alone.flat_map(fn.retile_streamify("row"), rank=1).accum(fn.add(), rank=1)
            heads = len(self.model.types[name].shape) > 2
            self.values[name] = Rows(row).sliced(value.cols) if heads else Rows(row)
        self.rows = 1
        self.made.clear()

    def read(self, name: str) -> Rows:
        """A value; in a loop, one from outside once for each layer."""
        found = self.values[name]
        ids = self.rows > 1 and found.stream.dtype == address[1, 1]
        if self.layers is None or found.stream.rank - (found.slices > 1 or ids) > 0:
            return found
        if ids:
            repeated = found.stream.bufferize(rank=1).streamify(self.layers.number)
        else:
            repeated = found.whole().stream.promote(0).expand(self.layers.number)
        heads = len(self.model.types[name].shape) > 2
        self.values[name] = Rows(repeated).sliced(found.cols) if heads else Rows(repeated)
        return self.values[name]
