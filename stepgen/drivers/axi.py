"""Drivers of the buses of a design: a master of its registers, and the memory behind its port.

The memory answers in cycles that are defined exactly, so the cycles of a run can be compared with
those that were predicted. Like streams it acts at the falling edge of the clock, and each of its
signals depends on what moved in earlier cycles and on the cycle alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cocotb.triggers import RisingEdge

from .idle import junk
from .memory_timing import CHANNELS, Burst, OpenBursts, Timing
from .stalls import Stalls

OKAY, INCR = 0, 1
_ANSWERS = {"r": ("rdata", "rresp", "rlast"), "b": ("bresp",)}
"""By channel of answers, the signals beside its handshake."""


class Registers:
    """A plain AXI4-Lite master on the control registers.

    Parameters
    ----------
    dut : handle
    limit : int
        Cycles in which an answer must come. After a run the registers of a design stall until the
        counters of its channels are valid.
    prefix : str
        What the names of its signals begin with.
    """

    def __init__(self, dut: Any, limit: int, prefix: str = "csr_"):
        self._dut, self._limit, self._prefix = dut, limit, prefix
        for name in ("awvalid", "wvalid", "bready", "arvalid", "rready"):
            self._of(name).value = 0
        junk(*map(self._of, ("awaddr", "wdata", "wstrb", "araddr")))

    def _of(self, name: str) -> Any:
        return getattr(self._dut, f"{self._prefix}{name}")

    async def write(self, address: int, value: int) -> None:
        """Write one register."""
        self._of("awaddr").value, self._of("wdata").value = address, value
        self._of("wstrb").value = 15
        for name in ("awvalid", "wvalid", "bready"):
            self._of(name).value = 1
        address_waits = data_waits = True
        for _ in range(self._limit):
            await RisingEdge(self._dut.clk)
            if address_waits and self._of("awready").value:
                self._of("awvalid").value, address_waits = 0, False
                junk(self._of("awaddr"))
            if data_waits and self._of("wready").value:
                self._of("wvalid").value, data_waits = 0, False
                junk(self._of("wdata"), self._of("wstrb"))
            if self._of("bvalid").value:
                self._of("bready").value = 0
                return
        raise AssertionError(f"the registers did not answer a write to {address:#x}")

    async def read(self, address: int) -> int:
        """Read one register."""
        self._of("araddr").value = address
        self._of("arvalid").value = self._of("rready").value = 1
        for _ in range(self._limit):
            await RisingEdge(self._dut.clk)
            if self._of("arready").value:
                self._of("arvalid").value = 0
                junk(self._of("araddr"))
            if self._of("rvalid").value:
                self._of("rready").value = 0
                return int(self._of("rdata").value)
        raise AssertionError(f"the registers did not answer a read of {address:#x}")


class Memory:
    """The memory behind the AXI4 port of a design, which also checks the rules of the bus.

    Parameters
    ----------
    dut : handle
    regions : sequence of (int, int)
        Addresses and sizes in bytes of what there is, full words each.
    timing : Timing
    stalls : mapping of str to Stalls
        By channel: ``mem.ar``, ``mem.r``, ``mem.aw``, ``mem.w``, ``mem.b``.
    prefix : str
        What the names of its signals begin with.

    Attributes
    ----------
    cycles : dict of str to list of int
        In which cycles of the run something moved, by channel.
    """

    CHANNELS = tuple(f"mem.{channel}" for channel in CHANNELS)

    def __init__(
        self,
        dut: Any,
        regions: Sequence[tuple[int, int]],
        timing: Timing | None = None,
        stalls: Mapping[str, Stalls] | None = None,
        prefix: str = "mem_",
    ):
        self._dut, self._prefix = dut, prefix
        self._stalls = {name: (stalls or {}).get(name) or Stalls() for name in self.CHANNELS}
        self._blocks = [(base, bytearray(size)) for base, size in regions]
        self._bytes = len(self._of("rdata")) // 8
        self._now = 0
        self._open = OpenBursts(timing or Timing(), self._bytes)
        self._waiting: dict[str, list[Any] | None] = {}
        self._shown = dict.fromkeys(_ANSWERS, False)
        self._level: dict[str, int] = {}
        for name in ("arready", "rvalid", "awready", "wready", "bvalid"):
            self._put(name, 0)
        for fields in _ANSWERS.values():
            junk(*map(self._of, fields))
        self.rewind()

    def rewind(self) -> None:
        """Start over, for the next run: intervals count from its first word."""
        self.cycles: dict[str, list[int]] = {name: [] for name in self.CHANNELS}
        self._open.rewind()

    def _of(self, name: str) -> Any:
        return getattr(self._dut, f"{self._prefix}{name}")

    def _put(self, name: str, level: int) -> None:
        """Drive a handshake signal, where it changes."""
        if self._level.get(name) != level:
            self._level[name] = level
            self._of(name).value = level

    def place(self, address: int, size: int) -> tuple[bytearray, int]:
        """The block that has these bytes, and where in it they begin."""
        for base, block in self._blocks:
            if base <= address and address + size <= base + len(block):
                return block, address - base
        raise AssertionError(f"memory: {size} bytes from {address:#x} on belong to no tensor")

    def read(self, address: int, size: int) -> bytes:
        """Bytes from an address on."""
        block, at = self.place(address, size)
        return bytes(block[at : at + size])

    def write(self, address: int, data: bytes) -> None:
        """Put bytes from an address on."""
        block, at = self.place(address, len(data))
        block[at : at + len(data)] = data

    def step(self, cycle: int) -> None:
        """Act in a cycle of a run."""
        self._act(cycle)

    def rest(self) -> None:
        """Act in a cycle in which the design does not run: nothing stalls."""
        self._act(None)

    def _act(self, cycle: int | None) -> None:
        """Serve all channels; a word is read before one that is written in the same cycle."""

        def stalled(channel: str) -> bool:
            return cycle is not None and self._stalls[f"mem.{channel}"].stalled(cycle)

        active = self._open.active(self._now, stalled)
        for channel, move in (
            ("ar", self._read_request),
            ("r", self._read_word),
            ("w", self._written_word),
            ("aw", self._write_request),
            ("b", self._response),
        ):
            if move(active[channel]) and cycle is not None:
                self.cycles[f"mem.{channel}"].append(cycle)
        self._now += 1

    def _read_request(self, ready: bool) -> bool:
        burst = self._request("ar", ready)
        if burst is not None:
            self._open.read_requested(self._now, burst)
        return burst is not None

    def _read_word(self, valid: bool) -> bool:
        def word() -> tuple[int, int, int]:
            burst = self._open.reads[0]
            data = self.read(burst.address, self._bytes)
            return int.from_bytes(data, "little"), OKAY, int(burst.left == 1)

        taken = self._answer("r", valid, word)
        if taken:
            self._open.word_read(self._now)
        return taken

    def _written_word(self, ready: bool) -> bool:
        self._put("wready", int(ready))
        word = self._offered("w", ("wdata", "wstrb", "wlast"), ready)
        if word is None:
            return False
        burst = self._open.unfilled[0]
        data, strobes, last = word
        assert last == (burst.left == 1), f"wlast is {last} with {burst.left} words left"
        block, at = self.place(burst.address, self._bytes)
        for i, byte in enumerate(int(data).to_bytes(self._bytes, "little")):
            if strobes >> i & 1:
                block[at + i] = byte
        self._open.word_written(self._now)
        return True

    def _write_request(self, ready: bool) -> bool:
        burst = self._request("aw", ready)
        if burst is not None:
            self._open.write_requested(burst)
        return burst is not None

    def _response(self, valid: bool) -> bool:
        taken = self._answer("b", valid, lambda: (OKAY,))
        if taken:
            self._open.answered()
        return taken

    def _request(self, channel: str, ready: bool) -> Burst | None:
        """Accept a burst, if there is one."""
        self._put(f"{channel}ready", int(ready))
        names = [f"{channel}{field}" for field in ("addr", "len", "size", "burst")]
        request = self._offered(channel, names, ready)
        if request is None:
            return None
        address, length, size, kind = request
        words = length + 1
        assert kind == INCR, f"{channel}: burst type {kind}, only INCR ({INCR}) is served"
        assert 1 << size == self._bytes, f"{channel}: size {size}, only whole words are served"
        assert address % self._bytes == 0, f"{channel}: {address:#x} is the address of no word"
        assert address % 4096 + words * self._bytes <= 4096, (
            f"{channel}: a burst of {words} words from {address:#x} on crosses a 4 KiB boundary"
        )
        return Burst(address, words)

    def _offered(self, channel: str, names: Sequence[str], ready: bool) -> list[int] | None:
        """What the design offers on a channel, if it moves; it must not change before."""
        seen = None
        if self._of(f"{channel}valid").value:
            seen = [self._of(name).value for name in names]
        before = self._waiting.get(channel)
        assert before is None or seen == before, f"{channel} changed before it was accepted"
        self._waiting[channel] = None if ready else seen
        return None if seen is None or not ready else [int(value) for value in seen]

    def _answer(self, channel: str, valid: bool, content: Callable[[], Sequence[int]]) -> bool:
        """Offer an answer, which then stays until it is taken; whether it is taken now."""
        fields = list(map(self._of, _ANSWERS[channel]))
        if valid and not self._shown[channel]:
            for signal, value in zip(fields, content(), strict=True):
                signal.value = value
        elif not valid and self._level[f"{channel}valid"]:
            junk(*fields)
        self._put(f"{channel}valid", int(valid))
        taken = valid and bool(self._of(f"{channel}ready").value)
        self._shown[channel] = valid and not taken
        return taken
