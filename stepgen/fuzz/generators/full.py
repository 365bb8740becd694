"""Draws programs of all operators and functions that have a circuit."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

import stepgen as sg
from stepgen.compile.circuit import Circuit
from stepgen.functions import Binary, Unary
from stepgen.fuzz.coverage import own_functions
from stepgen.fuzz.generators import alike, products
from stepgen.fuzz.generators.choosing import Choosing
from stepgen.fuzz.generators.drawing import columns_of, tile_of
from stepgen.fuzz.generators.plain import steps_of
from stepgen.hw.arithmetic.operations import LOOKUP_ROWS, SCALED
from stepgen.hw.arithmetic.sums import SUMMED
from stepgen.hw.design.table import Bus
from stepgen.ir.affine import last_tile
from stepgen.ir.dims import Dim, product_bound
from stepgen.ir.dtypes import FLOATS, INTEGERS, NUMBERS, ElementType
from stepgen.ir.function import Cut, Function, Mapped, Scanned, function_types, maker
from stepgen.ir.operator import own_operators
from stepgen.ir.stream import Stream
from stepgen.ir.wire import LANES

LOADED_ONCE = 64
"""Elements that one read of a tensor has, at most."""


def element_wise() -> list[type[Function]]:
    """Functions that write down their arithmetic."""
    return [
        kind
        for kind in function_types().values()
        if issubclass(kind, Unary | Binary) and kind.lane not in (Unary.lane, Binary.lane)
    ]


@dataclass(frozen=True)
class Scale:
    """How large what is drawn may get.

    Attributes
    ----------
    lanes : int
        Lanes of a beat.
    bound : int
        The longest dynamic or ragged extent.
    beats : int
        Beats of a row, at most.
    data_bits : int
        Data width of the memory port.
    burst, outstanding : int
        Bus words of a burst, and bursts under way.
    latency : int
        Cycles of the memory that accesses by address cover.
    """

    lanes: int = LANES
    bound: int = 5
    beats: int = 3
    data_bits: int = 32
    burst: int = 4
    outstanding: int = 8
    latency: int = 16

    @property
    def bus(self) -> Bus:
        """The off-chip port."""
        return Bus(
            data_bits=self.data_bits,
            burst=self.burst,
            outstanding=self.outstanding,
            latency=self.latency,
        )


class Drawn(Choosing):
    """A drawn program with everything that becomes a circuit.

    Beside the steps of `Choosing`: loads of several dims, stores, every registered function and
    every operator of a user's own that has a circuit.
    """

    most = 10_000
    overflows = True

    def __init__(self, seed: int, steps: Sequence[tuple[str, int]], scale: Scale) -> None:
        self.scale = scale
        self.bus = scale.bus
        self.bound = scale.bound
        super().__init__(seed, steps, scale.lanes)

    def first(self) -> Stream:
        """The first stream: as `Bounded` has it, or tiles of any rows, some of them without."""
        if self.number(0, 1):
            return super().first()
        dims = [self.dim(ragged=n > 0) for n in range(self.number(0, 2) + 1)]
        rows = self.pick(1, 2, 3, self.dim(ragged=False))
        return self.input("x", sg.Tile(rows, self.columns(), self.pick(*INTEGERS)), dims)

    def columns(self) -> int:
        """Columns of a tile."""
        return self.width(self.number(1, self.scale.beats))

    def step_load(self, x: Stream, name: str) -> Stream:
        """Tiles of several dims for each element of a stream, some of them read twice."""
        rows, (element, columns) = self.number(1, 3), self.stored()
        shape = [self.number(1, 3) for _ in range(self.number(1, 3))]
        stride = [self.number(0, 3) for _ in shape]
        # A read begins with a bus word.
        tile_bytes = rows * columns * element.bytes // element.packed
        whole = math.lcm(tile_bytes, self.bus.data_bits // 8) // tile_bytes
        offset = self.number(0, 1) * whole
        last = last_tile(shape, stride, offset)
        across = self.number(1, 2)
        tensor = self.graph.tensor(name, (rows * (last // across + 1), columns * across), element)
        ref = x if self.number(0, 2) else None
        loaded = sg.linear_offchip_load(
            tensor, tile=(rows, columns), shape=shape, stride=stride, offset=offset, ref=ref
        )
        if ref is None:
            self.graph.output(loaded, f"{name}_loaded")
            return x
        return loaded.flatten(0, len(shape) - 1) if len(shape) > 1 else loaded

    def step_loads(self, x: Stream, name: str) -> Stream:
        """Several small loads beside the program, whose bursts take turns."""
        for n in range(self.number(3, 6)):
            count = self.number(1, 3)
            columns = max(self.lanes, self.bus.data_bits // 8) * self.number(1, 2)
            tensor = self.graph.tensor(f"{name}_{n}", (1, columns * count), sg.int8)
            loaded = sg.linear_offchip_load(tensor, tile=(1, columns), shape=(count,), stride=(1,))
            self.graph.output(loaded, f"{name}_{n}_loaded")
        return x

    def step_experts(self, x: Stream, name: str) -> Stream:
        """Products with matrices of one shape, each loaded for its own tiles."""
        return alike.experts(self, x, name)

    def step_far(self, x: Stream, name: str) -> Stream:
        """Tiles on both sides of a border of 4 KiB, and some KiB behind, beside the program."""
        rows, columns, element = self.number(1, 3), self.columns(), self.pick(*SUMMED)
        size = rows * columns * element.bytes
        apart = self.pick(4096, 4096, 12288) // size + self.number(-1, 0)
        tensor = self.graph.tensor(name, (rows * (apart + 3), columns), element)
        loaded = sg.linear_offchip_load(
            tensor, tile=(rows, columns), shape=(2, 3), stride=(apart, 1)
        )
        self.graph.output(loaded, f"{name}_far")
        return x

    def step_store(self, x: Stream, name: str) -> Stream:
        """A stream that is also written to memory."""
        tile, room = tile_of(x), product_bound(x.shape)
        rows = tile.rows.static
        if rows is None or room is None or room > LOADED_ONCE:
            raise sg.StepError("a tensor can't be drawn for so many rows")
        spare = self.number(0, 2)
        tensor = self.graph.tensor(name, (rows * (room + spare), columns_of(x)), tile.element)
        one, other = x.fork(2)
        sg.linear_offchip_store(one, tensor)
        return other

    def step_function(self, x: Stream, name: str) -> Stream:
        """Any function, with drawn parameters, where it may be used; often a user's own."""
        own = own_functions() if self.number(0, 1) else {}
        kind = self.pick(*(own or function_types()).values())
        fn = self.function(kind)
        elements = getattr(kind, "elements", NUMBERS)
        if isinstance(x.dtype, sg.Tile) and x.dtype.element not in elements:
            x = x.map(sg.fn.convert(self.pick(*elements)))
        beside = [self.beside(f"{name}_{n}", x.dtype, x) for n in range(1, fn.arity)]
        uses = []
        if isinstance(fn, Mapped):
            uses.append(lambda: x.map(fn, *beside))
        if isinstance(fn, Scanned):
            uses.append(lambda: x.scan(fn, rank=self.number(1, max(1, x.rank))))
        if isinstance(fn, Cut):
            uses.append(lambda: x.flat_map(fn, rank=self.number(0, 1)))
        if not uses or (not isinstance(fn, Mapped) and fn.arity == 1):
            uses.append(lambda: x.accum(fn, rank=self.number(1, max(1, x.rank))))
        made: Stream = self.pick(*uses)()
        if isinstance(made.dtype, sg.Selector):
            self.graph.output(made, f"{name}_chosen")
            return x
        return made

    def step_arithmetic(self, x: Stream, name: str) -> Stream:
        """Element-wise functions one after the other, with other streams where they take two."""
        kinds = [kind for kind in element_wise() if kind.elements != FLOATS]
        for n in range(self.number(1, 4)):
            fn = self.function(self.pick(*kinds))
            others = [self.other(f"{name}_{n}", x) for _ in range(1, fn.arity)]
            x = x.map(fn, *others) if self.number(0, 1) or not others else others[0].map(fn, x)
            if tile_of(x).element == sg.bool_ and self.number(0, 3):
                x = x.map(sg.fn.convert(self.pick(*NUMBERS)))
        return x

    def other(self, name: str, x: Stream) -> Stream:
        """A second operand; x itself now and then, and where nothing else has its shape."""
        if self.number(0, 2) == 0:
            return x
        try:
            return self.beside(name, self.joined(tile_of(x)), x)
        except sg.StepError:
            return x

    def step_floats(self, x: Stream, name: str) -> Stream:
        """Functions of floats alone, such as those by table, one after the other."""
        if tile_of(x).element not in FLOATS:
            x = x.map(sg.fn.convert(self.pick(*FLOATS)))
        kinds = [kind for kind in element_wise() if kind.elements == FLOATS]
        for n in self.rng.permutation(len(kinds))[: self.number(1, 4)]:
            fn = self.function(kinds[n])
            others = [self.beside(f"{name}_{n}", tile_of(x), x) for _ in range(1, fn.arity)]
            x = x.map(fn, *others)
        return x

    def step_requantize_by(self, x: Stream, name: str) -> Stream:
        """Numbers scaled by multipliers and shifts: per column, row or element, or one of each."""
        if tile_of(x).element is not sg.int32:
            x = x.map(sg.fn.convert(sg.int32))
        scales = []
        for what, element, count in (("by", sg.int32, 1 << 15), ("shift", sg.int8, 1 << 5)):
            rows, cols = (self.pick(dim, 1) for dim in tile_of(x).dims)
            self.ranges[f"{name}_{what}"] = range(count)
            scales.append(self.beside(f"{name}_{what}", sg.Tile(rows, cols, element), x))
        return x.map(sg.fn.requantize_by(to=self.pick(*SCALED)), *scales)

    def step_places(self, x: Stream, name: str) -> Stream:
        """A linear in integers that count powers of two, between floats."""
        return products.in_places(self, x, name)

    def step_spread(self, x: Stream, name: str) -> Stream:
        """A row or a column broadcast against tiles that are made of it."""
        tile, fn = tile_of(x), sg.fn.maximum()
        if tile.rows == 1 and self.number(0, 1):
            some = sg.Tile(self.hollow(), tile.cols, tile.element)
            wide = self.beside(name, some, x)
        elif tile.rows == 1 and (tile.cols != 1 or self.number(0, 1)):
            wide = x.promote(0).expand(count=self.number(2, 3)).accum(sg.fn.retile_row(), rank=1)
        elif tile.cols == 1:
            wide = x.map(sg.fn.row_broadcast(self.columns()))
        else:
            raise sg.StepError("only rows and columns are broadcast")
        return wide.map(fn, x) if self.number(0, 1) else x.map(fn, wide)

    def step_zipped(self, x: Stream, name: str) -> Stream:
        """Pairs that move as one, and become the operands of a function."""
        pairs = x.zip(self.beside(name, x.dtype, x))

        def routed() -> Stream:
            sel = self.beside(f"{name}_sel", sg.Selector(2), x)
            return sg.reassemble(sg.partition(pairs, sel, rank=0), sel, rank=0, order="index")

        def forked() -> Stream:
            one, other = pairs.fork(2)
            self.graph.output(one.map(sg.fn.minimum()), f"{name}_least")
            return other

        def merged() -> Stream:
            parts, _, rank = self.routed(pairs, name)
            data, names = sg.eager_merge(parts, rank=rank)
            self.graph.output(names, f"{name}_names")
            return data

        moved: Stream = self.pick(
            lambda: pairs.promote(0).expand(count=self.number(1, 3)),
            lambda: pairs.promote(0).expand(pairs.promote(0), rank=1),
            lambda: pairs.promote(0).flatten(0, 1),
            lambda: pairs.promote(0).reshape(dim=1, chunk=1),
            forked,
            routed,
            merged,
        )()
        if self.number(0, 2) == 0:
            self.graph.output(moved, f"{name}_pairs")
        if self.number(0, 1):
            one, other = moved.unzip()
            return one.map(sg.fn.maximum(), other)
        return moved.map(sg.fn.maximum())

    def step_flagged(self, x: Stream, name: str) -> Stream:
        """Rows, of which flags that nothing has padded drop any."""
        flags = self.beside(name, sg.Tile(1, 1, sg.bool_), x, tile_of(x).rows)
        return x.flat_map(sg.fn.retile_streamify("row"), rank=self.number(0, 1), padding=flags)

    def hollow(self) -> Dim:
        """A dynamic dim, empty half of the time."""
        dim = sg.dynamic(f"D{len(self.extents)}", bound=self.bound)
        self.extents[str(dim)] = self.pick(0, self.number(1, self.bound))
        return dim

    def step_tiles_without_rows(self, x: Stream, name: str) -> Stream:
        """Sums or copies of tiles, some of which have no rows, beside the program."""
        hollow, size = sg.Tile(self.hollow(), self.columns(), sg.int32), self.number(1, 3)
        done = self.pick(
            lambda: self.input(name, hollow, (size, 2)).accum(self.folding(), rank=1),
            lambda: self.input(name, hollow, (20,)).promote(0).expand(count=2),
        )()
        self.graph.output(done, f"{name}_done")
        return x

    def groups(self, name: str, *dims: Dim | int) -> Stream:
        """Rows in groups of which some are empty, outer ones too."""
        outer = [self.dim(ragged=n > 0) for n in range(2)]
        shape = (*outer, *dims, self.dim(ragged=True))
        return self.input(name, sg.Tile(1, self.columns(), sg.int8), shape)

    def step_empty_sums(self, x: Stream, name: str) -> Stream:
        """Sums of groups, some of them empty, beside the program."""
        self.graph.output(self.groups(name).accum(self.folding(), rank=1), f"{name}_done")
        return x

    def step_empty_flatten(self, x: Stream, name: str) -> Stream:
        """Groups of which some are empty, made one, beside the program."""
        self.graph.output(self.groups(name).flatten(0, 1), f"{name}_done")
        return x

    def step_empty_chunks(self, x: Stream, name: str) -> Stream:
        """Chunks of groups, some of them empty, beside the program."""
        size = self.number(1, 3)
        chunks = self.groups(name, size).reshape(dim=1, chunk=self.pick(1, size))
        self.graph.output(chunks, f"{name}_done")
        return x

    def step_float_sums(self, x: Stream, name: str) -> Stream:
        """Sums of float products, of groups or tiles without any among them, beside the program."""
        if self.lanes > 4:
            raise sg.StepError("many lanes of floats take long to simulate")
        rows, n = self.pick((self.number(1, 3), self.hollow()), (self.hollow(), 2))
        outer, depth = self.number(1, 3), self.lanes * self.number(1, 2)
        dims = self.pick((n,), (n,), (self.number(1, 2), n), (n, self.number(1, 2)))
        left = self.input(f"{name}_left", sg.Tile(rows, depth, sg.bf16), (outer, *dims))
        matmul, right = self.weights(left, f"{name}_right", sg.bf16)
        fold = self.pick(left.accum, left.scan)
        sums = fold(matmul, right, rank=len(dims), init=self.pick(None, -1.5))
        self.graph.output(sums, f"{name}_sums")
        return x

    def joined(self, tile: sg.Tile) -> sg.Tile:
        """A tile that broadcasts with another: of its extents, of 1, or more where it has 1."""
        rows, cols = tile.dims
        rows = self.pick(rows, rows, 1 if rows != 1 else self.pick(1, 2, 3))
        cols = self.pick(cols, cols, 1 if cols != 1 else self.columns())
        return sg.Tile(rows, cols, tile.element)

    def function(self, kind: type[Function]) -> Function:
        """A function with drawn parameters."""
        try:
            hints = get_type_hints(kind)
        except NameError:  # of a file that is not a module any more
            hints = {}
        parameters = inspect.signature(maker(kind)).parameters
        return maker(kind)(**{name: self.parameter(hints.get(name)) for name in parameters})

    def parameter(self, hint: Any) -> Any:
        """A parameter of a type."""
        kinds = (hint, *get_args(hint))
        if hint == Sequence[float]:
            return [float(self.number(-100, 100)) for _ in range(LOOKUP_ROWS)]
        choices = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
        if choices:
            return self.pick(*choices)
        if ElementType in kinds:
            return self.pick(*NUMBERS)
        return bool(self.number(0, 1)) if hint is bool else self.number(0, 6)

    def step_own(self, x: Stream, _: str) -> Stream:
        """An operator of a user's own that has a circuit, of one stream and drawn numbers."""
        faces = [face for face in own_operators().values() if isinstance(face, Circuit)]
        if not faces:
            raise sg.StepError("there is no operator of a user's own with a circuit")
        use = self.pick(*faces)
        others = list(inspect.signature(use).parameters.values())[1:]
        needed = [p.name for p in others if p.default is p.empty and p.kind is p.KEYWORD_ONLY]
        made: Stream = use(x, **{key: self.number(0, 3) for key in needed})
        return made


STEPS = steps_of(Drawn)
