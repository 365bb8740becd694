"""Inside the simulator: the host of a system on chip, which loads, starts, computes and fetches.

Reads ``case.npz``: what goes in and what is expected, by name. While the design runs, the host
moves data of its own through the same memory.
"""

import json
import logging
import os
from pathlib import Path

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import (
    AxiBus,
    AxiLiteBus,
    AxiLiteMaster,
    AxiMaster,
    AxiResp,
    AxiStreamBus,
    AxiStreamSink,
    AxiStreamSource,
)
from wrapped_axi import received, register, send, stalls

FOLDER = Path(os.environ["STEPGEN_RUN"])
REGISTERS = 0x4000_0000
OWN, PART = 0xC000, 0x200
"""Where memory is the host's own, and how many bytes of it each of its threads has."""


@cocotb.test()
@cocotb.parametrize(stall=[0, 60, 150])
async def three_runs(dut, stall):
    logging.getLogger(f"cocotb.{dut._name}").setLevel(logging.WARNING)
    (path,) = FOLDER.glob("*_map.json")
    known = json.loads(path.read_text())
    with np.load(FOLDER / "case.npz") as file:
        case = {name: file[name] for name in file.files}
    assert all(t["base"] + t["size"] <= OWN for t in known["tensors"].values())
    Clock(dut.clk, 10, "ns").start()
    dut.resetn.value, dut.seed.value, dut.stall.value = 0, 77 + stall, stall

    def reset(kind, bus):
        return kind(bus, dut.clk, dut.resetn, reset_active_level=False)

    registers = reset(AxiLiteMaster, AxiLiteBus.from_prefix(dut, "regs"))
    host = reset(AxiMaster, AxiBus.from_prefix(dut, "host"))
    ends = {}
    for stream in known["streams"]:
        enters = stream["direction"] == "in"
        bus = AxiStreamBus.from_prefix(dut, f"{'s' if enters else 'm'}_axis_{stream['signal']}")
        end = (AxiStreamSource if enters else AxiStreamSink)(
            bus, dut.clk, dut.resetn, reset_active_level=False, byte_size=8
        )
        end.set_pause_generator(stalls(len(ends), stall / 256))
        ends[stream["name"]] = end
    master = {**vars(host.write_if), **vars(host.read_if)}
    for k, channel in enumerate(v for n, v in master.items() if n.endswith("_channel")):
        channel.set_pause_generator(stalls(10 + k, stall / 256))
    await ClockCycles(dut.clk, 2)
    dut.resetn.value = 1
    await ClockCycles(dut.clk, 2)

    def at(name):
        return REGISTERS + register(known, name)

    moved = 0
    for run in range(3):
        for name, tensor in known["tensors"].items():
            await host.write(tensor["base"], case[f"{name}/before"].tobytes())
        threads = [Traffic(host, part, run) for part in range(3)]
        for thread in threads:
            await thread.fill()
        busy = [cocotb.start_soon(thread.until(dut.irq)) for thread in threads]
        taken = {}
        for stream in known["streams"]:
            name = stream["name"]
            if stream["direction"] == "in":
                await send(ends[name], stream, case[name])
            else:
                taken[name] = cocotb.start_soon(received(ends[name], stream))
        await registers.write_dword(at("control"), 1)
        await with_timeout(RisingEdge(dut.irq), 200, "us")
        for task in busy:
            await task
        assert await registers.read_dword(at("status")) == 2
        words = await registers.read_dword(at("read_beats"))
        assert words > 0
        for name, tensor in known["tensors"].items():
            found = await host.read(tensor["base"], tensor["size"])
            assert found.data == case[f"{name}/after"].tobytes(), f"run {run}: {name}"
        moved += sum(thread.moved for thread in threads)
        for name, task in taken.items():
            came, ends_of = await task
            assert came == [int(beat) for beat in case[f"{name}/expected"]], name
            assert ends_of == case[f"{name}/last"].tolist()
        for address in (REGISTERS - 4, REGISTERS + (1 << 20)):
            assert (await registers.read(address, 4)).resp == AxiResp.DECERR
            assert (await registers.write(address, bytes(4))).resp == AxiResp.DECERR
        assert not dut.broken.value
        await registers.write_dword(at("control"), 2)
        while await registers.read_dword(at("status")):
            pass
        assert not dut.irq.value
    found = moved, int(dut.contended.value), int(dut.overtaken.value)
    cocotb.log.info("%d transfers of the host, %d cycles contended, %d beats overtaken", *found)
    assert min(found) > 0


class Traffic:
    """Writes and reads a part of the host's own memory."""

    def __init__(self, host, part, run):
        self.host, self.base = host, OWN + PART * part
        self.rng = np.random.default_rng([part, run])
        self.there = bytearray(self.rng.bytes(PART))
        self.moved = 0

    async def fill(self):
        await self.host.write(self.base, bytes(self.there))

    async def until(self, over):
        """Go on until a run is over; what is read is what was written."""
        while not over.value:
            first = int(self.rng.integers(PART))
            last = int(self.rng.integers(first, min(first + 40, PART))) + 1
            if self.rng.random() < 0.5:
                self.there[first:last] = self.rng.bytes(last - first)
                await self.host.write(self.base + first, bytes(self.there[first:last]))
            else:
                found = await self.host.read(self.base + first, last - first)
                assert found.data == bytes(self.there[first:last])
            self.moved += 1
        assert (await self.host.read(self.base, PART)).data == bytes(self.there)
