"""The off-chip memory for Amaranth's simulator, by the rules of ``docs/memory-timing.md``."""

from __future__ import annotations

from collections import deque

from junk import Junk

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
        self.reads: deque = deque()  # address, words left, first cycle of data
        self.writes: deque = deque()  # address, words left
        self.answers: deque = deque()  # first cycle
        self.open_writes = self.next_read = self.next_write = 0
        self.waiting: dict = {}
        self.held = False  # a word was offered and not taken

    @property
    def clean(self) -> bool:
        """Whether no burst is in flight: none requested, half written or unanswered."""
        return not (self.reads or self.writes or self.answers or self.waiting)

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
        return place, length + 1

    def _stable(self, channel: str, valid: bool, moves: bool, value) -> None:
        """Check that a valid payload stays until it is accepted."""
        if channel in self.waiting:
            assert valid
            assert self.waiting.pop(channel) == value
        if valid and not moves:
            self.waiting[channel] = value

    def cycle(self, ctx, port, t: int) -> None:
        """Offer and accept the transfers of cycle `t`."""
        timing, reads = self.timing, self.reads
        ar_ready = len(reads) < timing.read_outstanding and not self._stalled("ar", t)
        r_valid = bool(reads) and t >= max(reads[0][2], self.next_read)
        r_valid = r_valid and (self.held or not self._stalled("r", t))
        aw_ready = self.open_writes < timing.write_outstanding and not self._stalled("aw", t)
        w_ready = bool(self.writes) and t >= self.next_write and not self._stalled("w", t)
        b_valid = bool(self.answers) and t >= self.answers[0] and not self._stalled("b", t)
        for name, value in (
            ("arready", ar_ready),
            ("rvalid", r_valid),
            ("awready", aw_ready),
            ("wready", w_ready),
            ("bvalid", b_valid),
        ):
            ctx.set(getattr(port, name), value)
        self.rest(ctx, port)
        if b_valid:
            ctx.set(port.bresp, 2 * self.refuses)
        if r_valid:
            address, left, _ = reads[0]
            ctx.set(port.rresp, 2 * self.refuses)
            ctx.set(port.rdata, int.from_bytes(self.data[address : address + self.word], "little"))
            ctx.set(port.rlast, left == 1)

        self.held = r_valid and not ctx.get(port.rready)
        if r_valid and not self.held:
            reads[0][0] += self.word
            reads[0][1] -= 1
            self.next_read = t + timing.read_interval
        b_moves = b_valid and ctx.get(port.bready)
        if b_moves:
            self.answers.popleft()
        w_valid = ctx.get(port.wvalid)
        word = [ctx.get(getattr(port, name)) for name in ("wdata", "wstrb", "wlast")]
        self._stable("w", w_valid, w_valid and w_ready, word)
        if w_valid and w_ready:
            self._write(t, *word)
        for channel, accepts in (("ar", ar_ready), ("aw", aw_ready)):
            valid = ctx.get(getattr(port, channel + "valid"))
            request = self._request(ctx, port, channel) if valid else None
            self._stable(channel, valid, valid and accepts, request)
            if valid and accepts:
                address, length = request
                if channel == "ar":
                    reads.append([address, length, t + timing.read_latency])
                else:
                    self.writes.append([address, length])
                    self.open_writes += 1
        self.most_reads = max(self.most_reads, len(reads))
        if reads and reads[0][1] == 0:
            reads.popleft()
        self.open_writes -= b_moves

    def _write(self, t: int, data: int, strobe: int, last: int) -> None:
        burst = self.writes[0]
        assert last == (burst[1] == 1)
        for lane in range(self.word):
            if strobe >> lane & 1:
                self.data[burst[0] + lane] = data >> (8 * lane) & 255
        burst[0] += self.word
        burst[1] -= 1
        self.next_write = t + self.timing.write_interval
        if last:
            self.writes.popleft()
            self.answers.append(t + self.timing.write_latency)
