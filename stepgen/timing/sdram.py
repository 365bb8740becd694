"""Cycle model of an SDR SDRAM behind its controller, `stepgen.hw.board.sdram`.

One actor is the scheduler of commands: it does in each cycle what the controller's registers do.
While nothing is asked for it sleeps, and catches up with the refreshes when it wakes.
"""

from __future__ import annotations

from collections.abc import Mapping

from stepgen.hw.design.sdram import sdram_queues
from stepgen.hw.design.table import Bus
from stepgen.ir.sdram_timing import BANKS, SdramTiming
from stepgen.timing.bursts import burst_length, burst_word
from stepgen.timing.kernel import *
from stepgen.timing.kernel import EMPTY_INPUT, POPPED, PUSHED, REASON
from stepgen.timing.layout import Layout

EMPTY, CHECK, CLOSE, OPEN, OPENED = range(5)
"""What the next burst waits for: nothing is there, its row looked up, its bank closed, its row
opened, its turn."""

IDLE, CLOSED, REFRESHED = range(3)
"""What a refresh has done so far."""

NOTHING, READ, WRITE = range(3)

PASS = record("x", "y")
ACCEPT = record("w", "words", "whole")
P = record(
    "ar", "aw", "words_in", "whole", "words_out", "answers",
    "transfers", "burst", "row_words", "cas", "rcd", "rp", "ras_for", "wr", "rfc", "refi", "turns",
    "now", "since", "due", "hold", "refresh", "prep", "ras", "recover", "gap", "turn",
    "next", "n_write", "n_bank", "n_row", "n_word", "n_left",
    "current", "write", "bank", "word", "left", "second", "second_last",
    "asked", "side", "stay", "row_bits", "rows",
)  # fmt: skip


@step
def pass_on(M: Memory, a: int, t: int) -> int:
    wait = can_pass(M, M[a + PASS.x], M[a + PASS.y], t)
    if wait != READY:
        return wait
    push(M, M[a + PASS.y], t, pop(M, M[a + PASS.x], t))
    return acted(M, t)


@step
def accept(M: Memory, a: int, t: int) -> int:
    wait = can_pass(M, M[a + ACCEPT.w], M[a + ACCEPT.words], t)
    if wait != READY:
        return wait
    last = pop(M, M[a + ACCEPT.w], t)
    push(M, M[a + ACCEPT.words], t, last)
    if last:
        push(M, M[a + ACCEPT.whole], t, 0)
    return acted(M, t)


@helper
def _move(M: Memory, a: int, t: int, write: int, last: int) -> None:
    """Move a word between the pins and the queues."""
    if write:
        pop(M, M[a + P.words_in], t)
    else:
        push(M, M[a + P.words_out], t, last)


@helper
def _pick(M: Memory, a: int, t: int) -> None:
    """Take the next burst from the queues, unless none can be served."""
    ar, aw = M[a + P.ar], M[a + P.aw]
    reads = ready(M, ar, t) == READY
    if reads:  # credits return one cycle late
        asked = M[a + P.asked] + burst_length(head(M, ar))
        reads = room_for(M, M[a + P.words_out], asked, t - 1) == READY
    writes = ready(M, aw, t) == READY and ready(M, M[a + P.whole], t) == READY
    side, tired = M[a + P.side], M[a + P.stay] + 1 == M[a + P.turns]
    same, other = (writes, reads) if side else (reads, writes)
    if not same and not other:
        return
    if other and (tired or not same):
        side = 1 - side
        M[a + P.side] = side
        M[a + P.stay] = 0
    elif not tired:
        M[a + P.stay] += 1
    if side:
        burst = pop(M, aw, t)
        pop(M, M[a + P.whole], t)
    else:
        burst = pop(M, ar, t)
        M[a + P.asked] += burst_length(burst)
    place = burst_word(burst)
    row_words = M[a + P.row_words]
    place = place // row_words % (BANKS << M[a + P.row_bits])
    bank, row = 0, place // BANKS
    while place:
        bank ^= place % BANKS
        place //= BANKS
    M[a + P.next] = CHECK
    M[a + P.n_write] = side
    M[a + P.n_bank] = bank
    M[a + P.n_row] = row
    M[a + P.n_word] = burst_word(burst) % row_words
    M[a + P.n_left] = burst_length(burst)


