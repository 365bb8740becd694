"""An independent model of docs/memory-timing.md, cycle by cycle, for five raw streams.

It is the judge of the other two statements of these rules, ``stepgen/drivers/memory_timing.py`` and
``sim/verilator/axi_memory.sv``, and shares nothing with them but the decision which cycles stall.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls, stalled

CHANNELS = ("ar", "r", "aw", "w", "b")


@dataclass
class Requests:
    """Contents of the streams: (address, beats) of bursts; words to write, lowest byte first."""

    reads: list[tuple[int, int]]
    writes: list[tuple[int, int]]
    words: list[tuple[bytes, int]]  # data and strobe
    image: bytearray
    word: int = 8


@dataclass
class Seen:
    """Cycles of all handshakes, the words that were read, the image afterwards."""

    cycles: dict[str, list[int]] = field(default_factory=lambda: {c: [] for c in CHANNELS})
    read: list[tuple[bytes, bool]] = field(default_factory=list)  # word, last


def predict(requests: Requests, timing: MemoryTiming, stalls: Stalls, limit: int) -> Seen:
    """Step through the cycles; the master's streams stall under their names ar, r, aw, w, b."""
    seen = Seen()
    held = dict.fromkeys(CHANNELS, False)  # valid was up and not taken

    def stall(name: str, t: int) -> bool:
        return stalled(*stalls.of(name), t)

    def offers(name: str, memory_side: str, has: bool, t: int) -> bool:
        if held[name]:
            return True
        return has and not stall(memory_side, t)

    memory = dict(zip(CHANNELS, MEMORY_CHANNELS, strict=True))
    todo_r, todo_aw = deque(requests.reads), deque(requests.writes)
    todo_w = deque(requests.words)
    reads: deque[tuple[int, list[int]]] = deque()  # start, word addresses left
    fills: deque[list[int]] = deque()  # word addresses of accepted bursts still to be written
    answers: deque[int] = deque()  # first cycle of the response
    r_next = w_next = 0
    unanswered = 0
    latched: bytes | None = None
    total = len(requests.words) + sum(n for _, n in requests.reads)
    for t in range(limit):
        if sum(map(len, seen.cycles.values())) == (
            len(requests.reads) + 2 * len(requests.writes) + total
        ):
            break
        # everything is decided from the state before this cycle
        ar = offers("ar", "ar", bool(todo_r), t)
        ar_go = ar and len(reads) < timing.read_outstanding and not stall(memory["ar"], t)
        r = offers("r", memory["r"], bool(reads) and t >= max(reads[0][0], r_next), t)
        r_go = r and not stall("r", t)
        aw = offers("aw", "aw", bool(todo_aw), t)
        aw_go = aw and unanswered < timing.write_outstanding and not stall(memory["aw"], t)
        w = offers("w", "w", bool(todo_w), t)
        w_go = w and bool(fills) and t >= w_next and not stall(memory["w"], t)
        b = offers("b", memory["b"], bool(answers) and t >= answers[0], t)
        b_go = b and not stall("b", t)

        if r:
            address = reads[0][1][0] * requests.word
            if latched is None:
                latched = bytes(requests.image[address : address + requests.word])
        if r_go:
            reads[0][1].pop(0)
            assert latched is not None
            seen.read.append((latched, not reads[0][1]))
            latched = None
            r_next = t + timing.read_interval
            if not reads[0][1]:
                reads.popleft()
        if ar_go:
            address, beats = todo_r.popleft()
            first = address // requests.word
            reads.append((t + timing.read_latency, list(range(first, first + beats))))
        if b_go:
            answers.popleft()
            unanswered -= 1
        if w_go:
            data, strobe = todo_w.popleft()
            word = fills[0].pop(0)
            for i in range(requests.word):
                if strobe >> i & 1:
                    requests.image[word * requests.word + i] = data[i]
            w_next = t + timing.write_interval
            if not fills[0]:
                fills.popleft()
                answers.append(t + timing.write_latency)
        if aw_go:
            address, beats = todo_aw.popleft()
            first = address // requests.word
            fills.append(list(range(first, first + beats)))
            unanswered += 1
        for name, valid, go in (
            ("ar", ar, ar_go),
            ("r", r, r_go),
            ("aw", aw, aw_go),
            ("w", w, w_go),
            ("b", b, b_go),
        ):
            held[name] = valid and not go
            if go:
                seen.cycles[name].append(t)
    return seen
