"""Inside the simulator: cocotbext-axi on every interface of a wrapped design.

Reads ``case.npz``: what goes in and what is expected, by name.
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
    AxiRam,
    AxiStreamBus,
    AxiStreamFrame,
    AxiStreamSink,
    AxiStreamSource,
)

FOLDER = Path(os.environ["STEPGEN_RUN"])
DONE = 2


def stalls(seed, share):
    """An endless row of pauses."""
    rng = np.random.default_rng(seed)
    while True:
        yield bool(rng.random() < share)


def register(known, name):
    (found,) = (r for r in known["registers"] if r["name"] == name)
    return found["offset"]


@cocotb.test()
@cocotb.parametrize(share=[0, 0.4])
async def two_runs(dut, share):
    logging.getLogger(f"cocotb.{dut._name}").setLevel(logging.WARNING)
    known = json.loads((FOLDER / "wrapped_map.json").read_text())
    with np.load(FOLDER / "case.npz") as file:
        case = {name: file[name] for name in file.files}
    Clock(dut.aclk, 10, "ns").start()
    dut.aresetn.value = 0

    def reset(kind, bus):
        return kind(bus, dut.aclk, dut.aresetn, reset_active_level=False)

    registers = reset(AxiLiteMaster, AxiLiteBus.from_prefix(dut, "s_axi"))
    ram = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.aclk, dut.aresetn, False, size=1 << 16)
    ends = {}
    for stream in known["streams"]:
        enters = stream["direction"] == "in"
        bus = AxiStreamBus.from_prefix(dut, f"{'s' if enters else 'm'}_axis_{stream['signal']}")
        end = (AxiStreamSource if enters else AxiStreamSink)(
            bus, dut.aclk, dut.aresetn, reset_active_level=False, byte_size=8
        )
        end.set_pause_generator(stalls(len(ends), share))
        ends[stream["name"]] = end
    for k, channel in enumerate(
        (ram.write_if.aw_channel, ram.write_if.w_channel, ram.write_if.b_channel,
         ram.read_if.ar_channel, ram.read_if.r_channel)
    ):  # fmt: skip
        channel.set_pause_generator(stalls(100 + k, share))
    await ClockCycles(dut.aclk, 2)
    dut.aresetn.value = 1
    await ClockCycles(dut.aclk, 2)

    for _ in range(2):
        for name, region in known["tensors"].items():
            ram.write(region["base"], case.get(name, np.zeros(region["size"], np.uint8)).tobytes())
        taken = {}
        for stream in known["streams"]:
            if stream["direction"] == "in":
                await send(ends[stream["name"]], stream, case[stream["name"]])
            else:
                taken[stream["name"]] = cocotb.start_soon(received(ends[stream["name"]], stream))
        assert not dut.irq.value
        await registers.write_dword(register(known, "control"), 1)
        await with_timeout(RisingEdge(dut.irq), 1, "ms")
        assert await registers.read_dword(register(known, "status")) == 2
        assert await registers.read_dword(register(known, "cycles")) > 0
        assert dut.irq.value
        for name, task in taken.items():
            came, ends_of = await task
            due = [int(beat) for beat in case[f"{name}/expected"]]
            assert came == due, f"{name}: {came} instead of {due}"
            assert ends_of == case[f"{name}/last"].tolist()
        for name, region in known["tensors"].items():
            if f"{name}/expected" in case:
                assert (
                    ram.read(region["base"], region["size"]) == case[f"{name}/expected"].tobytes()
                )
        await registers.write_dword(register(known, "control"), 2)
        while await registers.read_dword(register(known, "status")):
            pass
        assert not dut.irq.value


async def send(source, stream, payloads):
    """A frame of all beats; TLAST is at its end, which the design does not look at."""
    users, data = [], bytearray()
    lanes = source.byte_lanes
    bits = 2 + stream["stop_bits"]
    for payload in map(int, payloads):
        users += [payload & (1 << bits) - 1] * lanes
        data += (payload >> bits).to_bytes(lanes, "little")
    await source.send(AxiStreamFrame(bytes(data), tuser=users))


async def received(sink, stream):
    """Payloads of all beats, and the numbers of those with TLAST."""
    beats, lasts = [], []
    bits, lanes = 2 + stream["stop_bits"], sink.byte_lanes
    mask = (1 << stream["data_bits"]) - 1
    while not beats or beats[-1] & 3 != DONE:
        frame = await sink.recv(compact=False)
        for at in range(0, len(frame.tdata), lanes):
            data = int.from_bytes(frame.tdata[at : at + lanes], "little")
            assert data <= mask
            beats.append(data << bits | frame.tuser[at])
        lasts.append(len(beats) - 1)
    return beats, lasts
