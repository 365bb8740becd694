"""The off-chip memory for Amaranth's simulator: its timing is that of the driver for cocotb."""

from __future__ import annotations

from junk import Junk

from stepgen.drivers.memory_timing import Burst, OpenBursts
from stepgen.emit.windows import Windows
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import Stalls, stalled


class AxiMemory:
    """An AXI4 slave that answers in order and checks every request.

    Parameters
    ----------
    data : bytearray
        What is in the memory, window after window.
    word : int
        Bytes of a bus word.
    timing : MemoryTiming
    stalls : Stalls
    windows : Windows, optional
        Where the data lies; from address 0 on where not given.
    """

    def __init__(
        self,
        data: bytearray,
        word: int,
        timing: MemoryTiming,
        stalls: Stalls,
        windows: Windows | None = None,
    ):
        self.data, self.word, self.timing, self.stalls = data, word, timing, stalls
        self.windows = windows or Windows([(0, len(data))])
        self.most_reads = 0
        self.junk = Junk(stalls.seed)
        self.refuses = False  # answers everything with an error
        self.begin()

    def begin(self) -> None:
        """Clear the state of the last run."""
        self.open = OpenBursts(self.timing, self.word)
        self.waiting: dict = {}

    @property
    def clean(self) -> bool:
        """Whether no burst is in flight: none requested, half written or unanswered."""
        bursts = self.open
        return not (bursts.reads or bursts.unfilled or bursts.filled or self.waiting)

    def rest(self, ctx, port) -> None:
        """Put junk on the payloads that are not valid."""
        self.junk.put(ctx, port.rdata, port.rresp, port.rlast, port.bresp)

    def _stalled(self, channel: str, t: int) -> bool:
        return stalled(*self.stalls.of(f"mem.{channel}"), t)

    def _request(self, ctx, port, channel: str):
        address, length, size, kind = (
            ctx.get(getattr(port, channel + name)) for name in ("addr", "len", "size", "burst")
        )
        assert kind == 1
        assert 1 << size == self.word
        assert address % self.word == 0
        end = address + (length + 1) * self.word
        assert address // 4096 == (end - 1) // 4096, "crosses a boundary of 4 KiB"
        place = self.windows.place(address, end - address)
        assert place is not None, "beyond the memory"
        return Burst(place, length + 1)

    def _stable(self, channel: str, valid: bool, moves: bool, value) -> None:
        """Check that a valid payload stays until it is accepted."""
        if channel in self.waiting:
            assert valid
            assert self.waiting.pop(channel) == value
        if valid and not moves:
            self.waiting[channel] = value

    def cycle(self, ctx, port, t: int) -> None:
        """Offer and accept the transfers of cycle `t`."""
        bursts, reads_before = self.open, len(self.open.reads)
        active = bursts.active(t, lambda channel: self._stalled(channel, t))
        for name in ("arready", "rvalid", "awready", "wready", "bvalid"):
            ctx.set(getattr(port, name), active[name.removesuffix("ready").removesuffix("valid")])
        self.rest(ctx, port)
        if active["b"]:
            ctx.set(port.bresp, 2 * self.refuses)
        if active["r"]:
            burst = bursts.reads[0]
            word = self.data[burst.address : burst.address + self.word]
            ctx.set(port.rresp, 2 * self.refuses)
            ctx.set(port.rdata, int.from_bytes(word, "little"))
            ctx.set(port.rlast, burst.left == 1)
            if ctx.get(port.rready):
                bursts.word_read(t)
        if active["b"] and ctx.get(port.bready):
            bursts.answered()
        w_valid = ctx.get(port.wvalid)
        word = [ctx.get(getattr(port, name)) for name in ("wdata", "wstrb", "wlast")]
        self._stable("w", w_valid, w_valid and active["w"], word)
        if w_valid and active["w"]:
            self._write(t, *word)
        for channel in ("ar", "aw"):
            valid = ctx.get(getattr(port, channel + "valid"))
            request = self._request(ctx, port, channel) if valid else None
            self._stable(channel, valid, valid and active[channel], request)
            if request and active[channel]:
                if channel == "ar":
                    bursts.read_requested(t, request)
                    self.most_reads = max(self.most_reads, reads_before + 1)
                else:
                    bursts.write_requested(request)

    def _write(self, t: int, data: int, strobe: int, last: int) -> None:
        burst = self.open.unfilled[0]
        assert last == (burst.left == 1)
        for lane in range(self.word):
            if strobe >> lane & 1:
                self.data[burst.address + lane] = data >> (8 * lane) & 255
        self.open.word_written(t)
