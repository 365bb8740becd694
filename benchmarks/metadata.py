"""(k) What stops cost: units and FIFOs whose beats carry structure, against static ones."""

from __future__ import annotations

import math
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from benchmarks.programs import moe
from benchmarks.table import Table
from stepgen.compile.lower import rows_of
from stepgen.compile.memories import lowered
from stepgen.hw import private
from stepgen.hw.design.pace import Extent
from stepgen.hw.design.table import Channel, Design
from stepgen.hw.fifo import Fifo
from stepgen.hw.primitives import Device
from stepgen.hw.stream import signature
from stepgen.hw.unit import UnitCore, core_of
from stepgen.ir.wire import VALUE
from stepgen.synth.measuring import measured
from stepgen.synth.toolchain import FAMILY

LANES = 4
ROWS = 16
FIFO = "fifo"
WHAT = ("lut", "ff")


def raw(channel: Channel) -> Channel:
    """The channel without structure: beats of data alone."""
    return Channel(
        channel.name, 1, max(1, channel.lanes * channel.bits), None, channel.depth, channel.delay
    )


class Counting(wiring.Component):
    """A unit whose beats come and go without structure, which it counts itself.

    Parameters
    ----------
    core : UnitCore
    extents : mapping of str to sequence of Extent
        Dims of its input channels, innermost first.
    """

    def __init__(self, core: UnitCore, extents: Mapping[str, Sequence[Extent]]):
        self.core = core
        self.extents = extents
        self.rest = {
            name: member
            for name, member in core.signature.members.items()
            if name not in core.channels
        }
        ports = {
            port: (In if port in core.unit.inputs else Out)(signature(raw(channel)))
            for port, channel in core.channels.items()
        }
        super().__init__({**ports, **self.rest})

    def elaborate(self, platform: Any) -> Module:
        """Counters in front of the unit; what leaves it but data is dropped."""
        m = Module()
        m.submodules.core = core = self.core
        for port, channel in core.channels.items():
            outside, inside = getattr(self, port), getattr(core, port)
            into = port in core.unit.inputs
            source, sink = (outside, inside) if into else (inside, outside)
            m.d.comb += [sink.valid.eq(source.valid), source.ready.eq(sink.ready)]
            if channel.rank is None:
                m.d.comb += sink.payload.eq(source.payload)
            elif into:
                stop = self._stop(m, outside, self.extents[channel.name])
                m.d.comb += [
                    inside.payload.data.eq(outside.payload),
                    inside.payload.kind.eq(VALUE),
                    inside.payload.stop.eq(stop),
                ]
            else:
                m.d.comb += outside.payload.eq(inside.payload.data)
        for name, member in self.rest.items():
            mine, own = getattr(self, name), getattr(core, name)
            if member.is_signature:
                wiring.connect(m, wiring.flipped(mine), own)
            else:
                m.d.comb += own.eq(mine) if member.flow is In else mine.eq(own)
        return m

    def _stop(self, m: Module, stream: Any, extents: Sequence[Extent]) -> Any:
        """How many levels end with the beat: a counter for each dim."""
        moved: Any = stream.valid & stream.ready
        over: Any = 1
        stop: Any = 0
        for extent in extents:
            many = 1 if math.isinf(extent.bound) else max(1, int(extent.bound))
            if many > 1:
                count = Signal(range(many))
                ends = count == many - 1
                with m.If(moved & over):
                    m.d.sync += count.eq(Mux(ends, 0, count + 1))
                over = over & ends
            stop = stop + over
        return stop


def measure() -> Table:
    """The demo with static and with capped tiles."""
    with tempfile.TemporaryDirectory(prefix="stepgen_bench_") as folder:
        rows = _rows(Path(folder))
    return Table(
        "k. What stops cost",
        "The demo: MoE layer, 64 tokens, top 2 of 8 experts of 64 x 256 weights, "
        f"{LANES} lanes of int8, capped tiles of at most {ROWS} rows. Each unit and each FIFO is "
        "synthesized by itself for an ECP5 (Yosys, without place and route), as generated, and "
        "without structure on its wires: a beat is data alone, and the unit counts its dims, "
        "as if all were static (a dynamic dim as if it had its bound). The ends of streams, empty "
        "groups and whatever tells them are gone, too. Bits: of kind and stop in a beat, by all "
        "bits of it, on average over the channels; for FIFOs of their memory.",
        (
            *("kind", "units", "LUT", "LUT, static", "FF", "FF, static"),
            *("LUT for structure", "FF for structure", "bits of structure"),
        ),
        rows,
    )


def _rows(folder: Path) -> list[tuple[object, ...]]:
    """The units of the design by kind, and all together."""
    graph, _ = moe(tiling="capped", tile=ROWS)
    rows = lowered(rows_of(graph, lanes=LANES))
    connected = rows.connected()
    extents = connected.extents
    design = connected.design(graph.name, LANES, rows.bus, rows.regions, {})
    texts = dict(_circuits(design, extents))
    distinct = {text: str(number) for number, text in enumerate(dict.fromkeys(texts.values()))}
    used = measured({number: text for text, number in distinct.items()}, folder)
    takes: dict[str, Counter[Any]] = defaultdict(Counter)
    for (kind, _, structured), text in texts.items():
        for what in WHAT:
            takes[kind][what, structured] += used[distinct[text]][what]
        takes[kind]["units"] += structured
    lines = []
    for kind in [*sorted(takes.keys() - {FIFO}), FIFO]:
        lines.append(_line(kind, takes[kind], _share(design, kind)))
    total = sum(takes.values(), Counter())
    lines.append(_line("all", total, _share(design, FIFO)))
    return lines


def _circuits(
    design: Design, extents: Mapping[str, Sequence[Extent]]
) -> Iterator[tuple[tuple[str, str, bool], str]]:
    """Each unit and FIFO twice, in RTLIL: as generated, and without structure where it has any."""
    device = Device(FAMILY)
    for unit in design.units:
        core = core_of(unit, design)
        text = private.module(core, "top", device)
        yield (unit.kind, unit.name, True), text
        if any(channel.rank is not None for channel in core.channels.values()):
            text = private.module(Counting(core_of(unit, design), extents), "top", device)
        yield (unit.kind, unit.name, False), text
    for channel in design.channels:
        yield (FIFO, channel.name, True), private.module(Fifo(channel), "top", device)
        plain = channel if channel.rank is None else raw(channel)
        yield (FIFO, channel.name, False), private.module(Fifo(plain), "top", device)


def _line(kind: str, takes: Counter[Any], share: float | None) -> tuple[object, ...]:
    cells = [takes[what, structured] for what in WHAT for structured in (True, False)]
    more = [
        f"{100 * (1 - takes[what, False] / takes[what, True]):.0f} %" if takes[what, True] else ""
        for what in WHAT
    ]
    bits = "" if share is None else f"{100 * share:.0f} %"
    return (kind, takes["units"], *cells, *more, bits)


def _share(design: Design, kind: str) -> float | None:
    """Bits of kind and stop, by all: of FIFOs' memory, or of beats that units of a kind send."""
    if kind == FIFO:
        tags = sum(c.memory_bits * _tags(c) for c in design.channels if c.rank is not None)
        return tags / sum(c.memory_bits for c in design.channels)
    sent = [design.channel[c] for u in design.units if u.kind == kind for c in u.outputs.values()]
    sent = [c for c in sent if c.rank is not None]
    return sum(map(_tags, sent)) / len(sent) if sent else None


def _tags(channel: Channel) -> float:
    """Share of a beat that is kind and stop."""
    return 1 - channel.data_bits / channel.width
