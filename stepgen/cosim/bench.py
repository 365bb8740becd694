"""Parts of a rendered cocotb test bench: clock, control registers, streams, memory.

Runs inside the simulator's process. Streams are sampled and driven at the falling edge, in the
middle of the cycle: the design's registers have settled by then, and every `valid`, `ready` and
payload of a design comes from registers, so the sampled values are those at the next rising
edge. (A combinational path from an input stream to an output stream would be sampled too early.)

Idle payloads and register buses carry random bits, different ones in every cycle, so that a
design which depends on them fails. (cocotb seeds `random` for each test.) On a four-state simulator
they are X.
"""

from __future__ import annotations

import json
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.task import Task
from cocotb.triggers import Event, FallingEdge, RisingEdge, select

from ..emit.interface import Interface, StreamPort
from ..hw.design.registers import CONTROL, RUNNING, SOFT_RESET, START, STATUS, STOPPING
from ..ir.stalls import stall_mask
from ..ir.wire import DONE, KIND_MASK
from .buses import FOUR_STATE, START_LIMIT, JudgeMemory, JudgeRegisters, Registers, idle
from .case import Case, load_case, settings, write_hex
from .scoreboard import Outcome, read_outcome, register_addresses

PERIOD_NS = 10
DRAIN = 64
_BLOCK = 4096


class _Stream(ABC):
    """Common to sources and sinks: signals, and the cycles that stall."""

    def __init__(self, dut: Any, port: StreamPort, case: Case):
        self.port = port
        self.valid = getattr(dut, f"{port.signal}_valid")
        self.ready = getattr(dut, f"{port.signal}_ready")
        self.payload = getattr(dut, f"{port.signal}_payload")
        self._key, self._threshold = case.stalls.of(port.name)
        self._late = case.stalls.late.get(port.name, 0)
        self._start, self._mask = -_BLOCK, b""

    @abstractmethod
    def rewind(self) -> None:
        """Start over, for the next run."""

    def stalled(self, cycle: int) -> bool:
        if cycle < self._late:
            return True
        if not self._threshold:
            return False
        if not 0 <= cycle - self._start < _BLOCK:
            self._start = cycle
            self._mask = stall_mask(self._key, self._threshold, cycle, _BLOCK).tobytes()
        return bool(self._mask[cycle - self._start])


class Source(_Stream):
    """Offers beats: the next from the first cycle on that is not stalled, until it is accepted.

    An early source offers them repeatedly, and before and after a run too.
    """

    def __init__(self, dut: Any, port: StreamPort, case: Case):
        super().__init__(dut, port, case)
        self._beats = [int.from_bytes(row.tobytes(), "little") for row in case.sources[port.name]]
        self._early = port.name in case.early
        self.ended = True
        self.rewind()

    def rewind(self) -> None:
        """Restart."""
        self._next = 0
        self._offered = False
        self.rest()

    def _offer(self) -> None:
        self.payload.value = self._beats[self._next % len(self._beats)]
        self.valid.value = 1
        self._offered = True

    def step(self, cycle: int) -> None:
        """Drive the stream in a running cycle."""
        if not self._offered:
            left = self._beats if self._early else self._beats[self._next : self._next + 1]
            if not left or self.stalled(cycle):
                self._idle()
                return
            self._offer()
        if self.ready.value:
            self._offered = False
            self._next += 1

    def rest(self) -> None:
        """Drive the stream while the design does not run."""
        if self._early and self._beats:
            self._offer()
        else:
            self._idle()

    def _idle(self) -> None:
        self.valid.value = 0
        self.payload.value = idle(self.port.width)