@helper
def _refresh(M: Memory, a: int, current: int, prep: int, ras: int, recover: int) -> None:
    """A step of a refresh; the arguments are the state before this cycle."""
    state, hold = M[a + P.refresh], M[a + P.hold]
    if state == IDLE:
        if M[a + P.due] and not (hold or current or prep or ras or recover):
            for bank in range(BANKS):
                M[a + P.rows + bank] = -1
            M[a + P.prep] = M[a + P.rp] - 1
            M[a + P.refresh] = CLOSED
    elif prep == 0 and state == CLOSED:
        M[a + P.prep] = M[a + P.rfc] - 1
        M[a + P.refresh] = REFRESHED
    elif prep == 0:
        M[a + P.refresh] = IDLE
        M[a + P.due] = hold != 0
        if M[a + P.next] != EMPTY:
            M[a + P.next] = CHECK


@helper
def _tick(M: Memory, a: int, t: int) -> int:
    """One cycle of the scheduler; returns whether it moved data."""
    prep, ras, recover = M[a + P.prep], M[a + P.ras], M[a + P.recover]
    gap, turn, due = M[a + P.gap], M[a + P.turn], M[a + P.due]
    for timer in (P.prep, P.ras, P.recover, P.gap, P.turn):
        if M[a + timer] > 0:
            M[a + timer] -= 1
    current, following = M[a + P.current], M[a + P.next]
    write, left, word = M[a + P.write], M[a + P.left], M[a + P.word]
    moved = 0

    if M[a + P.second]:
        _move(M, a, t, M[a + P.second] == WRITE, M[a + P.second_last])
        M[a + P.second] = NOTHING
        moved = 1
    pair = M[a + P.transfers] == 1 and word % 2 == 0 and left > 1
    takes = 2 if pair else 1
    last = current and left == takes
    fires = current and gap == 0 and (not write or turn == 0)
    if fires and write and last and room(M, M[a + P.answers], t) != READY:
        fires = 0
    if fires:
        moved = 1
        _move(M, a, t, write, last and not pair)
        if pair:
            M[a + P.second] = WRITE if write else READ
            M[a + P.second_last] = last
        M[a + P.word] += takes
        M[a + P.left] -= takes
        M[a + P.gap] = M[a + P.burst] - 1
        if not write:
            M[a + P.turn] = M[a + P.cas] + M[a + P.burst]
        if last:
            M[a + P.current] = 0
            closes = M[a + P.burst] - 1
            if write:
                closes += M[a + P.wr] - 1
                push(M, M[a + P.answers], t, 0)
            # Another bank may still recover from a write.
            M[a + P.recover] = max(M[a + P.recover], closes)

    if following == EMPTY:
        _pick(M, a, t)
    elif not due:
        bank = M[a + P.n_bank]
        opened = a + P.rows + bank
        if following == CHECK:
            M[a + P.next] = (
                OPENED if M[opened] == M[a + P.n_row] else OPEN if M[opened] < 0 else CLOSE
            )
        elif following == CLOSE:
            used = current and M[a + P.bank] == bank
            if not (fires or prep or ras or recover or used):
                M[opened] = -1
                M[a + P.prep] = M[a + P.rp] - 1
                M[a + P.next] = OPEN
        elif following == OPEN:
            if not fires and prep == 0:
                M[opened] = M[a + P.n_row]
                M[a + P.prep] = M[a + P.rcd] - 1
                M[a + P.ras] = M[a + P.ras_for] - 1
                M[a + P.next] = OPENED
        elif prep <= 1 and ((fires and last) or not current):
            M[a + P.current] = 1
            M[a + P.write] = M[a + P.n_write]
            M[a + P.bank] = bank
            M[a + P.word] = M[a + P.n_word]
            M[a + P.left] = M[a + P.n_left]
            M[a + P.next] = EMPTY

    _refresh(M, a, current, prep, ras, recover)
    if M[a + P.hold] > 0:
        M[a + P.hold] -= 1
    M[a + P.since] += 1
    if M[a + P.since] == M[a + P.refi]:
        M[a + P.since] = 0
        M[a + P.due] = 1
    return moved


