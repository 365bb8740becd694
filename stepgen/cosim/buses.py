"""Parts of a cocotb test bench at the buses of a design, and what idle wires carry."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotb.types import LogicArray

from ..emit.interface import MemoryPort
from ..emit.windows import Windows

START_LIMIT = 1000
FOUR_STATE = cocotb.SIM_NAME != "Verilator"


def idle(width: int) -> int | LogicArray:
    """What an idle wire carries."""
    return LogicArray("X" * width) if FOUR_STATE else random.getrandbits(width)


def junk(*signals: Any) -> None:
    """Put junk on idle wires."""
    for signal in signals:
        signal.value = idle(len(signal))


class Registers:
    """A plain AXI4-Lite master on the control registers.

    After a run the registers of a design stall until the counters of its channels are valid.
    """

    def __init__(self, dut: Any, channels: int):
        self._dut, self._limit = dut, START_LIMIT + channels
        for name in ("awvalid", "wvalid", "bready", "arvalid", "rready"):
            getattr(dut, f"csr_{name}").value = 0
        junk(dut.csr_awaddr, dut.csr_wdata, dut.csr_wstrb, dut.csr_araddr)

    async def write(self, address: int, value: int) -> None:
        """Write one register."""
        dut = self._dut
        dut.csr_awaddr.value, dut.csr_wdata.value, dut.csr_wstrb.value = address, value, 15
        dut.csr_awvalid.value = dut.csr_wvalid.value = dut.csr_bready.value = 1
        address_waits = data_waits = True
        for _ in range(self._limit):
            await RisingEdge(dut.clk)
            if address_waits and dut.csr_awready.value:
                dut.csr_awvalid.value, address_waits = 0, False
                junk(dut.csr_awaddr)
            if data_waits and dut.csr_wready.value:
                dut.csr_wvalid.value, data_waits = 0, False
                junk(dut.csr_wdata, dut.csr_wstrb)
            if dut.csr_bvalid.value:
                dut.csr_bready.value = 0
                return
        raise AssertionError(f"the control registers did not answer a write to 0x{address:x}")

    async def read(self, address: int) -> int:
        """Read one register."""
        dut = self._dut
        dut.csr_araddr.value = address
        dut.csr_arvalid.value = dut.csr_rready.value = 1
        for _ in range(self._limit):
            await RisingEdge(dut.clk)
            if dut.csr_arready.value:
                dut.csr_arvalid.value = 0
                junk(dut.csr_araddr)
            if dut.csr_rvalid.value:
                dut.csr_rready.value = 0
                return int(dut.csr_rdata.value)
        raise AssertionError(f"the control registers did not answer a read of 0x{address:x}")


class JudgeRegisters:
    """The independent AXI4-Lite master, of cocotbext-axi, on the control registers."""

    def __init__(self, dut: Any):
        from cocotbext.axi import (  # type: ignore[import-untyped]
            AxiLiteBus,
            AxiLiteMaster,
        )

        self._master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "csr"), dut.clk, dut.rst)

    async def write(self, address: int, value: int) -> None:
        """Write one register."""
        await self._master.write_dword(address, value)

    async def read(self, address: int) -> int:
        """Read one register."""
        return int(await self._master.read_dword(address))


class JudgeMemory:
    """Memory of the independent AXI slave, of cocotbext-axi: the windows."""

    def __init__(self, port: MemoryPort):
        self._windows = Windows(port.windows)
        self.image = bytearray(port.size)

    def _place(self, address: int, length: int) -> int:
        place = self._windows.place(address, length)
        if place is None:
            raise ValueError(f"{length} bytes from 0x{address:x} on lie in no tensor")
        return place

    async def read(self, address: int, length: int) -> bytes:
        """Bytes from an address on."""
        place = self._place(address, length)
        return bytes(self.image[place : place + length])

    async def write(self, address: int, data: bytes) -> None:
        """Put bytes from an address on."""
        place = self._place(address, len(data))
        self.image[place : place + len(data)] = data
