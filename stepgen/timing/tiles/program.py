"""Layout of a program on a machine: its operators as actors, its streams as FIFOs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stepgen.ir import registry
from stepgen.ir.affine import affine, reading
from stepgen.ir.cycles import on_cycles
from stepgen.ir.dims import product_bound
from stepgen.ir.dtypes import FLAG, Selector, Tile, address
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.operator import own_operators
from stepgen.ir.stream import Node, Stream
from stepgen.ir.tensor import Tensor
from stepgen.ir.wire import VALUE, Beats
from stepgen.timing import kernel as k
from stepgen.timing.layout import FAR, Layout, structure
from stepgen.timing.tiles import costs, known, referring
from stepgen.timing.tiles.accesses import Order
from stepgen.timing.tiles.actor import (
    COLS_AT,
    MAX_EXTENT,
    MAX_PAD_COLS,
    MAX_PAD_ROWS,
    SPAN_LENGTH_BITS,
    SPAN_START_BITS,
    TILED,
)
from stepgen.timing.tiles.depths import FIRST_SIZE, UNBOUNDED, Depth
from stepgen.timing.tiles.machines import Machine
from stepgen.timing.tiles.streams import element_bytes, holds_tiles, is_written, rests

OPERATORS = "stepgen.timing.tiles.ops"
"""A file for each operator, of the same name, with its actors."""
LATENCY = 1
PAGE = 4096
"""Alignment of tensors in off-chip memory, in bytes."""
REACH = 1 << 63
"""Bytes of off-chip memory that a word of the kernel can address."""
FLAGS_DEPTH = 1 << 14
"""Depth of a FIFO of padding flags, if their number has no bound."""


class TileProgram(Layout):
    """The state array under construction; operators add their actors.

    Parameters
    ----------
    graph : Graph
        The program.
    given : mapping of str to Beats
        Input streams, one beat per token: bits of selectors, numbers of address tiles, rows and
        columns of other tiles.
    machine : Machine
        The machine.
    depths : mapping of str to int or "unbounded"
        FIFO depths of streams by name, instead of the program's and the machine's.
    sizes : mapping of str to int, optional
        Elements that unbounded FIFOs are laid out for, by name; `FIRST_SIZE` for others.
    record : int
        Elements of each stream to keep, at least.
    tensors : mapping of str to array, optional
        Contents of tensors of addresses, by name.
    contents : mapping of str to Beats, optional
        Contents of streams that depend on data, by name, in the form of `given`.
    shares : mapping of str to int, optional
        FLOPs per cycle of single operators, by name, instead of the machine's.
    """

    def __init__(
        self,
        graph: Graph,
        given: Mapping[str, Beats],
        machine: Machine,
        depths: Mapping[str, Depth],
        record: int = 1,
        tensors: Mapping[str, npt.ArrayLike] | None = None,
        contents: Mapping[str, Beats] | None = None,
        sizes: Mapping[str, int] | None = None,
        shares: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(f"program {graph.name} on {machine.name}")
        self.graph, self.machine = graph, machine
        self.horizon = FAR
        self.notes: list[tuple[str, int]] = []
        self.addresses: dict[str, list[int]] = {}
        self.checks: list[tuple[int, int, int, Callable[[int], StepError]]] = []
        self.faults: dict[int, StepError] = {}
        self.fifos: dict[str, Depth] = {}
        self.on_cycles = on_cycles(graph)
        self.order = Order(graph)
        self._given, self._record, self._tensors = given, record, tensors or {}
        self._contents_of = contents or {}
        self._depths, self._sizes = depths, sizes or {}
        self._shares = shares or {}
        self.unbounded: dict[str, int] = {}
        self._memory = machine.memory.lay_out(self)
        self._base = 0
        self._bases: dict[str, int] = {}
        self._sources: dict[tuple[str, int], int] = {}
        self._uses: dict[tuple[str, int], int] = {}
        self._readers: dict[Stream, list[tuple[Node, int]]] = {}
        known.check(graph, self._contents_of)
        self._channels()
        actors: dict[str, Any] = {**registry.modules(OPERATORS), **own_operators()}
        for node in graph.nodes:
            actors[node.op].build(node, self)

    def _channels(self) -> None:
        readers = self._readers
        for node in self.graph.nodes:
            for index, stream in enumerate(node.inputs):
                readers.setdefault(stream.resolved(), []).append((node, index))
        for node in self.graph.nodes:
            for stream in node.outputs:
                self._connect(stream, readers.get(stream, []))

    def refers(self, stream: Stream) -> bool:
        """Whether a buffer is kept for the references on a stream; see `referring`."""
        return referring.refers(stream.resolved(), self._readers)

    def _copied(self, stream: Stream, uses: list[tuple[Node, int]]) -> list[bool]:
        """Of the copies of a stream, for which a buffer is kept."""
        return [referring.refers(stream, {**self._readers, stream: [use]}) for use in uses]

    def _connect(self, stream: Stream, uses: list[tuple[Node, int]]) -> None:
        """One FIFO for one consumer; a fork for several; a discarding actor for none."""
        forks = registry.modules(OPERATORS)
        key = (stream.node.name, stream.port)
        contents = self._decided(stream)
        if len(uses) == 1:
            node, index = uses[0]
            depth = node.inputs[index].resolved().depth
            self._sources[key] = self._uses[node.name, index] = self._fifo(
                stream.name, stream, depth, contents
            )
            return
        self._sources[key] = source = self._fifo(stream.name, stream, None, contents)
        if not uses:
            drain = forks["output"]
            own = drain.own(source, refers=self.refers(stream))
            self.actor(
                *(stream.node.name, "discard", drain.drain, own),
                reads=[source],
                writes=[],
                finishes=True,
            )
            return
        outs = []
        for node, index in uses:
            name = f"{stream.name} to {node.name}"
            outs.append(self._fifo(name, stream, node.inputs[index].resolved().depth))
            self._uses[node.name, index] = outs[-1]
        fork = forks["fork"]
        own = fork.own(source, outs, self._copied(stream, uses))
        self.actor(stream.name, "fork", fork.copy, own, reads=[source], writes=outs)

    def _decided(self, stream: Stream) -> int:
        """Address of a stream's contents if these depend on data; 0 for other streams."""
        beats = self._contents_of.get(stream.name)
        if beats is None:
            return 0
        words = self._contents(stream, beats)[beats.kind == VALUE]
        return self.reserve(words) if len(words) else 0

    def _fifo(self, name: str, stream: Stream, asked: int | None, contents: int = 0) -> int:
        depth = self.fifos[name] = self._depth(name, stream, asked)
        size = self.element_bytes(stream) if holds_tiles(stream) else 0
        if size:
            self.static_tile(stream)
        rate = self.machine.stream_elements
        more = k.packed(TILED, element_bytes=size, rate=rate, contents=contents)
        slots = self._sizes.get(name, FIRST_SIZE) if depth == UNBOUNDED else depth
        channel = self.new_channel(name, slots, LATENCY, -1, capacity=self._record, more=more)
        if depth == UNBOUNDED:
            self.unbounded[name] = channel
        return channel

    def _depth(self, name: str, stream: Stream, asked: int | None) -> Depth:
        """Elements that the FIFO of a stream holds."""
        if name in self._depths:
            return self._depths[name]
        depth = self.machine.fifo_depth
        if depth == UNBOUNDED:
            return UNBOUNDED
        if asked is None and stream.dtype == FLAG:
            # Flags of padding, and their done beat, wait for the tiles that they belong to.
            return max(depth, 1 + (product_bound(stream.shape) or FLAGS_DEPTH))
        return asked or depth

    def input(self, node: Node, index: int) -> int:
        """Address of the FIFO in front of an input."""
        return self._uses[node.name, index]

    def inputs(self, node: Node) -> list[int]:
        """Addresses of the FIFOs in front of all inputs."""
        return [self.input(node, index) for index in range(len(node.inputs))]

    def output(self, node: Node) -> int:
        """Address of the FIFO behind the only output."""
        return self._sources[node.name, 0]

    def outputs(self, node: Node) -> list[int]:
        """Addresses of the FIFOs behind all outputs."""
        return [self._sources[node.name, port] for port in range(len(node.outputs))]

    def internal(self, name: str, depth: int) -> int:
        """A FIFO inside an operator."""
        return self.new_channel(name, depth, LATENCY, -1, more=[0] * len(TILED))

    def add(
        self,
        node: Node,
        step: k.Step,
        own: Sequence[int],
        *,
        reads: Sequence[int] = (),
        writes: Sequence[int] = (),
        finishes: bool = False,
        name: str = "main",
    ) -> int:
        """Add an actor of an operator; `own` are its fields, of `actor.fresh`."""
        address = self.actor(
            node.name, name, step, own, reads=reads, writes=writes, finishes=finishes
        )
        self.addresses.setdefault(node.name, []).append(address)
        return address

    def note(self, node: str, index: int) -> int:
        """An id under which a merge logs that it took input `index`."""
        self.notes.append((node, index))
        return len(self.notes) - 1

    def check_head(
        self, actor: int, channel: int, limit: int, error: Callable[[int], StepError]
    ) -> None:
        """Register the error for an actor that stops at a value below 0, or of `limit` or more."""
        self.checks.append((actor, channel, limit, error))

    def explain_growth(self, node: Node, actor: int) -> None:
        """Register the error for an actor that stops because a tile grows too large."""
        self.faults[actor] = StepError(
            f"{node.name} ({node.where}) makes a tile of more than {MAX_EXTENT} rows or columns, "
            f"or with more than {MAX_PAD_ROWS} rows or {MAX_PAD_COLS} columns of padding, which "
            "the timing on tiles does not take"
        )

    def port(self, *, write: bool = False) -> int:
        """A new port to off-chip memory."""
        return self.machine.memory.port(self, self._memory, write=write)

    def base(self, tensor: Tensor) -> int:
        """Byte address of a tensor.

        Raises
        ------
        StepError
            If it ends beyond the addresses of the engine.
        """
        if tensor.name not in self._bases:
            if self._base + tensor.bytes > REACH:
                raise StepError(
                    f"tensor {tensor.name} of {tensor.bytes} bytes lies behind {self._base} bytes "
                    f"of others, but the timing on tiles takes {REACH} bytes of tensors in all"
                )
            self._bases[tensor.name] = self._base
            self._base += -(-tensor.bytes // PAGE) * PAGE
        return self._bases[tensor.name]

    def addresses_in(self, tensor: Tensor, size: int) -> int:
        """Address of the words of a tensor's tiles of `size` addresses; 0 for other tensors.

        Raises
        ------
        StepError
            If the contents of the tensor, on which the run depends, are not given.
        """
        if tensor.element != address:
            return 0
        if tensor.name not in self._tensors:
            raise StepError(f"the tensor {tensor.name} of addresses was not given")
        tiles = np.asarray(self._tensors[tensor.name]).astype(np.int64).reshape(-1, size)
        return self.reserve(_address_words(tiles))

    def tile(self, rows: int, cols: int) -> int:
        """The word of a tile without padding.

        Raises
        ------
        StepError
            If it is larger than a word can encode.
        """
        if max(rows, cols) > MAX_EXTENT:
            raise StepError(
                f"the timing on tiles takes tiles of at most {MAX_EXTENT} rows and columns, not "
                f"{rows}x{cols}"
            )
        return rows | cols << COLS_AT

    def static_tile(self, stream: Stream) -> int:
        """The word of a tile with the static extents of its type, 0 for others."""
        tile = self.tile_type(stream)
        return self.tile(tile.rows.static or 0, tile.cols.static or 0)

    def extent(self, stream: Stream) -> int:
        """Elements of a tile with static extents, else 0."""
        tile = self.tile_type(stream)
        return (tile.rows.static or 0) * (tile.cols.static or 0)

    def tile_type(self, stream: Stream) -> Tile:
        """The tile type of a stream."""
        assert isinstance(stream.dtype, Tile)
        return stream.dtype

    def element_bytes(self, stream: Stream) -> int:
        """Bytes of a tile element of a stream on chip."""
        return element_bytes(stream, self.machine.policy)

    def stored(self, node: Node) -> int:
        """Elements that an Accum is charged for storing; -1 for those of its result."""
        if not self.machine.first_accumulator_is_stored:
            return -1
        return 0 if node.attrs["fn"].grows else self.extent(node.outputs[0])

    def flops(self, node: Node) -> int:
        """FLOPs per cycle of an operator that applies a function."""
        return self._shares.get(node.name) or self.machine.compute.of(node.attrs["fn"].name)

    def cost(self, node: Node, stored: int) -> int:
        """The cost record of a node's function."""
        function, compute = node.attrs["fn"], self.machine.compute
        read = [
            self.element_bytes(s) if holds_tiles(s) and rests(s.resolved()) else 0
            for s in node.inputs
        ]
        out = node.outputs[0]
        return self.reserve(
            costs.record(
                function,
                flops=self.flops(node),
                fixed=compute.fixed.get(function.name, 0),
                bandwidth=self.machine.onchip_bandwidth,
                add_up=self.machine.loads_add_up,
                read=read,
                written=self.element_bytes(out) if is_written(out) else 0,
                stored=stored,
            )
        )

    def walk(self, node: Node) -> list[int]:
        """Number of tiles of an affine reading, then number and stop of each; empty if linear."""
        if node.attrs["shape"] is None:
            return []
        words = [word for tile in affine(*reading(node.attrs)) for word in tile]
        return [len(words) // 2, *words]

    def given(self, node: Node) -> npt.NDArray[np.int64]:
        """The words of a source's input."""
        if node.name not in self._given:
            raise StepError(f"the input {node.name} of the program {self.graph.name} was not given")
        beats = self._given[node.name]
        aux = np.where(beats.kind == VALUE, self._contents(node.outputs[0], beats), 0)
        return structure(beats) | aux << k.AUX_SHIFT

    def _contents(self, stream: Stream, beats: Beats) -> npt.NDArray[np.int64]:
        """The aux fields of beats, a word each."""
        data = beats.data.astype(np.int64)
        dtype = stream.dtype
        if isinstance(dtype, Selector):
            if dtype.n == 1:
                return data[:, 0]
            return self.reserve(data.reshape(-1)) + dtype.n * np.arange(len(beats))
        if isinstance(dtype, Tile) and dtype.element == address:
            return _address_words(data)
        if not holds_tiles(stream):
            return data[:, 0]
        if len(data) and data.max() > MAX_EXTENT:
            self.tile(int(data.max()), 1)
        words: npt.NDArray[np.int64] = data[:, 0] | data[:, 1] << COLS_AT
        return words


def _address_words(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Rows of addresses as words: ranges in whole, of others the first, which alone is used."""
    return _range_words(rows) if rows.shape[1] == 2 else rows[:, 0]


def _range_words(ranges: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Ranges ``[n, 2]`` of start and length as words.

    Raises
    ------
    StepError
        If one is larger than a word can encode.
    """
    most = 1 << SPAN_START_BITS, 1 << SPAN_LENGTH_BITS
    outside = ranges[((ranges < 0) | (ranges >= most)).any(axis=1)]
    if len(outside):
        start, length = outside[0]
        raise StepError(
            f"the timing on tiles takes ranges that start below {most[0]} and are shorter than "
            f"{most[1]}, not {length} addresses from {start} on"
        )
    return ranges[:, 0] << SPAN_LENGTH_BITS | ranges[:, 1]
