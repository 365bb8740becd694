"""Lowering: from a graph to a design table."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from stepgen.compile.allocation import allocated
from stepgen.compile.budget import Budget
from stepgen.compile.circuit import circuit_of
from stepgen.compile.fusion import fuse as fuse_units
from stepgen.compile.joining import Consumer, join
from stepgen.compile.loaders import share
from stepgen.compile.memories import SizeChoice, Stored
from stepgen.compile.memory_map import number_bits_of, place_tensors, widened
from stepgen.compile.one_by_one import Output, at_a_time
from stepgen.compile.rereading import reread
from stepgen.compile.unzip import unzipped
from stepgen.compile.whole import gathered, written
from stepgen.hw.design.pace import Extent, Extents, span
from stepgen.hw.design.params import UnitParams, unfinished
from stepgen.hw.design.sharing import SHARED, USUAL, sharing
from stepgen.hw.design.table import Bus, Channel, Design, Region, Unit
from stepgen.hw.units.store_forward.params import StoreForward
from stepgen.ir.arguments import checked, shown, take
from stepgen.ir.cycles import on_cycles
from stepgen.ir.dims import Dim, buffer_bound, static
from stepgen.ir.dtypes import FLAG, Buffer, DataType, Selector, Tile, address, bool_
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.hazards import hazards
from stepgen.ir.lanes import Lanes, lanes_by_node, usual_lanes
from stepgen.ir.stream import Node, Stream
from stepgen.ir.wire import LANES, TILE_LEVELS, row_lanes, wire_levels

if TYPE_CHECKING:
    from stepgen.compile.connected import Connected

P = TypeVar("P", bound=UnitParams)


@dataclass
class Lowering:
    """The design table under construction; the operators' circuits add their rows to it.

    Parameters
    ----------
    graph : Graph
        A checked graph.
    usual_lanes : int
        Lanes of a beat of tiles, of operators that have none of their own.
    bus : Bus
        The off-chip port, wide enough for `regions`.
    regions : dict of str to Region
        Address range of each tensor.
    stands_for : dict of str to str
        Node of the program that one of another name stands for.
    stored : Stored
        What is known of memories for references.
    own_lanes : mapping of str to int
        Lanes of a beat by node of the program.
    loaders : str
        One of `stepgen.hw.design.sharing.LOADERS`.
    at_a_time : mapping of (str, int) to Stream
        By node and output, a stream with the dims that FIFOs are made for, where it has others.

    Attributes
    ----------
    on_cycles : set of str
        Names of the nodes on a cycle.
    number_bits : int
        Bits of an address on a wire.
    whole : set of str
        Names of the nodes whose tiles are collected before they are sent on.
    written : set of str
        The tensors that the program writes.
    current : str
        Name of the node that is being lowered.
    loads, stores, within : list
        What was added so far, for `memory.join`.
    """

    graph: Graph
    usual_lanes: int
    bus: Bus
    regions: dict[str, Region]
    stands_for: dict[str, str] = field(default_factory=dict)
    stored: Stored = field(default_factory=Stored)
    own_lanes: Mapping[str, int] = field(default_factory=dict)
    loaders: str = USUAL
    at_a_time: Mapping[Output, Stream] = field(default_factory=dict)
    units: list[Unit] = field(default_factory=list)
    channels: dict[str, Channel] = field(default_factory=dict)
    on_cycles: set[str] = field(init=False)
    number_bits: int = field(init=False)
    whole: set[str] = field(init=False)
    written: set[str] = field(init=False)
    loads: list[tuple[str, str]] = field(default_factory=list)
    stores: list[tuple[str, str, str]] = field(default_factory=list)
    within: list[int] = field(default_factory=list)
    _carried: dict[str, Stream] = field(default_factory=dict)
    _extents: dict[str, Extents] = field(default_factory=dict)
    _lanes_at: dict[str, int] = field(default_factory=dict)
    _uses: dict[Stream, list[Consumer]] = field(default_factory=dict)
    _outputs: dict[Stream, str] = field(default_factory=dict)
    current: str = ""

    def __post_init__(self) -> None:
        self.on_cycles = on_cycles(self.graph)
        self.whole, self.written = gathered(self.graph), written(self.graph)
        self.number_bits = number_bits_of(self.graph)
        self._nodes = {node.name: node for node in self.graph.nodes}

    @property
    def lanes(self) -> int:
        """Lanes of a beat of tiles of the current operator."""
        return self.lanes_by(self.current)

    def lanes_by(self, node: str) -> int:
        """The same of any operator."""
        return self.own_lanes.get(self.stands_for.get(node, node), self.usual_lanes)

    def lower(self, node: Node) -> None:
        """Add the rows of one operator."""
        self.current = node.name
        circuit = circuit_of(node)
        if circuit is None:
            raise self.fail(node, "this operator has no circuit yet")
        circuit.lower(node, self)
        for stream in node.outputs:
            if stream not in self._outputs:
                raise self.fail(node, f"its circuit has no unit that gives {stream.name}")

    def fail(self, node: Node, message: str) -> StepError:
        """The error for an operator that has no circuit as it is used."""
        return node.failure(message)

    def columns(self, node: Node, dtype: DataType) -> int:
        """Columns of a tile that travels in beats."""
        assert isinstance(dtype, Tile)
        if not dtype.cols.static:
            self.some_columns(node, dtype)
            raise self.fail(
                node, f"its circuit needs tiles of a static number of columns, not of {dtype}"
            )
        return dtype.cols.static

    def some_columns(self, node: Node, tile: Tile) -> None:
        """Refuse tiles that may have no columns."""
        if tile.cols.may_be_empty:
            dim = tile.cols
            hint = "" if dim.static == 0 else f": say positive=True where the dim {dim} is made"
            raise self.fail(node, f"tiles of {tile} may have no columns, so no beats{hint}")

    def lanes_of(self, node: Node, tile: Tile) -> int:
        """Lanes of a beat; addresses travel in whole rows."""
        return self.columns(node, tile) if tile.element == address else self.lanes

    def slices(self, node: Node, dtype: DataType) -> int:
        """Beats of one row of a tile; the last one may be padded."""
        return -(-self.columns(node, dtype) // self.lanes)

    def format(self, node: Node, stream: Stream, *, tiled: bool = False) -> Channel:
        """A channel for a stream, still without a name; `tiled` if flags are tiles there."""
        dtype = stream.dtype
        rank = stream.rank + wire_levels(dtype)
        if isinstance(dtype, Selector):
            return Channel("", dtype.n, 1, rank, element=bool_.name)
        if dtype == FLAG and not tiled:
            return Channel("", 1, 1, rank, element=bool_.name)
        if isinstance(dtype, Buffer):
            return Channel("", 1, self.stored.bits_of(node), rank)
        if isinstance(dtype, Tile) and dtype.element == address:
            if dtype.rows.static != 1:
                raise self.fail(node, f"addresses travel in one row, not in tiles of {dtype}")
            lanes = self.lanes_of(node, dtype)
            return Channel("", lanes, self.number_bits, rank, element=address.name)
        if isinstance(dtype, Tile):
            self.some_columns(node, dtype)
            element, lanes = dtype.element, row_lanes(dtype, self.lanes)
            form, columns = Channel("", lanes, element.bits, rank), dtype.cols.static or 0
            short = 0 < columns < lanes
            return replace(form, element=element.name, tail=columns % lanes, short=short)
        raise self.fail(node, f"{stream} has no hardware format, only tiles of numbers have")

    def bound(self, node: Node, what: str, dims: Sequence[Dim], *, instead: str = "") -> int:
        """Upper bound of a product of dims, for a buffer's size; `instead` is another way out."""
        try:
            return buffer_bound(what, dims)
        except StepError as error:
            raise self.fail(node, f"{error}{instead and f'; or {instead}'}") from None

    def _free(self, name: str, taken: Container[str], node: str = "") -> str:
        """A unique name for a new row of a node beside those that are `taken`, if possible `name`.

        An operator may have any name, also one that is generated here for another.
        """
        own = node or self.current
        while name in taken or (name in self._nodes and name != own):
            name += "_"
        return name

    def input(self, node: Node, index: int, *, structure_only: bool = False, depth: int = 2) -> str:
        """Channel from which `node` reads its input `index`, with at least `depth` beats."""
        stream = node.inputs[index]
        placeholder = f"<{node.name}.{index}>"
        self._uses.setdefault(stream, []).append(
            Consumer(placeholder, node, structure_only, max(depth, stream.depth or 2))
        )
        return placeholder

    def output(self, node: Node, port: int = 0, *, delay: int = 0) -> str:
        """Channel into which `node` writes its output `port`."""
        stream = node.outputs[port]
        name = node.name if len(node.outputs) == 1 else f"{node.name}_{port}"
        form, extents = replace(self.format(node, stream), name=name), self.extents(node, stream)
        if node.name not in self.whole:
            self._outputs[stream] = self.add(replace(form, delay=delay), stream, extents)
            return self._outputs[stream]
        parts = self.link(node, "parts", stream, extents, delay=delay)
        self._outputs[stream] = self.add(form, stream, extents)
        what = f"the number of rows of {stream.name}, which leave together as an access follows,"
        self.bound(node, what, stream.dtype.dims)
        largest = math.prod(max(1, int(e.bound)) for e in extents[:TILE_LEVELS])
        gather = StoreForward(level=TILE_LEVELS, largest=largest)
        self.unit(f"{node.name}_gather", gather, x=parts, y=self._outputs[stream])
        return parts

    def made(self, stream: Stream) -> str:
        """Channel into which a stream is written; empty as long as no unit does."""
        return self._outputs.get(stream, "")

    def extents(self, node: Node, stream: Stream) -> Extents:
        """The dims of a stream on the wire, innermost first."""
        stream = self.at_a_time.get((stream.node.name, stream.port), stream)
        dims = [Extent.of(dim) for dim in reversed(stream.shape)]
        if not wire_levels(stream.dtype):
            return dims
        assert isinstance(stream.dtype, Tile)
        cols = stream.dtype.cols
        beats = cols if cols.static is None else static(self.slices(node, stream.dtype))
        return [Extent.of(beats), Extent.of(stream.dtype.rows), *dims]

    def link(
        self,
        node: Node,
        label: str,
        stream: Stream,
        extents: Extents,
        *,
        delay: int = 0,
        tiled: bool = False,
        lanes: int | None = None,
    ) -> str:
        """A channel between two units of one operator: as for `stream`, with other dims.

        With `lanes` it has so many, and all of a row's last beat are filled.
        """
        name, rank = f"{node.name}_{label}", len(extents) - 1
        form = self.format(node, stream, tiled=tiled)
        if lanes is not None:
            form = replace(form, lanes=lanes, tail=0, short=False)
        channel = replace(form, name=name, rank=rank, delay=delay)
        return self.add(channel, stream, extents)

    def add(
        self, channel: Channel, stream: Stream | None = None, extents: Extents | None = None
    ) -> str:
        """Add a channel to the table; behind a pipeline deep enough for one beat per cycle.

        For a channel that is not raw, `stream` is the stream that it carries, and `extents` its
        dims on the wire. Returns the channel's name in the table.
        """
        node = stream.node.name if stream is not None else ""
        channel = replace(channel, name=self._free(channel.name, self.channels, node))
        if stream is not None and extents is not None:
            self._carried[channel.name], self._extents[channel.name] = stream, extents
        self.channels[channel.name] = channel.pipelined(channel.delay)
        return channel.name

    def sized(self, params: P, lean: P, stream: Stream | None = None) -> P:
        """One of both parameters of a unit of the current node, by how much memory it may take.

        Parameters
        ----------
        params, lean : UnitParams
            With the memory for full rate, and with the least with which all runs end.
        stream : Stream, optional
            What is stored; by default the node's first input.
        """
        if params == lean:
            return params
        node = self._nodes[self.current]
        stored = node.inputs[0] if stream is None else stream
        extents = self.extents(node, stored)
        origin = self.stands_for.get(node.name, node.name)
        choice = SizeChoice(params, lean, span(extents, 0, len(extents)), origin)
        chosen: P = self.stored.chosen(node, choice)
        return chosen

    def unit(self, name: str, params: UnitParams, **channels: str) -> None:
        """Add a unit to the table, with the channel of every port.

        Raises
        ------
        StepError
            If the parameters, which may be a user's, are not a finished kind or have other ports.
        """
        said = unfinished(params)
        ports = [] if said else [*params.inputs, *params.outputs]
        if not said and sorted(ports) != sorted(channels):
            said = f"has the ports {', '.join(ports)}, but {', '.join(channels)} are connected"
        if said:
            kind = params if isinstance(params, type) else type(params)
            raise StepError(f"{name}: the unit {kind.__qualname__} of {kind.__module__} {said}")
        if self.current and (lean := params.lean()) != params:
            kept = params.inputs.index(params.weights) if params.weights else 0
            params = self.sized(params, lean, self._nodes[self.current].inputs[kept])
        for port, channel in channels.items():
            if channel not in self.channels and not str(channel).startswith("<"):
                raise StepError(
                    f"{name}: {port} must be a channel, as input, output, link and add return it, "
                    f"not {shown(channel)}"
                )
        name = self._free(take(name, str, "unit", "its name"), self._lanes_at)
        self._lanes_at[name] = self.lanes
        outputs = {port: channels.pop(port) for port in params.outputs}
        origin = self.stands_for.get(self.current, self.current)
        self.units.append(Unit(name, params, channels, outputs, origin))

    def connected(self, depths: Collection[str] = (), *, fuse: bool = True) -> Connected:
        """The rows, connected; FIFOs of a depth that is asked for stay when units are fused."""
        from stepgen.compile.connected import Connected  # with networkx, which takes long to import

        names = join(self, self._outputs, self._uses)
        place = {node: n for n, node in enumerate(self.graph.nodes)}
        fed_back = {
            names[use.placeholder]
            for stream, uses in self._uses.items()
            for use in uses
            if place[use.node] <= place[stream.node]
        }
        units = [
            replace(u, inputs={port: names.get(c, c) for port, c in u.inputs.items()})
            for u in self.units
        ]
        channels, fused = self.channels, dict[str, str]()
        if fuse:
            asked = {names[u.placeholder] for us in self._uses.values() for u in us if u.depth > 2}
            kept = {*depths, *asked, *fed_back}
            units, channels, fused = fuse_units(
                units, channels, kept, self._extents, self._lanes_at
            )
        channels = _narrowed(units, channels)
        loads = self.loads
        if self.loaders == SHARED:
            units, channels, fused, loads = share(
                units, channels, fused, loads, self.bus, {*depths}, self._nodes, self._lanes_at
            )
        return Connected(
            units,
            channels,
            fused,
            self._nodes,
            self._extents,
            self._carried,
            fed_back,
            loads,
            self.stores,
            self.within,
            self.stored.paced,
            self._lanes_at,
        )

    def design(self, depths: Mapping[str, int], *, fuse: bool = True) -> Design:
        """The finished table."""
        rows = self.connected(depths, fuse=fuse)
        return rows.design(self.graph.name, self.usual_lanes, self.bus, self.regions, depths)


