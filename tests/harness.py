"""Runs a design in Amaranth's simulator and compares it with the cycle model.

For units and small designs without off-chip memory, at any FIFO depths: no build is needed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from amaranth.sim import Simulator
from axi_memory import AxiMemory
from junk import Junk

from stepgen.compile.cost import on_chip_bits
from stepgen.hw.accelerator import Accelerator
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Bus, Channel, Design, Unit
from stepgen.hw.inventory import allocated_bits
from stepgen.hw.units.sink.params import Sink
from stepgen.hw.units.source.params import Source
from stepgen.ir.stalls import Stalls, stalled
from stepgen.ir.wire import BARE, DONE, VALUE, Beats
from stepgen.timing.model import Prediction, predict


def beats(rows, lanes: int, dtype=np.int8) -> Beats:
    """Beats from ``(data, stop)`` pairs, ``("bare", low, stop)`` triples; DONE is added."""
    n = len(rows) + 1
    kind, stop, low = (np.zeros(n, np.uint8) for _ in range(3))
    data = np.zeros((n, lanes), dtype)
    for k, row in enumerate(rows):
        if isinstance(row[0], str):
            kind[k], low[k], stop[k] = BARE, row[1], row[2]
        else:
            data[k], stop[k] = row[0], row[1]
    kind[-1] = DONE
    return Beats(kind, stop, low, data)


def pack(channel: Channel, stream: Beats) -> list[int]:
    """Payloads of a channel as integers, as they appear at a port."""
    packed = []
    bits = np.ascontiguousarray(stream.data).view(f"u{stream.data.itemsize}")
    for kind, stop, low, data in zip(stream.kind, stream.stop, stream.low, bits, strict=True):
        word = 0
        if kind == VALUE:
            for lane, value in enumerate(data):
                word |= (int(value) & ((1 << channel.bits) - 1)) << (lane * channel.bits)
        elif kind == BARE:
            word = int(low)
        packed.append(int(kind) | int(stop) << 2 | word << (2 + channel.stop_bits))
    return packed


def compare(name: str, channel: Channel, words: list[int], wanted: Beats) -> None:
    """Compare payloads that left through a port with beats, in every field but the padding."""
    words, expected = unpadded(channel, words), unpadded(channel, pack(channel, wanted))
    for k, (seen, due) in enumerate(zip(words, expected, strict=False)):
        said = f"{fields(channel, seen)}, expected {fields(channel, due)}"
        assert seen == due, f"{name}: beat {k} is {said}"
    assert len(words) == len(expected), f"{name}: {len(words)} beats, expected {len(expected)}"


def unpadded(channel: Channel, words: list[int]) -> list[int]:
    """Payloads with zeros in the lanes beyond the end of a row."""
    if not channel.tail:
        return words
    stops = (1 << channel.stop_bits) - 1
    spare = (1 << channel.lanes * channel.bits) - (1 << channel.tail * channel.bits)
    ends_row = [word & 3 == VALUE and bool(word >> 2 & stops) for word in words]
    padding = spare << 2 + channel.stop_bits
    return [w & ~padding if ends else w for w, ends in zip(words, ends_row, strict=True)]


def fields(channel: Channel, word: int) -> str:
    """A payload in its fields."""
    stop = word >> 2 & (1 << channel.stop_bits) - 1
    return f"kind {word & 3} stop {stop} data 0x{word >> 2 + channel.stop_bits:x}"


def source(channel: str) -> Unit:
    """The port ``s_<channel>`` that writes a channel."""
    return Unit(f"s_{channel}", Source(), {}, {"y": channel})


def sink(channel: str) -> Unit:
    """The port ``d_<channel>`` that reads a channel."""
    return Unit(f"d_{channel}", Sink(), {"x": channel}, {})


row = Unit.in_order


def lone(
    params: UnitParams, inputs: list[Channel], outputs: list[Channel], lanes: int = 2
) -> Design:
    """A design of one unit ``dut`` between sources ``s_<channel>`` and sinks ``d_<channel>``."""
    units = [source(c.name) for c in inputs]
    units.append(row("dut", params, [c.name for c in inputs], [c.name for c in outputs]))
    units += [sink(c.name) for c in outputs]
    return Design("lone", lanes, Bus(), tuple(units), (*inputs, *outputs))


def simulate(
    design: Design,
    inputs: Mapping[str, Beats],
    stalls: Stalls,
    limit: int = 100_000,
    runs: int = 1,
    memory: AxiMemory | None = None,
    early: Collection[str] = (),
    aborts: Sequence[int] = (),
    first: Mapping[str, Beats] | None = None,
    seen: list | None = None,
):
    """Run a design in Amaranth's simulator.

    What is in `memory` stays from run to run. Sources in `early` offer the beats of all runs, and
    of one more, as one stream, from before the first start on. Before the runs that are returned
    there is one for each cycle in `aborts`, which a soft reset aborts in that cycle; then
    `memory` is as at first. These runs get the inputs `first`, if there are any, and `seen` gets
    what left through each sink, the error flags and the details. Idle streams carry junk, and so do
    memories before they are written. The circuit's memories have to be as large as the design says.

    Returns
    -------
    payloads : dict of str to list of int
        What left through each sink.
    pushes, pops : dict of str to list of int
        Cycles by channel.
    cycles : int
    """
    dut, junk = Accelerator(design), Junk(stalls.seed)
    circuit = junk.circuit(dut)
    assert allocated_bits(circuit) == on_chip_bits(design)
    results = []

    def offer(ctx, port, offered, words):
        junk.idle(ctx, port)
        if offered:
            ctx.set(port.valid, 1)
            ctx.set(port.payload.as_value(), words[-1])

    async def bench(ctx):
        junk.fill(ctx, circuit)
        before = bytes(memory.data) if memory else b""
        streams = {
            u.name: pack(design.channel[u.outputs["y"]], inputs[u.name])
            for u in design.of_kind(Source)
        }
        excluded = {
            u.name: pack(design.channel[u.outputs["y"]], (first or inputs)[u.name])
            for u in design.of_kind(Source)
        }
        waiting = {name: words[::-1] * (runs + 1) for name, words in streams.items()}
        for abort in (*aborts, *[None] * runs):
            for name, words in (streams if abort is None else excluded).items():
                if name not in early:
                    waiting[name] = words[::-1]
            offered = {name: name in early for name in waiting}
            for name, words in waiting.items():
                offer(ctx, getattr(dut, name), offered[name], words)
            await ctx.tick().repeat(3)
            got = {u.name: [] for u in design.of_kind(Sink)}
            pushes = {c.name: [] for c in design.channels}
            pops = {c.name: [] for c in design.channels}
            if memory:
                memory.begin()
                memory.rest(ctx, dut.mem)
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            t = 0
            while ctx.get(dut.running):
                ctx.set(dut.stop, t == abort)
                assert t < limit, f"no end after {t} cycles"
                for name, words in waiting.items():
                    port = getattr(dut, name)
                    offered[name] |= bool(words) and not stalled(*stalls.of(name), t)
                    offer(ctx, port, offered[name], words)
                for name in got:
                    ctx.set(getattr(dut, name).ready, not stalled(*stalls.of(name), t))
                if memory:
                    memory.cycle(ctx, dut.mem, t)
                for name, words in waiting.items():
                    if offered[name] and ctx.get(getattr(dut, name).ready):
                        words.pop()
                        offered[name] = False
                for name, words in got.items():
                    port = getattr(dut, name)
                    if ctx.get(port.valid) and ctx.get(port.ready):
                        words.append(ctx.get(port.payload.as_value()))
                moved_in, moved_out = ctx.get(dut.moves_in), ctx.get(dut.moves_out)
                for k, channel in enumerate(design.channels):
                    if moved_in >> k & 1:
                        pushes[channel.name].append(t)
                    if moved_out >> k & 1:
                        pops[channel.name].append(t)
                await ctx.tick()
                t += 1
            assert ctx.get(dut.cycle) == t
            assert not memory or memory.clean
            while ctx.get(dut.stopping):
                await ctx.tick()
            if abort is not None:
                if seen is not None:
                    seen.append((got, ctx.get(dut.error), ctx.get(dut.detail)))
                waiting = {name: words[::-1] * (runs + 1) for name, words in streams.items()}
                if memory:
                    memory.data[:] = before
                continue
            assert ctx.get(dut.done)
            results.append((got, pushes, pops, t, ctx.get(dut.error)))

    sim = Simulator(circuit)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()
    return results if runs > 1 else results[0]


def decided(
    design: Design, inputs: Mapping[str, Beats], expected: Mapping[str, Beats]
) -> dict[str, Beats]:
    """The inputs, and what units decide from data, as far as it leaves through a port."""
    sinks = {u.inputs["x"]: u.name for u in design.of_kind(Sink)}
    deciding = [u for u in design.units if u.params.decides]
    return {
        **inputs,
        **{u.name: expected[sinks[u.outputs[u.params.decides]]] for u in deciding},
    }


def check(
    design: Design,
    inputs: Mapping[str, Beats],
    expected: Mapping[str, Beats],
    stalls: Stalls | None = None,
    memory: AxiMemory | None = None,
    early: Collection[str] = (),
    aborts: Sequence[int] = (),
) -> Prediction:
    """Compare the circuit with the expected beats and, to the cycle, with the cycle model."""
    stalls = stalls or Stalls()
    timing = memory.timing if memory else None
    known = decided(design, inputs, expected)
    predicted = predict(design, known, memory=timing, stalls=stalls, early=early)
    got, pushes, pops, cycles, error = simulate(
        design, inputs, stalls, memory=memory, early=early, aborts=aborts
    )
    assert not error
    for name, wanted in expected.items():
        unit = next(u for u in design.units if u.name == name)
        channel = design.channel[unit.inputs["x"]]
        compare(name, channel, got[name], wanted)
    for channel in design.channels:
        assert pushes[channel.name] == predicted.pushes[channel.name].tolist(), channel.name
        assert pops[channel.name] == predicted.pops[channel.name].tolist(), channel.name
        assert len(pushes[channel.name]) == len(pops[channel.name]), f"{channel.name} is left full"
    assert cycles == predicted.cycles
    return predicted
