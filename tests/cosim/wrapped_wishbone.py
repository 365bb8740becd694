"""Inside the simulator: Wishbone models with all rules checked, on a wrapped design."""

import json
import os
from pathlib import Path

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge, with_timeout

FOLDER = Path(os.environ["STEPGEN_RUN"])
DONE = 2


def register(known, name):
    (found,) = (r for r in known["registers"] if r["name"] == name)
    return found["offset"]


class Master:
    """Classic cycles on the registers."""

    def __init__(self, dut):
        self.dut = dut
        dut.s_wb_cyc.value = dut.s_wb_stb.value = 0

    async def access(self, address, value=None):
        dut = self.dut
        dut.s_wb_adr.value, dut.s_wb_we.value = address // 4, int(value is not None)
        dut.s_wb_dat_w.value, dut.s_wb_sel.value = value or 0, 15
        dut.s_wb_cyc.value = dut.s_wb_stb.value = 1
        while True:
            await RisingEdge(dut.clk)
            if dut.s_wb_ack.value:
                break
        dut.s_wb_cyc.value = dut.s_wb_stb.value = 0
        return None if value is not None else int(dut.s_wb_dat_r.value)


async def slave(dut, memory, share, refused):
    """A memory that answers late at times; requests must stay, and stb needs cyc."""
    rng = np.random.default_rng(1)
    word = len(dut.m_wb_dat_w) // 8
    before, count = None, 0
    dut.m_wb_ack.value = dut.m_wb_err.value = 0
    while True:
        await RisingEdge(dut.clk)
        answered = dut.m_wb_ack.value == 1 or dut.m_wb_err.value == 1
        await ReadOnly()
        stb = dut.m_wb_stb.value == 1
        assert not stb or dut.m_wb_cyc.value == 1
        request = None
        if stb:
            request = [int(s.value) for s in (dut.m_wb_we, dut.m_wb_adr, dut.m_wb_sel)]
            request.append(int(dut.m_wb_dat_w.value) if request[0] else 0)
        assert before is None or answered or request == before, "the request changed"
        before = request
        await RisingEdge(dut.clk)
        dut.m_wb_ack.value = dut.m_wb_err.value = 0
        if request is None or rng.random() < share:
            dut.m_wb_dat_r.value = int(rng.integers(1 << 31))
            continue
        writes, address, sel, data = request
        at = address * word
        count += 1
        if writes:
            for i, byte in enumerate(data.to_bytes(word, "little")):
                if sel >> i & 1:
                    memory[at + i] = byte
        else:
            assert sel == (1 << word) - 1
            dut.m_wb_dat_r.value = int.from_bytes(memory[at : at + word], "little")
        (dut.m_wb_err if count == refused else dut.m_wb_ack).value = 1
        await RisingEdge(dut.clk)
        dut.m_wb_ack.value = dut.m_wb_err.value = 0
        before = None


async def send(dut, stream, payloads, share, seed):
    rng = np.random.default_rng(seed)
    signals = {f: getattr(dut, f"{stream['signal']}_{f}", None) for f in ("data", "stop", "kind")}
    valid, ready = (getattr(dut, f"{stream['signal']}_{f}") for f in ("valid", "ready"))
    for payload in map(int, payloads):
        while rng.random() < share:
            await RisingEdge(dut.clk)
        signals["kind"].value = payload & 3
        if signals["stop"] is not None:
            signals["stop"].value = payload >> 2 & (1 << stream["stop_bits"]) - 1
        signals["data"].value = payload >> 2 + stream["stop_bits"]
        valid.value = 1
        await RisingEdge(dut.clk)
        while not ready.value:
            await RisingEdge(dut.clk)
        valid.value = 0


async def received(dut, stream, share, seed):
    rng = np.random.default_rng(seed)
    of = {f: getattr(dut, f"{stream['signal']}_{f}", None) for f in
          ("valid", "ready", "last", "data", "stop", "kind")}  # fmt: skip
    beats, lasts = [], []
    while not beats or beats[-1] & 3 != DONE:
        of["ready"].value = int(rng.random() >= share)
        await RisingEdge(dut.clk)
        if of["valid"].value and of["ready"].value:
            stop = 0 if of["stop"] is None else int(of["stop"].value)
            data = int(of["data"].value) << stream["stop_bits"] | stop
            if of["last"].value:
                lasts.append(len(beats))
            beats.append(data << 2 | int(of["kind"].value))
    of["ready"].value = 0
    return beats, lasts


@cocotb.test()
@cocotb.parametrize(share=[0, 0.4], refused=[0, 1])
async def two_runs(dut, share, refused):
    known = json.loads((FOLDER / "wrapped_map.json").read_text())
    with np.load(FOLDER / "case.npz") as file:
        case = {name: file[name] for name in file.files}
    Clock(dut.clk, 10, "ns").start()
    dut.rst.value = 1
    for stream in known["streams"]:
        enters = stream["direction"] == "in"
        getattr(dut, f"{stream['signal']}_{'valid' if enters else 'ready'}").value = 0
    master, memory = Master(dut), bytearray(1 << 16)
    cocotb.start_soon(slave(dut, memory, share, refused))
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    for run in range(2):
        for name, region in known["tensors"].items():
            content = case.get(name, np.zeros(region["size"], np.uint8)).tobytes()
            memory[region["base"] : region["base"] + len(content)] = content
        assert not dut.irq.value
        await master.access(register(known, "control"), 1)
        taken = {}
        for k, stream in enumerate(known["streams"]):
            if stream["direction"] == "in":
                cocotb.start_soon(send(dut, stream, case[stream["name"]], share, k))
            else:
                taken[stream["name"]] = cocotb.start_soon(received(dut, stream, share, k))
        await with_timeout(RisingEdge(dut.irq), 1, "ms")
        status = await master.access(register(known, "status"))
        assert status == (6 if refused and run == 0 else 2), status
        for name, task in taken.items():
            beats, lasts = await task
            assert beats == [int(beat) for beat in case[f"{name}/expected"]]
            assert lasts == case[f"{name}/last"].tolist()
        for name, region in known["tensors"].items():
            if f"{name}/expected" in case:
                after = bytes(memory[region["base"] : region["base"] + region["size"]])
                assert after == case[f"{name}/expected"].tobytes()
        await master.access(register(known, "control"), 2)
        while await master.access(register(known, "status")) & 9:  # running or stopping
            pass
        assert not dut.irq.value
