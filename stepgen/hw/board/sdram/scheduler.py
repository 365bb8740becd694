"""Which command goes to the SDRAM in each cycle."""

from functools import reduce
from operator import xor

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from stepgen.hw.board.sdram.pins import Command
from stepgen.hw.design.sdram import LENGTH_BITS
from stepgen.ir.sdram_timing import ALL_BANKS, BANKS, SdramTiming

__all__ = ["Scheduler"]

WAKE_REFRESHES = 8


class Next(enum.Enum):
    """What the burst after the current one waits for."""

    EMPTY = 0
    CHECK = 1
    CLOSE = 2
    OPEN = 3
    OPENED = 4


class Refresh(enum.Enum):
    """What a refresh has done so far."""

    ASLEEP = 0
    IDLE = 1
    CLOSED = 2
    REFRESHED = 3


class Scheduler(wiring.Component):
    """Serves bursts in the order in which it takes them, refreshes, and opens rows ahead.

    While the *current* burst moves words, the *next* one closes and opens its bank in the cycles
    between the column commands. A burst is taken when it can be served without a wait: a read when
    there is space for its words, a write when all of its words are there. Up to `TURNS` bursts of
    one direction come in a row while the other waits.

    A refresh is due every ``refi`` cycles, counted from the start of a run, and first of all at the
    start; it begins at the end of a burst. So each cycle of a run follows from its requests.

    Parameters
    ----------
    timing : SdramTiming
    word_bits : int
        Of a bus word.

    Members
    -------
    running : ``In(1)``
        A run is going on.
    reads, writes : ``In(1)``
        There is a read, a write that can be served.
    read, write : ``In``
        Their words less 1, then their first bus words.
    take_read, take_write : ``Out(1)``
    answered : ``In(1)``
        The answer to a write finds space.
    fires, second : ``Out(1)``
        The first, the second word of a command moves.
    writing : ``Out(1)``
        It goes to the SDRAM.
    pair, ends : ``Out(1)``
        Of the command that fires: it moves two words, it is the last of its burst.
    command, bank, address : ``Out``
        To the pins.
    """

    def __init__(self, timing: SdramTiming, word_bits: int):
        self.timing, self.word_bits = timing, word_bits
        self.words = exact_log2(timing.row_bytes * 8 // word_bits)
        self.address_bits = self.words + exact_log2(BANKS) + timing.row_bits
        request = LENGTH_BITS + self.address_bits
        super().__init__(
            {
                "running": In(1),
                **{name: In(1) for name in ("reads", "writes", "answered")},
                **{name: In(request) for name in ("read", "write")},
                **{name: Out(1) for name in ("take_read", "take_write")},
                **{name: Out(1) for name in ("fires", "second", "writing", "pair", "ends")},
                "command": Out(3, init=Command.NOTHING),
                "bank": Out(exact_log2(BANKS)),
                "address": Out(timing.address_bits),
            }
        )

    def elaborate(self, platform):
        m = Module()
        timing = self.timing
        burst = timing.burst(self.word_bits)
        # Cycles until a command may come: to the next burst's bank; to close the bank opened last,
        # that used last; on a column; to write.
        prep = _timer(m, "prep", max(timing.rp, timing.rcd, timing.rfc, timing.mrd))
        ras = _timer(m, "ras", timing.open_for)
        recover = _timer(m, "recover", burst + timing.wr)
        gap = _timer(m, "gap", burst)
        turn = _timer(m, "turn", timing.cas + burst + 1)
        due, following = Signal(), Signal(Next)
        current, bank, rows, opened = self._current(m), Signal(2), *self._banks()
        begins = self._begins(m)
        n = self._taken(m, following, begins)
        fires, last = self._columns(m, current, gap, turn)
        m.d.sync += self._send(Command.NOTHING)
        with m.If(fires):
            column = current["word"] << exact_log2(timing.transfers(self.word_bits))
            command = Mux(current["write"], Command.WRITE, Command.READ)
            m.d.sync += [*self._send(command, bank, column), gap.eq(burst - 1)]
            with m.If(~current["write"]):
                m.d.sync += turn.eq(timing.cas + burst)
        with m.If(fires & last):
            m.d.sync += current["valid"].eq(0)
            with m.If(current["write"]):
                m.d.sync += recover.eq(burst + timing.wr - 2)
            with m.Elif(recover < burst):  # another bank may still recover from a write
                m.d.sync += recover.eq(burst - 1)

        with m.Switch(following):
            with m.Case(Next.CHECK), m.If(~due):
                same = rows[n["bank"]] == n["row"]
                found = Mux(same, Next.OPENED, Next.CLOSE)
                m.d.sync += following.eq(Mux(opened.bit_select(n["bank"], 1), found, Next.OPEN))
            with m.Case(Next.CLOSE):
                used = current["valid"] & (bank == n["bank"])
                free = (prep == 0) & (ras == 0) & (recover == 0)
                with m.If(free & ~due & ~fires & ~used):
                    m.d.sync += [
                        *self._send(Command.PRECHARGE, n["bank"]),
                        opened.bit_select(n["bank"], 1).eq(0),
                        prep.eq(timing.rp - 1),
                        following.eq(Next.OPEN),
                    ]
            with m.Case(Next.OPEN), m.If((prep == 0) & ~due & ~fires):
                m.d.sync += [
                    *self._send(Command.ACTIVATE, n["bank"], n["row"]),
                    opened.bit_select(n["bank"], 1).eq(1),
                    rows[n["bank"]].eq(n["row"]),
                    prep.eq(timing.rcd - 1),
                    ras.eq(timing.open_for - 1),
                    following.eq(Next.OPENED),
                ]
            # Its first command comes a cycle later.
            with m.Case(Next.OPENED), m.If((prep <= 1) & ~due & (fires & last | ~current["valid"])):
                m.d.sync += [
                    current["valid"].eq(1),
                    bank.eq(n["bank"]),
                    *(current[name].eq(n[name]) for name in ("write", "word", "left")),
                    following.eq(Next.EMPTY),
                ]
        quiet = ~current["valid"] & (ras == 0) & (recover == 0)
        self._refresh(m, due, following, opened, prep, quiet, begins)
        return m

    def _begins(self, m):
        """Whether a run begins."""
        was_running, begins = Signal(), Signal()
        m.d.sync += was_running.eq(self.running)
        m.d.comb += begins.eq(self.running & ~was_running)
        return begins

    def _send(self, command, bank=0, address=0):
        """A command to the SDRAM in the next cycle."""
        return [self.command.eq(command), self.bank.eq(bank), self.address.eq(address)]

    def _current(self, m):
        """The registers of the burst that moves words."""
        return {
            "valid": Signal(name="current_valid"),
            "write": Signal(name="current_write"),
            "word": Signal(self.words, name="current_word"),
            "left": Signal(LENGTH_BITS, name="current_left"),
        }

    def _banks(self):
        """The row that is open in each bank, and whether one is."""
        rows = Array(Signal(self.timing.row_bits, name=f"row_{k}") for k in range(BANKS))
        return rows, Signal(BANKS)

    def _taken(self, m, following, begins):
        """Take the next burst from the queues if there is none."""
        bits, turns = exact_log2(BANKS), self.timing.TURNS
        side, stay = Signal(), Signal(range(turns))
        same = Mux(side, self.writes, self.reads)
        other = Mux(side, self.reads, self.writes)
        tired, changes, takes = Signal(), Signal(), Signal()
        n_write, n_bank = Signal(), Signal(bits)
        n_row, n_word = Signal(self.timing.row_bits), Signal(self.words)
        n_left = Signal(LENGTH_BITS)
        m.d.comb += [
            tired.eq(stay == turns - 1),
            changes.eq(other & (tired | ~same)),
            takes.eq((following == Next.EMPTY) & (same | other)),
            self.take_read.eq(takes & ~(side ^ changes)),
            self.take_write.eq(takes & (side ^ changes)),
        ]
        taken = Mux(side ^ changes, self.write, self.read)
        place = taken[LENGTH_BITS:]
        row = place[self.words + bits :]

        def bank(request):
            # Tensors lie at steps of powers of two: the row moves their banks apart.
            place = request[LENGTH_BITS:]
            return reduce(xor, (place[k:][:bits] for k in range(self.words, len(place), 2)))

        with m.If(takes):
            m.d.sync += [
                side.eq(side ^ changes),
                following.eq(Next.CHECK),
                n_write.eq(side ^ changes),
                n_bank.eq(Mux(side ^ changes, bank(self.write), bank(self.read))),
                n_row.eq(row),
                n_word.eq(place),
                n_left.eq(taken),
            ]
            with m.If(changes):
                m.d.sync += stay.eq(0)
            with m.Elif(~tired):
                m.d.sync += stay.eq(stay + 1)
        with m.If(begins):  # whatever a host has read and written before
            m.d.sync += [side.eq(0), stay.eq(0)]
        return {"write": n_write, "bank": n_bank, "row": n_row, "word": n_word, "left": n_left}

    def _columns(self, m, current, gap, turn):
        """Whether the current burst has a command now, and whether that is its last."""
        word, left, write = current["word"], current["left"], current["write"]
        fires, last, pair = self.fires, self.ends, self.pair
        doubles = self.timing.transfers(self.word_bits) == 1
        m.d.comb += [
            pair.eq(doubles & ~word[0] & (left != 0)),
            last.eq(left == pair),
            fires.eq(
                current["valid"]
                & (gap == 0)
                & (~write | (turn == 0))
                & ~(write & last & ~self.answered)
            ),
        ]
        writing = Signal()
        m.d.comb += self.writing.eq(Mux(self.second, writing, write))
        m.d.sync += [self.second.eq(fires & pair), writing.eq(write)]
        with m.If(fires):
            m.d.sync += [word.eq(word + 1 + pair), left.eq(left - 1 - pair)]
        return fires, last

    def _refresh(self, m, due, following, opened, prep, quiet, begins):
        """Refreshes in the run and outside, and what an SDRAM needs at first."""
        timing = self.timing
        state, left = Signal(Refresh), Signal(range(WAKE_REFRESHES + 1), init=WAKE_REFRESHES)
        since, wake = Signal(range(timing.refi)), Signal(range(timing.wake + 1))
        hold = _timer(m, "hold", timing.settled + 1)
        configured = Signal()

        def close():
            return [
                *self._send(Command.PRECHARGE, 0, 1 << ALL_BANKS),
                opened.eq(0),
                prep.eq(timing.rp - 1),
                state.eq(Refresh.CLOSED),
            ]

        with m.Switch(state):
            with m.Case(Refresh.ASLEEP):
                m.d.sync += [due.eq(1), wake.eq(wake + 1)]
                with m.If(wake == timing.wake):
                    m.d.sync += close()
            with m.Case(Refresh.IDLE), m.If(due & (hold == 0) & (prep == 0) & quiet):
                m.d.sync += close()
            with m.Case(Refresh.CLOSED), m.If(prep == 0):
                m.d.sync += [
                    *self._send(Command.REFRESH),
                    prep.eq(timing.rfc - 1),
                    state.eq(Refresh.REFRESHED),
                ]
            with m.Case(Refresh.REFRESHED), m.If(prep == 0):
                with m.If(~configured & (left != 0)):
                    m.d.sync += [left.eq(left - 1), state.eq(Refresh.CLOSED)]
                with m.Elif(~configured):
                    length = exact_log2(timing.burst(self.word_bits))
                    m.d.sync += [
                        *self._send(Command.MODE, 0, timing.cas << 4 | length),
                        prep.eq(timing.mrd - 1),
                        configured.eq(1),
                    ]
                with m.Else():
                    m.d.sync += [state.eq(Refresh.IDLE), due.eq(hold != 0)]
                    with m.If(following != Next.EMPTY):
                        m.d.sync += following.eq(Next.CHECK)
        ends = since == timing.refi - 1
        m.d.sync += since.eq(Mux(ends, 0, since + 1))
        with m.If(ends):
            m.d.sync += due.eq(1)
        with m.If(begins):
            # What goes on is over when `hold` is: from then on each cycle is known.
            m.d.sync += [since.eq(0), due.eq(1), hold.eq(timing.settled)]


def _timer(m, name, most):
    """A register that counts down to 0."""
    timer = Signal(range(most + 1), name=name)
    with m.If(timer != 0):
        m.d.sync += timer.eq(timer - 1)
    return timer
