"""The SDRAM's controller against its cycle model, and against an SDRAM that checks its timing."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from seeds import others_slow

from stepgen.cosim.case import Case, write_cases
from stepgen.cosim.payload import Rows
from stepgen.cosim.verilator import LEAST_BUILD, Simulation, build, run_driver
from stepgen.emit.interface import Interface, StreamPort
from stepgen.hw.board.sdram import SdramMemory
from stepgen.hw.board.sdram.simulated import simulated_chip
from stepgen.hw.design.table import Bus, Channel
from stepgen.hw.fifo import Fifo
from stepgen.hw.units.sink import model as sinks
from stepgen.hw.units.source import model as sources
from stepgen.hw.verilog import written
from stepgen.ir.errors import StepError
from stepgen.ir.sdram_timing import SdramTiming
from stepgen.ir.stalls import Stalls
from stepgen.timing.bursts import make_burst
from stepgen.timing.drive import drive
from stepgen.timing.kernel import packed
from stepgen.timing.layout import Layout
from stepgen.timing.sdram import build_sdram
from stepgen.timing.sorting import split
from stepgen.tools.shipped import shipped

TIMING = SdramTiming(
    data_bits=16, column_bits=6, row_bits=4, cas=3, rcd=3, rp=3, ras=5, rc=9, wr=2, rfc=8, mrd=2,
    refi=250, wake=20,
)  # fmt: skip
AWAKE = 200
"""Cycles after which the SDRAM has been prepared."""

IN, OUT = ("ar", "aw", "w"), ("r", "b")
FAST = replace(TIMING, cas=2, rcd=2, rp=2, ras=4, rc=6, rfc=7, wr=2, late=1)
SETTINGS = {
    "16 pins, 64 bits": (TIMING, Bus(64, burst=8)),
    "16 pins, 32 bits": (FAST, Bus(32, burst=16)),
    "32 pins, 32 bits": (replace(TIMING, data_bits=32, wr=6, late=2), Bus(32, burst=16)),
    "queues in block RAM": (replace(TIMING, column_bits=7), Bus(32, burst=64)),
}


class Bench(wiring.Component):
    """Raw streams for the channels of the bus, the controller and the SDRAM."""

    def __init__(self, timing: SdramTiming, bus: Bus) -> None:
        self.timing, self.bus = timing, bus
        ports = {"running": In(1)}
        for name, width in widths(bus).items():
            ports |= {
                f"{name}_valid": In(1) if name in IN else Out(1),
                f"{name}_ready": Out(1) if name in IN else In(1),
                f"{name}_payload": In(width) if name in IN else Out(width),
            }
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = SdramMemory(self.timing, self.bus)
        port, pins = memory.port, memory.pins
        m.d.comb += memory.running.eq(self.running)
        length = self.bus.address_bits
        for name, width in widths(self.bus).items():
            queue = Fifo(Channel(name, 1, width, None))
            m.submodules[name] = queue
            inner = queue.r if name in IN else queue.w
            outer = queue.w if name in IN else queue.r
            valid, ready, payload = (
                getattr(self, f"{name}_{what}") for what in ("valid", "ready", "payload")
            )
            bus_valid, bus_ready = (getattr(port, f"{name}{what}") for what in ("valid", "ready"))
            if name in IN:
                m.d.comb += [outer.valid.eq(valid), ready.eq(outer.ready)]
                m.d.comb += [outer.payload.eq(payload), bus_valid.eq(inner.valid)]
                m.d.comb += inner.ready.eq(bus_ready)
            else:
                m.d.comb += [valid.eq(outer.valid), outer.ready.eq(ready)]
                m.d.comb += [payload.eq(outer.payload), inner.valid.eq(bus_valid)]
                m.d.comb += bus_ready.eq(inner.ready)
            head = inner.payload
            if name in ("ar", "aw"):
                m.d.comb += getattr(port, f"{name}addr").eq(head[:length])
                m.d.comb += getattr(port, f"{name}len").eq(head[length:])
            elif name == "w":
                data, strobes = self.bus.data_bits, self.bus.bytes
                m.d.comb += port.wdata.eq(head[:data])
                m.d.comb += port.wstrb.eq(head[data : data + strobes])
                m.d.comb += port.wlast.eq(head[-1])
            elif name == "r":
                m.d.comb += head.eq((port.rlast << self.bus.data_bits) | port.rdata)
        m.submodules.chip = simulated_chip(self.timing, pins, put=Const(0), get=Const(0))
        return m


def widths(bus: Bus) -> dict[str, int]:
    """Bits of the payloads of the raw streams."""
    return {
        "ar": 8 + bus.address_bits,
        "aw": 8 + bus.address_bits,
        "w": 1 + bus.bytes + bus.data_bits,
        "r": 1 + bus.data_bits,
        "b": 1,
    }


@cache
def simulation(timing: SdramTiming, bus: Bus) -> Simulation:
    ports = tuple(
        StreamPort(name, "in" if name in IN else "out", 1, width, 0, width, raw=True)
        for name, width in widths(bus).items()
    )
    verilog = written("sdram_bench", lambda part: Bench(timing, bus))
    chip = (shipped("sim/verilator") / "sdram.sv").read_text()
    interface = Interface("sdram_bench", ports, control=False)
    return build(interface, verilog, kernels={"sdram.sv": chip}, opt=LEAST_BUILD)


Bursts = list[tuple[int, int]]


def predicted(
    timing: SdramTiming, bus: Bus, reads: Bursts, writes: Bursts, stalls: Stalls
) -> dict[str, np.ndarray]:
    """The cycles in which beats enter and leave the streams, by the cycle model."""
    layout = Layout("SDRAM")
    channels = {name: layout.new_channel(name, 2, 1, k) for k, name in enumerate(widths(bus))}
    build_sdram("memory", layout, timing, bus, channels)
    beats = {
        "ar": [make_burst(word, count) for word, count in reads],
        "aw": [make_burst(word, count) for word, count in writes],
        "w": [int(k == count - 1) for _, count in writes for k in range(count)],
    }
    for name, y in channels.items():
        key, threshold = stalls.of(name)
        late = stalls.late.get(name, 0)
        if name in IN:
            own = packed(
                sources.P, y=y, beats=layout.reserve(np.array(beats[name], np.int64)),
                left=len(beats[name]), offered=0, key=key, threshold=threshold, late=late,
            )  # fmt: skip
            layout.actor(name, "offer", sources.offer, own, reads=[], writes=[y])
        else:
            own = packed(sinks.P, x=y, key=key, threshold=threshold, late=late)
            layout.actor(name, "take", sinks.take, own, reads=[y], writes=[], finishes=True)
    moves = split(drive(layout).notes, 2 * len(channels))
    return {f"port:{name}": moves[2 * k + (name in OUT)] for k, name in enumerate(channels)}


def rows(width: int, payloads: list[int]) -> Rows:
    size = (width + 7) // 8
    data = b"".join(p.to_bytes(size, "little") for p in payloads)
    return np.frombuffer(data, np.uint8).reshape(-1, size)


class Drawn:
    """Cases one after the other on one memory; a case does not read what it writes."""

    def __init__(self, timing: SdramTiming, bus: Bus, seed: int) -> None:
        self.timing, self.bus = timing, bus
        self.rng = np.random.default_rng(seed)
        blocks = timing.bytes // bus.bytes // bus.burst
        self.blocks = self.rng.choice(blocks, 48, replace=False)
        self.image: dict[int, int] = {}

    def fill(self) -> Case:
        """All blocks are written."""
        longest = self.bus.burst
        return self.made("fill", [], [(int(b) * longest, longest) for b in self.blocks], 0)

    def case(self, number: int) -> Case:
        chance = float(self.rng.choice([0, 0, 0.3, 0.9]))
        count = int(self.rng.choice([1, 10, 40]))
        halves = self.blocks[:24], self.blocks[24:]
        reads, writes = (
            [self._burst(half) for _ in range(int(self.rng.choice([0, count, count])))]
            for half in (halves if number % 2 else halves[::-1])
        )
        return self.made(f"case {number}", reads, writes, chance)

    def _burst(self, blocks: np.ndarray) -> tuple[int, int]:
        longest = self.bus.burst
        count = int(self.rng.choice([1, 2, 3, longest, longest]))
        start = int(self.rng.choice(blocks)) * longest
        return start + int(self.rng.integers(0, longest - count + 1)), count

    def made(self, name: str, reads: Bursts, writes: Bursts, chance: float) -> Case:
        bus, rng = self.bus, self.rng
        late = {p: AWAKE + int(rng.integers(0, 300)) for p in IN} | {"w": AWAKE}
        stalls = Stalls(int(rng.integers(2**32)), dict.fromkeys((*IN, *OUT), chance), late)
        expected = [
            (k == count - 1) << bus.data_bits | self.image.get(word + k, 0)
            for word, count in reads
            for k in range(count)
        ]
        words = []
        for first, count in writes:
            for k in range(count):
                data = int.from_bytes(rng.bytes(bus.bytes), "little")
                strobe = -1 if first + k not in self.image else int(rng.choice([-1, 1, 5, 0]))
                strobe &= (1 << bus.bytes) - 1
                mask = sum(255 << 8 * i for i in range(bus.bytes) if strobe >> i & 1)
                self.image[first + k] = self.image.get(first + k, 0) & ~mask | data & mask
                last = k == count - 1
                words.append((last << bus.bytes | strobe) << bus.data_bits | data)
        length = bus.address_bits

        def requests(bursts: Bursts) -> list[int]:
            return [(n - 1) << length | first * bus.bytes for first, n in bursts]

        given = {"ar": requests(reads), "aw": requests(writes), "w": words}
        got = {"r": expected, "b": [0] * len(writes)}
        cycles = predicted(self.timing, bus, reads, writes, stalls)
        return Case(
            name,
            {p: rows(widths(bus)[p], given[p]) for p in IN},
            {p: rows(widths(bus)[p], got[p]) for p in OUT},
            stalls=stalls,
            pushes=cycles,
            limit=100_000,
        )


def faults(timing: SdramTiming, bus: Bus, cases: list[Case], folder: Path) -> list[list[str]]:
    """What is wrong with the circuit in each case."""
    built = simulation(timing, bus)
    write_cases(folder, built.interface, cases)
    return [o.faults for o in run_driver(built, folder, cases=len(cases))]


@pytest.mark.parametrize("setting", others_slow(SETTINGS, ("queues in block RAM",)))
def test_every_handshake_as_predicted(setting: str, tmp_path: Path) -> None:
    timing, bus = SETTINGS[setting]
    drawn = Drawn(timing, bus, 1)
    cases = [drawn.fill(), *(drawn.case(k) for k in range(40))]
    assert sum(len(c.expected["r"]) for c in cases) > 1000
    assert faults(timing, bus, cases, tmp_path) == [[]] * len(cases)


BROKEN = {
    "tRCD": (4, "activate to column (tRCD): 3 cycles instead of 4"),
    "tRP": (4, "(tRP): 3 cycles instead of 4"),
    "tRAS": (7, "activate to precharge (tRAS)"),
    "tRC": (11, "activate to activate (tRC)"),
    "tRRD": (12, "activate to activate of another bank (tRRD)"),
    "tWR": (3, "write to precharge (tWR): 2 cycles instead of 3"),
    "tRFC": (10, "refresh to command (tRFC): 9 cycles instead of 10"),
    "tMRD": (400, "mode to command (tMRD)"),
    "tREFI": (100, "refreshes are late (tREFI)"),
    "wake": (30, "a command before the SDRAM is awake"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_chip_that_is_slower_is_seen(name: str, tmp_path: Path) -> None:
    """The simulated SDRAM tells of each distance that the controller does not keep."""
    value, message = BROKEN[name]
    timing, bus = SETTINGS["16 pins, 64 bits"]
    built, drawn = simulation(timing, bus), Drawn(timing, bus, 2)
    cases = [drawn.fill(), *(drawn.case(k) for k in range(12))]
    write_cases(tmp_path, built.interface, cases)
    done = subprocess.run(
        [built.driver, f"+folder={tmp_path}", f"+cases={len(cases)}", f"+{name}={value}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode
    assert message in done.stderr


@pytest.mark.parametrize("name", ["cas", "rcd", "rp", "wr", "rfc", "refi", "late"])
def test_a_wrong_setting_of_the_model_is_seen(name: str, tmp_path: Path) -> None:
    timing, bus = SETTINGS["16 pins, 64 bits"]
    setting = 2 if name == "cas" else getattr(timing, name) + 1
    drawn = Drawn(replace(timing, **{name: setting}), bus, 3)
    cases = [drawn.fill(), *(drawn.case(k) for k in range(12))]
    found = faults(timing, bus, cases, tmp_path)
    assert any("instead of" in fault or "beat" in fault for each in found for fault in each)


@pytest.mark.slow
@pytest.mark.parametrize(("pins", "word", "mhz"), [(16, 64, 100), (16, 32, 133), (32, 64, 100)])
def test_bursts_of_128_bytes_take_the_pins(pins: int, word: int, mhz: int, tmp_path: Path) -> None:
    """At the times of a chip of speed grade -7."""
    chip = {
        "data_bits": pins, "column_bits": 9 if pins == 16 else 8, "row_bits": 13, "cas": 3,
        "rcd": 21, "rp": 21, "ras": 42, "rc": 63, "wr": 14, "rfc": 63, "mrd": 2, "refi": 7812.5,
        "wake_us": 0.2,  # the first burst comes soon
    }  # fmt: skip
    timing = SdramTiming.at(mhz * 1_000_000, chip)
    bus = Bus(word, burst=1024 // word)
    # One stream, and four of tensors at steps of 16 KiB whose bursts take turns.
    count, longest = 400, bus.burst
    step = 16384 // bus.bytes
    streams = [[k * longest for k in range(count)]]
    streams.append([k % 4 * step + k // 4 * longest for k in range(count)])
    drawn, cases = Drawn(timing, bus, 1), []
    for firsts in streams:
        bursts = [(first, longest) for first in firsts]
        cases += [drawn.made("writes", [], bursts, 0), drawn.made("reads", bursts, [], 0)]
    for one in cases:
        cycles = max(one.pushes["port:r"], one.pushes["port:b"], key=len)
        assert (count - 1) * 128 / ((cycles[-1] - cycles[0]) * pins / 8) > 0.95
    assert faults(timing, bus, cases, tmp_path) == [[]] * len(cases)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(StepError, match="serves buses of 16 to 128 bits, not of 256: give --bus"):
        TIMING.check(256, 1)
    with pytest.raises(
        StepError, match="32 words of 64 bits has 256 bytes, but a row of the SDRAM 128"
    ):
        TIMING.check(64, 32)
    with pytest.raises(StepError, match="cas must be 2 or 3, not 4"):
        replace(TIMING, cas=4)
    with pytest.raises(StepError, match="a refresh every 10 cycles leaves no time for data"):
        replace(TIMING, refi=10)
