"""Drawn designs of loads and stores on one bus, with the expected beats and memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from axi_memory import AxiMemory
from drawn import Draw, blank_lanes, same_levels, to_beats
from harness import compare, decided, row, simulate, sink, source

from stepgen.compile.memory_map import widened
from stepgen.emit.windows import Windows
from stepgen.hw.design.table import Bus, Channel, Design, Region, Unit
from stepgen.hw.units.load.params import Load
from stepgen.hw.units.memory.params import join
from stepgen.hw.units.random_store.params import RandomStore
from stepgen.hw.units.store.params import Store
from stepgen.ir.arguments import ADDRESS_BITS
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls
from stepgen.ir.wire import VALUE, narrowed, number_bits
from stepgen.timing.design_layout import Run
from stepgen.timing.model import Prediction, predict

PAGE = 4096
WINDOW_SIZE = 3 * PAGE


def leaves(nested, depth: int):
    """The items of a nested list, in order."""
    return [nested] if depth == 0 else [x for item in nested for x in leaves(item, depth - 1)]


def _row_data(row, channel: Channel, dtype) -> bytes:
    """A row as it lies in memory."""
    cells = np.asarray(row, dtype).reshape(-1)
    return cells[: len(cells) - (channel.lanes - channel.tail) % channel.lanes].tobytes()


class OffChip:
    """A design under construction, with the memory before and after a run.

    Tensors lie in two windows at drawn places of the address space.

    Parameters
    ----------
    draw : Draw
    bus : Bus
        Its addresses are made as wide as need be.
    lanes : int
        Of the units that compute.
    """

    def __init__(self, draw: Draw, bus: Bus, lanes: int = 4):
        self.draw = draw
        self.lanes = lanes
        origins = [self._origin()]
        while len(origins) < 2 or abs(origins[0] - origins[1]) < WINDOW_SIZE:
            origins[1:] = [self._origin()]
        self.windows = Windows((origin, WINDOW_SIZE) for origin in sorted(origins))
        self.regions = {
            f"window_{k}": Region(origin, size, 1, size, (1, size), "int8")
            for k, (origin, size) in enumerate(self.windows.windows)
        }
        self.bus = widened(bus, self.regions)
        self.before = bytearray(draw.rng.bytes(self.windows.size))
        self.after = bytearray(self.before)
        self.ends = [origin + draw.one((0, 96, PAGE - 160)) for origin in sorted(origins)]
        self.loads: list[tuple[str, str]] = []
        self.stores: list[tuple[str, str, str]] = []
        self.within: list[int] = []
        self.units: list[Unit] = []
        self.channels: list[Channel] = []
        self.inputs: dict = {}
        self.expected: dict = {}
        self.closes: dict[str, int] = {}  # of a prompt load, what its last beats close

    def _origin(self) -> int:
        """The first address, the last ones, or a page around one where addresses get wider."""
        bits = self.draw.one((0, 20, 32, 33, 40, 52, 63, 64))
        if bits in (0, 64):
            return (1 << ADDRESS_BITS) - WINDOW_SIZE if bits else 0
        return (1 << bits) - self.draw.one((0, 1, 2)) * PAGE

    def place(self, size: int, window: int | None = None) -> int:
        """An address of a bus word in a window, behind all tensors that have an address there."""
        k = self.draw.one((0, 1)) if window is None else window
        base = self.ends[k] + self.draw.one((0, 1, 2, 5)) * self.bus.bytes
        self.ends[k] = base + -(-size // self.bus.bytes) * self.bus.bytes
        assert self.windows.place(base, size) is not None
        return base

    def place_far(self, size: int) -> int:
        """An address in the first window whose place in the second one is free too."""
        starts = [origin for origin, _ in self.windows.windows]
        used = max(end - start for end, start in zip(self.ends, starts, strict=True))
        self.ends[0] = starts[0] + used
        base = self.place(size, 0)
        self.ends[1] = self.ends[0] - starts[0] + starts[1]
        return base

    def _tensor(self, name: str, base: int, size: int) -> None:
        """Record the address of a tensor."""
        self.regions[name] = Region(base, size, 1, size, (1, size), "int8")

    def depth(self) -> int:
        """Depth of a FIFO of bus words."""
        return self.draw.one((2, 3, 8, 30, 70))

    def source(self, name: str, channel: Channel, nested, dtype=np.int8) -> None:
        """A stream from outside."""
        self.units.append(source(name))
        self.channels.append(channel)
        beats = to_beats(nested, channel.rank, dtype)
        self.inputs[f"s_{name}"] = blank_lanes(beats, channel.lanes)

    def sink(self, name: str, nested, dtype=np.int8) -> None:
        """A stream to the outside."""
        self.units.append(sink(name))
        (channel,) = (c for c in self.channels if c.name == name)
        beats = to_beats(nested, channel.rank, dtype)
        if name in self.closes:
            closed = np.minimum(beats.stop, self.closes[name]).astype(np.uint8)
            beats = replace(beats, stop=np.where(beats.kind == VALUE, closed, beats.stop))
        self.expected[f"d_{name}"] = blank_lanes(beats, channel.lanes)

    def width(self, lanes: int, slices: int) -> int:
        """Columns of rows of so many beats; every other time the last one is padded."""
        spare = int(self.draw.rng.integers(1, lanes)) if self.draw.one((0, 1)) else 0
        return lanes * slices - spare

    def load(
        self,
        name: str,
        ref=None,
        ref_level: int = 2,
        ref_rank: int = 0,
        *,
        ahead: int = 8,
        prompt: bool = False,
        most: int = 4,
    ):
        """A drawn load, static or by the nested list `ref` of wire rank `ref_rank`.

        A tile has up to `most` rows, and a row as many beats.

        Returns
        -------
        channel : Channel
        nested : list
            What it must read: nested down to beats.
        """
        draw = self.draw
        lanes, dtype = draw.one((2, 4, 8)), draw.one((np.int8, np.int32))
        bits = np.dtype(dtype).itemsize * 8
        while True:
            rows, slices = (int(draw.rng.integers(1, most + 1)) for _ in range(2))
            columns = self.width(lanes, slices)
            least = 1 if ref is None else 0
            dims = int(draw.rng.integers(least, 3))
            shape = [draw.one((1, 2, 3)) for _ in range(dims)]
            stride = [draw.one((0, 1, 2, 3)) for _ in range(dims)]
            if dims and draw.one((True, False)):  # one tile after the other
                stride = [int(np.prod(shape[k + 1 :])) for k in range(dims)]
            tile_bytes = rows * columns * bits // 8
            tiles = sum((e - 1) * s for e, s in zip(shape, stride, strict=True)) + 1
            if int(np.prod(shape)) * tile_bytes <= 600:
                break
        (low, _), (high, _) = self.windows.windows
        apart = stride[0] if dims else 0
        far, rest = divmod(high - low, tile_bytes)
        if dims and shape[0] == 2 and not rest and far < 1 << 63:
            stride[0] = far  # a tensor that reaches from window to window
            base = self.place_far((tiles - apart) * tile_bytes)
            tiles += stride[0] - apart
        else:
            base = self.place(tiles * tile_bytes)
        self._tensor(name, base, tiles * tile_bytes)
        params = Load(
            region=name,
            base=base,
            tile_bytes=tile_bytes,
            rows=rows,
            beat_parts=lanes * bits // 8,
            shape=shape,
            stride=stride,
            ref_level=None if ref is None else ref_level,
            ahead=ahead,
            prompt=prompt,
        )

        def read(first: int, at: int):
            if at == dims:
                place = self.windows.place(base + first * tile_bytes, tile_bytes)
                stored = np.frombuffer(self.before, np.uint8)[place : place + tile_bytes]
                cells = np.zeros((rows, slices * lanes), dtype)
                cells[:, :columns] = stored.view(dtype).reshape(rows, columns)
                return [[*row] for row in cells.reshape(rows, slices, lanes)]
            return [read(first + k * stride[at], at + 1) for k in range(shape[at])]

        inputs = [f"{name}_data"]
        if ref is None:
            nested, rank = read(0, 0), 2 + dims - 1
        else:
            inputs.insert(0, f"{name}_ref")
            wire = Channel(f"{name}_ref", draw.one((0, 2)), 8, ref_rank, draw.one((2, 3, 9, 70)))
            self.source(f"{name}_ref", wire, ref)

            def each(items, depth: int):
                return [each(i, depth - 1) for i in items] if depth else read(0, 0)

            depth = ref_rank - ref_level
            nested, rank = [each(group, depth) for group in ref], 2 + dims + depth
        depth, tail = draw.one((2, 3, 4, 70)), columns % lanes
        channel = Channel(name, lanes, bits, rank, depth, tail=tail)
        line = params.channels(name, self.bus, self.depth())
        self.channels += [channel, *line]
        self.units.append(row(name, params, inputs, (name, f"{name}_req")))
        self.loads.append(tuple(c.name for c in line))
        if prompt:
            self.closes[name] = params.pass_level
        return channel, nested, dtype

    def look_up(
        self, name: str, rank: int = 0, *, addresses: bool = False, ahead: int = 8, counts=(0, 1, 6)
    ):
        """A drawn load of tiles by addresses of a drawn stream of this rank, or of addresses.

        Returns
        -------
        channel : Channel
        nested : list
            What it must read: nested down to beats.
        """
        draw, one = self.draw, self.draw.one
        lanes, dtype = one((2, 4, 8)), one((np.int8, np.int32))
        rows, slices, bits = one((1, 1, 2, 3)), one((1, 1, 2, 5)), np.dtype(dtype).itemsize * 8
        columns = self.width(lanes, slices)
        if addresses:
            lanes, dtype, rows, bits = one((1, 2, 4)), np.uint64, 1, one((6, 9))
            columns, slices = lanes, 1
        tile_bytes = rows * columns * np.dtype(dtype).itemsize
        tiles = one((1, 2, 7, 19))
        wire = Channel(
            f"{name}_ref", 1, number_bits(tiles), rank, one((2, 3, 9, 70)), element="address"
        )
        at = draw.nested([counts] * (rank + 1), lambda: draw.rng.integers(0, tiles, 1))
        self.source(wire.name, wire, at, np.uint64)
        base = self.place(tiles * tile_bytes)
        self._tensor(name, base, tiles * tile_bytes)
        place = self.windows.place(base, tiles * tile_bytes)
        if addresses:  # some of them too large for the wire
            numbers = draw.rng.integers(0, 1 << one((5, 9, 40)), tiles * lanes).astype(np.uint64)
            size = numbers.nbytes
            self.before[place : place + size] = self.after[place : place + size] = numbers.tobytes()
        params = Load(
            region=name,
            base=base,
            tile_bytes=tile_bytes,
            rows=rows,
            beat_parts=lanes * np.dtype(dtype).itemsize,
            shape=(),
            stride=(),
            ref_level=0,
            ahead=ahead,
            tiles=tiles,
            addresses=addresses,
        )

        def read(number: int):
            start = place + number * tile_bytes
            stored = np.frombuffer(self.before, np.uint8)[start : start + tile_bytes]
            if addresses:
                return narrowed(stored.view(np.uint64), bits)
            cells = np.zeros((rows, slices * lanes), dtype)
            cells[:, :columns] = stored.view(dtype).reshape(rows, columns)
            return [[*row] for row in cells.reshape(rows, slices, lanes)]

        def each(items, depth: int):
            return [each(i, depth - 1) for i in items] if depth else read(int(items[0]))

        element = "address" if addresses else ""
        channel = Channel(
            name,
            lanes,
            bits,
            rank + params.tile_levels,
            one((2, 3, 4, 70)),
            tail=columns % lanes,
            element=element,
        )
        line = params.channels(name, self.bus, self.depth())
        self.channels += [channel, *line]
        ports = (wire.name, f"{name}_data"), (name, f"{name}_req")
        self.units.append(row(name, params, *ports))
        self.loads.append(tuple(c.name for c in line))
        return channel, each(at, rank + 1), dtype

    def store(self, name: str, channel: Channel, nested, dtype, spare: int = 0) -> None:
        """A store of what travels on `channel`.

        The tensor has room for `spare` more beats, or for more rows where these end within a beat.
        """
        rows = leaves(nested, channel.rank)
        data = b"".join(_row_data(row, channel, dtype) for row in rows)
        unit, row_bytes = channel.lanes * channel.bits // 8, 0
        if channel.tail:
            unit = row_bytes = len(data) // len(rows) if rows else channel.tail * channel.bits // 8
        size = max(unit, len(data) + spare * unit)
        base = self.place(size)
        place = self.windows.place(base, size)
        self.after[place : place + len(data)] = data
        self._tensor(name, base, size)
        params = Store(region=name, base=base, size=size, row_bytes=row_bytes)
        line = params.channels(name, self.bus, self.depth())
        self.channels += line
        outputs = f"{name}_wreq", f"{name}_wdata"
        self.units.append(row(name, params, (channel.name, f"{name}_ack"), outputs))
        self.stores.append(tuple(c.name for c in line))

    def scatter(self, name: str, rank: int = 0, *, ahead: int = 8, counts=(0, 1, 6)) -> None:
        """A drawn store of tiles to addresses of a drawn stream, with its flags."""
        draw, one = self.draw, self.draw.one
        lanes, dtype = one((2, 4, 8)), one((np.int8, np.int32))
        rows, slices, bits = one((1, 1, 2, 3)), one((1, 1, 2, 5)), np.dtype(dtype).itemsize * 8
        columns, tiles = self.width(lanes, slices), one((2, 7, 19))
        size = rows * columns * bits // 8
        at = draw.nested([counts] * (rank + 1), lambda: draw.rng.integers(0, tiles, 1))
        depth = one((2, 3, 9, 70))
        wire = Channel(f"{name}_at", 1, number_bits(tiles), rank, depth, element="address")
        x = Channel(f"{name}_x", lanes, bits, rank + 2, one((2, 3, 70)), tail=columns % lanes)
        base = self.place(tiles * size)
        self._tensor(name, base, tiles * size)

        def tile(number: int):
            cells = draw.rng.integers(-128, 128, (rows, slices, lanes)).astype(dtype)
            data = cells.reshape(rows, -1)[:, :columns].tobytes()
            place = self.windows.place(base + number * size, size)
            self.after[place : place + size] = data
            return [[*row] for row in cells]

        def each(items, depth: int, leaf):
            return [each(i, depth - 1, leaf) for i in items] if depth else leaf(items)

        self.source(wire.name, wire, at, np.uint64)
        self.source(x.name, x, each(at, rank + 1, lambda n: tile(int(n[0]))), dtype)
        params = RandomStore(name, base, rows, columns * bits // 8, tiles, ahead)
        line = params.channels(name, self.bus, self.depth())
        self.channels += [Channel(name, 1, 1, rank, one((2, 3, 70))), *line]
        inputs, outputs = (wire.name, x.name, f"{name}_ack"), (f"{name}_wreq", f"{name}_wdata")
        self.units.append(row(name, params, inputs, (name, *outputs)))
        self.within.append(len(self.stores))
        self.stores.append(tuple(c.name for c in line))
        self.sink(name, each(at, rank + 1, lambda _: np.ones(1, np.bool_)), np.bool_)

    def design(self) -> Design:
        """The table."""
        units, channels = join(self.bus, self.loads, self.stores, self.within)
        return Design(
            "off_chip",
            self.lanes,
            self.bus,
            (*self.units, *units),
            (*self.channels, *channels),
            self.regions,
        )

    def timing(self) -> MemoryTiming:
        """Drawn settings of the memory."""
        one = self.draw.one
        return MemoryTiming(
            one((1, 2, 9, 30)), one((1, 1, 2, 5)), one((1, 2, 16)),
            one((1, 2, 9, 30)), one((1, 1, 2, 5)), one((1, 2, 16)),
        )  # fmt: skip

    def stalls(self) -> Stalls:
        """Drawn stalls of the memory and of the ports."""
        if self.draw.one((True, False, False)):
            return Stalls()
        names = [*MEMORY_CHANNELS, *self.inputs, *self.expected]
        shares = {name: self.draw.one((0.0, 0.2, 0.6)) for name in names}
        return Stalls(int(self.draw.rng.integers(1 << 30)), shares)

    def early(self) -> list[str]:
        """Drawn sources that offer beats before their run."""
        return [name for name in self.inputs if self.draw.one((True, False))]

    def verify(
        self, timing: MemoryTiming, stalls: Stalls, runs: int = 2, aborts: int = 0
    ) -> Prediction:
        """Compare `runs` runs in a row with the expected beats and with one prediction.

        Before them `aborts` runs are aborted in drawn cycles.
        """
        design, early = self.design(), self.early()
        known = decided(design, self.inputs, self.expected)
        predicted = predict(design, known, memory=timing, stalls=stalls, early=early)
        same_levels(predicted, self.expected, Run(known, stalls, timing, early))
        cycles = [int(self.draw.rng.integers(predicted.cycles)) for _ in range(aborts)]
        axi = AxiMemory(bytearray(self.before), self.bus.bytes, timing, stalls, self.windows)
        results = simulate(
            design, self.inputs, stalls, runs=runs, memory=axi, early=early, aborts=cycles
        )
        for got, pushes, pops, cycles, error in results if runs > 1 else [results]:
            assert not error
            for name, wanted in self.expected.items():
                channel = design.channel[name.removeprefix("d_")]
                compare(name, channel, got[name], wanted)
            for name in design.channel:
                assert pushes[name] == predicted.pushes[name].tolist(), name
                assert pops[name] == predicted.pops[name].tolist(), name
            assert cycles == predicted.cycles
        assert axi.data == self.after
        assert axi.most_reads <= self.bus.outstanding
        return predicted
