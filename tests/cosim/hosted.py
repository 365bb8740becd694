"""Inside the simulator: the C library of a design, compiled, drives it."""

import ctypes
import os
from pathlib import Path

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.task import bridge, resume
from cocotb.triggers import ClockCycles

from stepgen.drivers.axi import Memory, Registers
from stepgen.drivers.clocked import Clocked

FOLDER = Path(os.environ["STEPGEN_RUN"])
READ = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32)
WRITE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)
MOVE = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint8), ctypes.c_size_t
)


class Access(ctypes.Structure):
    _fields_ = (("read", READ), ("write", WRITE), ("get", MOVE), ("put", MOVE),
                ("context", ctypes.c_void_p))  # fmt: skip


class Counters(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint32) for name in ("busy", "starved", "full"))


def access(registers, memory) -> Access:
    """What the library calls: the simulation runs on while a register answers."""
    read, write = resume(registers.read), resume(registers.write)

    def get(_, address, data, size):
        for i, byte in enumerate(memory.read(address, size)):
            data[i] = byte

    def put(_, address, data, size):
        memory.write(address, bytes(data[:size]))

    return Access(
        READ(lambda _, address: read(address)),
        WRITE(lambda _, address, value: write(address, value)),
        MOVE(get),
        MOVE(put),
        None,
    )


@cocotb.test()
async def the_host(dut):
    with np.load(FOLDER / "case.npz") as file:
        case = {name: file[name] for name in file.files}
    library = ctypes.CDLL(str(FOLDER / "host.so"))
    library.matmul_cycles.restype = ctypes.c_uint64
    library.matmul_count.restype = Counters
    names = (ctypes.c_char_p * len(case["counters"])).in_dll(library, "matmul_channels")
    assert [name.decode() for name in names] == case["channels"].tolist()

    Clock(dut.clk, 10, "ns").start()
    memory = Memory(dut, [(0, 1 << 16)])
    registers = Registers(dut, 2000)
    dut.rst.value = 1
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    Clocked(dut, [memory])

    @bridge
    def host():
        """As a program of the user would, in C."""
        design = access(registers, memory)
        at = ctypes.byref(design)
        most = ctypes.c_uint64(10_000)
        c = np.zeros((4, 8), np.int32)
        for run in range(3):
            for k, name in enumerate("ab"):
                matrix = np.ascontiguousarray(case[name])
                library.matmul_load(at, k, matrix.ctypes.data_as(ctypes.c_void_p))
            assert library.matmul_ended(at) == -1
            library.matmul_start(at)
            if run == 1:
                assert library.matmul_abort(at, most) == 0
                continue
            assert library.matmul_wait(at, ctypes.c_uint64(0)) == -1
            assert library.matmul_wait(at, most) == 0
            library.matmul_fetch(at, 2, c.ctypes.data_as(ctypes.c_void_p))
            assert np.array_equal(c, case["c"])
            assert library.matmul_cycles(at) == case["cycles"]
            words = library.matmul_words_read(at), library.matmul_words_written(at)
            assert words == tuple(case["words"].tolist())
            for n, due in enumerate(case["counters"].tolist()):
                seen = library.matmul_count(at, n)
                assert [seen.busy, seen.starved, seen.full] == due
            library.matmul_abort(at, most)

    await host()