class Sink(_Stream):
    """Accepts a beat in every cycle that is not stalled."""

    def __init__(self, dut: Any, port: StreamPort, case: Case):
        super().__init__(dut, port, case)
        self._expected = len(case.expected.get(port.name, ()))
        self._ready = False
        self.rewind()

    def rewind(self) -> None:
        """Restart."""
        self.beats = bytearray()
        self.moved = 0
        self.ended = self.port.raw and not self._expected
        self.rest()

    def step(self, cycle: int) -> None:
        """Drive the stream in a running cycle."""
        ready = not self.stalled(cycle)
        if ready != self._ready:
            self.ready.value = int(ready)
            self._ready = ready
        if ready and self.valid.value:
            # Padding may be X, and is not compared; an X elsewhere is told by those who watch.
            seen = self.payload.value
            value = int(seen.resolve("zeros") if self.port.tail else seen)
            self.beats += value.to_bytes(self.port.payload_bytes, "little")
            self.moved += 1
            if self.port.raw:
                self.ended = self.moved >= self._expected
            elif value & KIND_MASK == DONE:
                self.ended = True

    def rest(self) -> None:
        """Accept nothing: the design does not run."""
        self.ready.value = 0
        self._ready = False


class Bench:
    """One run of the design in the simulator.

    Parameters
    ----------
    dut : handle
        Of the top module ``stepgen_bench``.
    interface : Interface
    folder : Path
        Folder of the case.
    """

    def __init__(self, dut: Any, interface: Interface, folder: Path):
        self.dut = dut
        self.interface = interface
        self.folder = folder
        self.case = load_case(folder)
        self.sources: list[Source] = []
        self.sinks: list[Sink] = []
        self._limit = 0
        self._status = "done"
        self._over = Event()
        self._cycle = 0
        self._ram: JudgeMemory | None = None
        self._streams: Task[None] | None = None

    def source(self, name: str) -> None:
        """Drive an input stream of the design."""
        port = next(p for p in self.interface.sources if p.name == name)
        self.sources.append(Source(self.dut, port, self.case))

    def sink(self, name: str) -> None:
        """Accept an output stream of the design."""
        port = next(p for p in self.interface.sinks if p.name == name)
        self.sinks.append(Sink(self.dut, port, self.case))

    async def run(self) -> Outcome:
        """Reset, load, start, wait for the end, read everything out and check it."""
        if FOUR_STATE:
            ended, _ = await select(self._run(), RisingEdge(self.dut.unknown))
            if ended:
                self._status = "unknown"
                self._write()
        else:
            await self._run()
        if self._streams is not None:
            self._streams.cancel()
        return read_outcome(self.folder, self.interface)

    async def _run(self) -> None:
        dut, interface, case = self.dut, self.interface, self.case
        registers = await self._reset()
        self._streams = cocotb.start_soon(self._drive())
        self._refusing(case.refusals.earlier)
        if registers is not None:
            for cycle in case.aborts:
                await self._play(registers, cycle)
                if self._status != "done":
                    await self.soft_reset(registers)
                await self._load()
        self._refusing(not case.refusals.earlier)
        begin = time.monotonic()
        await self._play(registers, case.limit)
        await FallingEdge(dut.clk)
        seconds = time.monotonic() - begin
        cycles = int(dut.cycle.value)
        if registers is None or self._status == "hang":
            cycles = self._cycle
        if registers is None:
            for _ in range(DRAIN):
                await FallingEdge(dut.clk)

        values = []
        if registers is not None:
            values = [await registers.read(a) for a in register_addresses(interface)]
        self._streams.cancel()
        await FallingEdge(dut.clk)
        error = bool(int(dut.error.value))
        dut.dump.value = 1
        await FallingEdge(dut.clk)
        dut.dump.value = 0
        await FallingEdge(dut.clk)

        self._write(cycles, error, seconds, values)

    def _write(
        self, cycles: int = 0, error: bool = False, seconds: float = 0.0, values: Sequence[int] = ()
    ) -> None:
        case, interface = self.case, self.interface
        if self._ram is not None and case.memory is not None and interface.memory is not None:
            image = np.array(self._ram.image[: case.memory.size], np.uint8)
            write_hex(self.folder / "memory_after.hex", image, interface.memory.word)
        np.array(values, np.uint32).tofile(self.folder / "registers.bin")
        for sink in self.sinks:
            (self.folder / f"out_{sink.port.name}.bin").write_bytes(sink.beats)
        result = {
            "status": self._status,
            "cycles": cycles,
            "bus_error": error,
            "seconds": seconds,
        }
        (self.folder / "result.json").write_text(json.dumps(result))

    def _refusing(self, now: bool) -> None:
        """Whether the memory of the next run answers with the errors of the case."""
        if self.interface.memory is not None:
            self.dut.refusing.value = int(now)

    async def soft_reset(self, registers: Registers | JudgeRegisters) -> None:
        """Abort a run: afterwards the design is in its reset state, and its bus is idle."""
        await registers.write(CONTROL.offset, SOFT_RESET.mask)
        for _ in range(self.case.limit):
            if not await registers.read(STATUS.offset) & (RUNNING.mask | STOPPING.mask):
                return
        raise AssertionError("a soft reset did not end")

    async def _play(self, registers: Registers | JudgeRegisters | None, limit: int) -> None:
        """Start a run and wait for its end, or for its cycle `limit`."""
        dut = self.dut
        self._limit, self._status = limit, "done"
        self._over.clear()
        if registers is not None:
            await registers.write(CONTROL.offset, START.mask)
        else:
            await FallingEdge(dut.clk)
            dut.go.value = 1
            await FallingEdge(dut.clk)
            dut.go.value = 0
        await self._over.wait()

    async def _load(self) -> None:
        """Initialize memory and streams before a run."""
        for stream in (*self.sources, *self.sinks):
            stream.rewind()
        if self._ram is not None and self.case.memory is not None:
            self._ram.image[: self.case.memory.size] = self.case.memory.tobytes()
        await FallingEdge(self.dut.clk)
        self.dut.load.value = 1
        await FallingEdge(self.dut.clk)
        self.dut.load.value = 0

    async def _reset(self) -> Registers | JudgeRegisters | None:
        dut, interface, case = self.dut, self.interface, self.case
        Clock(dut.clk, PERIOD_NS, "ns").start()
        judge = case.judge and interface.memory is not None
        dut.rst.value, dut.load.value, dut.dump.value = 1, 0, 0
        dut.case_number.value = int(self.folder.name)
        if interface.memory is not None:
            dut.judge.value = int(judge)
            dut.refusing.value = 0
        for name, value in settings(case, interface).items():
            getattr(dut, name).value = value
        for _ in range(2):  # what the reset defines is defined when others look at it
            await FallingEdge(dut.clk)
        registers: Registers | JudgeRegisters | None = None
        if interface.control:
            registers = (
                JudgeRegisters(dut) if case.judge else Registers(dut, len(interface.channels))
            )
        else:
            dut.go.value = 0
        if judge and interface.memory is not None:
            from cocotbext.axi import AxiBus, AxiSlave  # type: ignore[import-untyped]

            logging.getLogger("cocotb.stepgen_bench").setLevel(logging.WARNING)
            self._ram = JudgeMemory(interface.memory)
            AxiSlave(AxiBus.from_prefix(dut, "judge"), dut.clk, dut.rst, target=self._ram)
        await FallingEdge(dut.clk)
        await self._load()
        await FallingEdge(dut.clk)
        dut.rst.value = 0
        await FallingEdge(dut.clk)
        return registers

    async def _drive(self) -> None:
        """Drive all streams, cycle by cycle; abort a run that does not start or does not end."""
        dut = self.dut
        streams: list[Source | Sink] = [*self.sources, *self.sinks]
        running, tick = dut.running, FallingEdge(dut.clk)
        started, waited = False, 0
        cycle = -1
        while True:
            await tick
            if not running.value:
                for stream in streams:
                    stream.rest()
                if started:
                    started = False
                    self._over.set()
                elif not self._over.is_set():
                    waited += 1
                    if waited == START_LIMIT + len(self.interface.channels):
                        self._status = "not started"
                        self._over.set()
                continue
            if not started:
                started, waited = True, 0
                cycle = int(dut.cycle.value) - 1
            cycle += 1
            for stream in streams:
                stream.step(cycle)
            if self._over.is_set():
                continue
            if not self.interface.control and self.sinks and all(s.ended for s in self.sinks):
                self._cycle = cycle + 1
                self._over.set()
            elif cycle >= self._limit:
                self._cycle = cycle
                self._status = "hang"
                self._over.set()