@step
def schedule_commands(M: Memory, a: int, t: int) -> int:
    moved = 0
    for now in range(M[a + P.now], t + 1):
        moved = _tick(M, a, now)
    M[a + P.now] = t + 1
    if moved:
        return acted(M, t)
    M[REASON] = EMPTY_INPUT
    ar, aw, whole = M[a + P.ar], M[a + P.aw], M[a + P.whole]
    asked = M[ar + PUSHED] > M[ar + POPPED] or (
        M[aw + PUSHED] > M[aw + POPPED] and M[whole + PUSHED] > M[whole + POPPED]
    )
    busy = M[a + P.current] or M[a + P.next] != EMPTY or M[a + P.second] != NOTHING
    return t + 1 if busy or asked else ANY


def build_sdram(
    unit: str, layout: Layout, timing: SdramTiming, bus: Bus, channels: Mapping[str, int]
) -> None:
    """The memory behind the channels of a bus.

    Parameters
    ----------
    unit : str
        Of which the actors are.
    layout : Layout
    timing : SdramTiming
    bus : Bus
    channels : mapping of str to int
        ``ar`` and ``r``, ``aw``, ``w`` and ``b``, or all five.
    """
    word_bits = bus.data_bits
    timing.check(word_bits, bus.burst)
    transfers = timing.transfers(word_bits)
    queues = sdram_queues(timing, bus)
    queues["whole"] = queues["w"]
    made = {
        name: layout.new_channel(f"{unit}.{name}", queue.depth, queue.latency, -1)
        for name, queue in queues.items()
    }

    def passes(name: str, x: int, y: int) -> None:
        own = packed(PASS, x=x, y=y)
        layout.actor(unit, name, pass_on, own, reads=[x], writes=[y])

    if "ar" in channels:
        passes("accept read", channels["ar"], made["ar"])
        passes("give", made["r"], channels["r"])
    if "aw" in channels:
        passes("accept write", channels["aw"], made["aw"])
        passes("answer", made["b"], channels["b"])
        own = packed(ACCEPT, w=channels["w"], words=made["w"], whole=made["whole"])
        layout.actor(
            unit,
            "accept words",
            accept,
            own,
            reads=[channels["w"]],
            writes=[made["w"], made["whole"]],
        )
    own = packed(
        P,
        ar=made["ar"], aw=made["aw"], words_in=made["w"], whole=made["whole"],
        words_out=made["r"], answers=made["b"],
        transfers=transfers, burst=timing.burst(word_bits),
        row_words=timing.row_bytes // (word_bits // 8),
        cas=timing.cas, rcd=timing.rcd, rp=timing.rp, ras_for=timing.open_for, wr=timing.wr,
        rfc=timing.rfc, refi=timing.refi, turns=timing.TURNS,
        now=1, since=0, due=1, hold=timing.settled, refresh=IDLE,
        prep=0, ras=0, recover=0, gap=0, turn=0,
        next=EMPTY, n_write=0, n_bank=0, n_row=0, n_word=0, n_left=0,
        current=0, write=0, bank=0, word=0, left=0, second=NOTHING, second_last=0,
        asked=0, side=0, stay=0, row_bits=timing.row_bits, rows=[-1] * BANKS,
    )  # fmt: skip
    reads = [made[name] for name in ("ar", "aw", "w", "whole")]
    layout.actor(
        unit, "schedule", schedule_commands, own, reads=reads, writes=[made["r"], made["b"]]
    )
