"""The independent models of cocotbext-axi at the buses of a design."""

from __future__ import annotations

from typing import Any

from stepgen.emit.interface import MemoryPort
from stepgen.emit.windows import Windows


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
