"""Drivers of the buses of a design: a master of its registers, and the memory behind its port.

The memory answers in cycles that are defined exactly, so the cycles of a run can be compared with
those that were predicted. Like streams it acts at the falling edge of the clock, and each of its
signals depends on what moved in earlier cycles and on the cycle alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cocotb.triggers import RisingEdge

from .idle import junk
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


@dataclass(frozen=True)
class Timing:
    """When the memory answers, in cycles.

    Parameters
    ----------
    read_latency : int
        From a read's address to the first cycle in which its data may be sent.
    read_interval : int
        From one word that is sent to the next.
    read_outstanding : int
        Most bursts accepted whose last word has not been sent.
    write_latency, write_interval, write_outstanding : int
        The same of writes: from a burst's last word to its response, from word to word, and bursts
        accepted whose response has not been sent.
    """

    read_latency: int = 16
    read_interval: int = 1
    read_outstanding: int = 16
    write_latency: int = 8
    write_interval: int = 1
    write_outstanding: int = 16


@dataclass
class _Burst:
    """One under way: its next word, words left, and the first cycle of an answer."""

    address: int
    left: int
    start: int = 0

    def advance(self, size: int) -> bool:
        """Go to the next word; True if there is none."""
        self.address += size
        self.left -= 1
        return not self.left


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

    CHANNELS = ("mem.ar", "mem.r", "mem.aw", "mem.w", "mem.b")

    def __init__(
        self,
        dut: Any,
        regions: Sequence[tuple[int, int]],
        timing: Timing | None = None,
        stalls: Mapping[str, Stalls] | None = None,
        prefix: str = "mem_",
    ):
        self._dut, self._prefix, self._timing = dut, prefix, timing or Timing()
        self._stalls = {name: (stalls or {}).get(name) or Stalls() for name in self.CHANNELS}
        self._blocks = [(base, bytearray(size)) for base, size in regions]
        self._bytes = len(self._of("rdata")) // 8
        self._now = 0
        self._reads: deque[_Burst] = deque()
        self._unfilled: deque[_Burst] = deque()
        self._filled: deque[_Burst] = deque()
        self._waiting: dict[str, list[Any] | None] = {}
        self._held = dict.fromkeys(_ANSWERS, False)
        self._level: dict[str, int] = {}
        for name in ("arready", "rvalid", "awready", "wready", "bvalid"):
            self._put(name, 0)
        for fields in _ANSWERS.values():
            junk(*map(self._of, fields))
        self.rewind()

    def rewind(self) -> None:
        """Start over, for the next run: intervals count from its first word."""
        self.cycles: dict[str, list[int]] = {name: [] for name in self.CHANNELS}
        self._next_read = self._next_write = 0

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
        """Serve all channels, in an order in which each sees what others did in earlier cycles."""
        for name, move in (
            ("mem.ar", self._read_request),
            ("mem.r", self._read_word),
            ("mem.w", self._written_word),
            ("mem.aw", self._write_request),
            ("mem.b", self._response),
        ):
            stalled = cycle is not None and self._stalls[name].stalled(cycle)
            if move(stalled) and cycle is not None:
                self.cycles[name].append(cycle)
        self._now += 1

    def _read_request(self, stalled: bool) -> bool:
        burst = self._request("ar", len(self._reads), self._timing.read_outstanding, stalled)
        if burst is not None:
            burst.start = self._now + self._timing.read_latency
            self._reads.append(burst)
        return burst is not None

    def _read_word(self, stalled: bool) -> bool:
        burst = self._reads[0] if self._reads else None
        due = burst is not None and self._now >= max(burst.start, self._next_read)

        def word() -> tuple[int, int, int]:
            assert burst is not None
            data = self.read(burst.address, self._bytes)
            return int.from_bytes(data, "little"), OKAY, int(burst.left == 1)

        if not self._answer("r", due and not stalled, word) or burst is None:
            return False
        self._next_read = self._now + self._timing.read_interval
        if burst.advance(self._bytes):
            self._reads.popleft()
        return True

    def _written_word(self, stalled: bool) -> bool:
        burst = self._unfilled[0] if self._unfilled else None
        self._put(
            "wready", int(burst is not None and self._now >= self._next_write and not stalled)
        )
        word = self._offered("w", ("wdata", "wstrb", "wlast"), bool(self._level["wready"]))
        if word is None or burst is None:
            return False
        data, strobes, last = word
        assert last == (burst.left == 1), f"wlast is {last} with {burst.left} words left"
        block, at = self.place(burst.address, self._bytes)
        for i, byte in enumerate(int(data).to_bytes(self._bytes, "little")):
            if strobes >> i & 1:
                block[at + i] = byte
        self._next_write = self._now + self._timing.write_interval
        if burst.advance(self._bytes):
            burst.start = self._now + self._timing.write_latency
            self._filled.append(self._unfilled.popleft())
        return True

    def _write_request(self, stalled: bool) -> bool:
        under_way = len(self._unfilled) + len(self._filled)
        burst = self._request("aw", under_way, self._timing.write_outstanding, stalled)
        if burst is not None:
            self._unfilled.append(burst)
        return burst is not None

    def _response(self, stalled: bool) -> bool:
        due = bool(self._filled) and self._now >= self._filled[0].start
        taken = self._answer("b", due and not stalled, lambda: (OKAY,))
        if taken:
            self._filled.popleft()
        return taken

    def _request(self, channel: str, under_way: int, most: int, stalled: bool) -> _Burst | None:
        """Accept a burst, if there is one and fewer than the most are under way."""
        self._put(f"{channel}ready", int(under_way < most and not stalled))
        names = [f"{channel}{field}" for field in ("addr", "len", "size", "burst")]
        request = self._offered(channel, names, bool(self._level[f"{channel}ready"]))
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
        return _Burst(address, words)

    def _offered(self, channel: str, names: Sequence[str], ready: bool) -> list[int] | None:
        """What the design offers on a channel, if it moves; it must not change before."""
        seen = None
        if self._of(f"{channel}valid").value:
            seen = [self._of(name).value for name in names]
        before = self._waiting.get(channel)
        assert before is None or seen == before, f"{channel} changed before it was accepted"
        self._waiting[channel] = None if ready else seen
        return None if seen is None or not ready else [int(value) for value in seen]

    def _answer(self, channel: str, due: bool, content: Callable[[], Sequence[int]]) -> bool:
        """Offer an answer, which then stays until it is taken; whether it is taken now."""
        held = self._held[channel]
        fields = list(map(self._of, _ANSWERS[channel]))
        if due and not held:
            for signal, value in zip(fields, content(), strict=True):
                signal.value = value
        elif not held and self._level[f"{channel}valid"]:
            junk(*fields)
        self._put(f"{channel}valid", int(due or held))
        taken = (due or held) and bool(self._of(f"{channel}ready").value)
        self._held[channel] = (due or held) and not taken
        return taken