def _narrowed(units: Sequence[Unit], channels: Mapping[str, Channel]) -> dict[str, Channel]:
    """The channels, with the bits that values need where a unit sends them as it makes them."""
    made = dict(channels)
    for unit in units:
        changed = {unit.epilogue.port} if unit.epilogue else set()
        for port, name in unit.outputs.items():
            bits = 0 if port in changed else unit.params.value_bits(port)
            if made[name].stop_bits < bits:
                made[name] = replace(made[name], value_bits=bits)
    return made


@checked
def lower(
    graph: Graph,
    *,
    lanes: Lanes = LANES,
    bus: Bus | None = None,
    depths: Mapping[str, int] | None = None,
    fuse: bool = True,
    onchip: float | Budget | None = None,
    loaders: str = USUAL,
) -> Design:
    """Lower a graph to a design table.

    Parameters
    ----------
    graph : Graph
        The program.
    lanes : int or mapping of str to int
        Lanes of a beat, of all operators or by name, see `stepgen.ir.lanes`: a matrix unit has
        ``lanes * lanes`` multipliers.
    bus : Bus, optional
        The off-chip port.
    depths : mapping of str to int, optional
        FIFO depths by channel, in beats, instead of the derived ones.
    fuse : bool
        Whether element-wise functions that follow each other become one unit, if nothing else
        uses the streams between them.
    onchip : float or Budget, optional
        KiB that all on-chip memories may take together, or the block RAM of a board. Those that
        need not hold as much as full rate takes get less where it is scarce.
    loaders : str
        ``"shared"`` if loads of weights of one shape share loaders, ``"own"`` if each is a unit of
        its own.

    Returns
    -------
    Design

    Raises
    ------
    StepError
        If the graph is incomplete, an operator has no circuit as it is used, or on-chip memory
        does not suffice.
    """
    rows = rows_of(graph, lanes=lanes, bus=bus, loaders=loaders)
    return allocated(rows, depths or {}, fuse=fuse, onchip=onchip)


def rows_of(
    graph: Graph, *, lanes: Lanes = LANES, bus: Bus | None = None, loaders: str = USUAL
) -> Callable[[Stored], Lowering]:
    """What makes the rows of a design from what is known of its memories, as for `lower`."""
    begin = begun(graph, lanes=lanes, bus=bus, loaders=loaders)

    def rows(stored: Stored) -> Lowering:
        lowering = begin(stored)
        for node in lowering.graph.nodes:
            lowering.lower(node)
        return lowering

    return rows


def begun(
    graph: Graph, *, lanes: Lanes = LANES, bus: Bus | None = None, loaders: str = USUAL
) -> Callable[[Stored], Lowering]:
    """The same before any operator was lowered."""
    graph.check()
    hazards(graph)
    usual, own = usual_lanes(lanes), lanes_by_node(graph, lanes)
    regions = place_tensors(graph)
    plain, names = unzipped(graph)
    plain, others = reread(plain)
    names |= others
    port = widened(bus or Bus(), regions)
    how, few = sharing(loaders), at_a_time(graph)
    return lambda stored: Lowering(plain, usual, port, regions, names, stored, own, how, few)
