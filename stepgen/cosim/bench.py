"""The cocotb test bench of a run folder: clock, control registers, streams, memory.

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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, select

from stepgen.cosim.buses import JudgeMemory, JudgeRegisters
from stepgen.cosim.case import Case, load_case, settings, write_hex
from stepgen.cosim.scoreboard import Outcome, read_outcome, register_addresses
from stepgen.drivers.axi import Registers
from stepgen.drivers.clocked import START_LIMIT, Clocked
from stepgen.drivers.idle import FOUR_STATE
from stepgen.drivers.stalls import Stalls
from stepgen.drivers.streams import Sink, Source
from stepgen.emit.interface import Interface, StreamPort
from stepgen.hw.design.registers import CONTROL, RUNNING, SOFT_RESET, START, STATUS, STOPPING
from stepgen.hw.design.stages import RESET_LAG

PERIOD_NS = 10
DRAIN = 64


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
        self.case = case = load_case(folder)
        sources = [_source(dut, port, case) for port in interface.sources]
        self._sinks = {port.name: _sink(dut, port, case) for port in interface.sinks}
        self._streams: list[Source | Sink] = [*sources, *self._sinks.values()]
        self._status = "done"
        self._ram: JudgeMemory | None = None
        self._clocked: Clocked | None = None

    async def run(self) -> Outcome:
        """Reset, load, start, wait for the end, read everything out and check it."""
        if FOUR_STATE:
            ended, _ = await select(self._run(), RisingEdge(self.dut.unknown))
            if ended:
                self._status = "unknown"
                self._write()
        else:
            await self._run()
        if self._clocked is not None:
            self._clocked.cancel()
        return read_outcome(self.folder, self.interface)

    async def _run(self) -> None:
        dut, interface, case = self.dut, self.interface, self.case
        registers = await self._reset()
        self._clocked = clocked = Clocked(
            dut,
            self._streams,
            START_LIMIT + len(interface.channels),
            None if interface.control or not self._sinks else self._ended,
        )
        self._refusing(case.refusals.earlier)
        if registers is not None:
            for cycle in case.aborts:
                status, _ = await clocked.play(self._start(registers), cycle)
                if status != "done":
                    await self.soft_reset(registers)
                await self._load()
        self._refusing(not case.refusals.earlier)
        begin = time.monotonic()
        self._status, cycles = await clocked.play(self._start(registers), case.limit)
        await FallingEdge(dut.clk)
        seconds = time.monotonic() - begin
        if registers is None:
            for _ in range(DRAIN):
                await FallingEdge(dut.clk)

        values = []
        if registers is not None:
            values = [await registers.read(a) for a in register_addresses(interface)]
        clocked.cancel()
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
        for port in interface.sinks:
            beats = self._sinks[port.name].beats
            rows = b"".join(beat.to_bytes(port.payload_bytes, "little") for beat in beats)
            (self.folder / f"out_{port.name}.bin").write_bytes(rows)
        result = {
            "status": self._status,
            "cycles": cycles,
            "bus_error": error,
            "seconds": seconds,
        }
        (self.folder / "result.json").write_text(json.dumps(result), encoding="utf-8")

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

    async def _start(self, registers: Registers | JudgeRegisters | None) -> None:
        """Start a run."""
        dut = self.dut
        if registers is not None:
            await registers.write(CONTROL.offset, START.mask)
            return
        await FallingEdge(dut.clk)
        dut.go.value = 1
        await FallingEdge(dut.clk)
        dut.go.value = 0

    def _ended(self) -> bool:
        """Whether all output streams are complete."""
        return all(sink.ended for sink in self._sinks.values())

    async def _load(self) -> None:
        """Initialize memory and streams before a run."""
        for stream in self._streams:
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
                JudgeRegisters(dut)
                if case.judge
                else Registers(dut, START_LIMIT + len(interface.channels))
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
        for _ in range(1 + RESET_LAG):  # parts of a circuit may leave their resets later
            await FallingEdge(dut.clk)
        return registers


def _stalls(port: StreamPort, case: Case) -> Stalls:
    return Stalls(*case.stalls.of(port.name), case.stalls.late.get(port.name, 0))


def _source(dut: Any, port: StreamPort, case: Case) -> Source:
    beats = [int.from_bytes(row.tobytes(), "little") for row in case.sources[port.name]]
    early = port.name in case.early
    return Source(dut, port.signal, beats, _stalls(port, case), early=early)


def _sink(dut: Any, port: StreamPort, case: Case) -> Sink:
    words = len(case.expected.get(port.name, ())) if port.raw else None
    # Padding may be X, and is not compared; monitors report an X elsewhere.
    padded = bool(port.tail)
    return Sink(dut, port.signal, _stalls(port, case), words=words, padded=padded)
