"""Control registers: start, abort and observe a run."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from stepgen.hw.axi import Axi4Lite
from stepgen.hw.counters import EVENTS, Counters
from stepgen.hw.design import registers
from stepgen.hw.design.registers import CHANNEL_BASE, CHANNEL_STRIDE, COUNTERS, WORD, address_bits
from stepgen.hw.library import inline
from stepgen.hw.onehot import select
from stepgen.hw.run_control import CYCLE_BITS, DETAIL_BITS
from stepgen.hw.select import bits_of

__all__ = ["Control"]

READ_CYCLES = 5
"""Cycles from the address of a read until every word that it can select is valid."""


class Control(wiring.Component):
    """AXI4-Lite registers of 32 bits, at the addresses of `design.registers`.

    Parameters
    ----------
    channels, units : int
    reporting : sequence of int
        Units that report the cause of an error, by their numbers from 0.
    counted : sequence of int
        Channels that are counted, by their numbers from 0; the counters of others read 0.
    part : callable
        As for `Counters`.

    Members
    -------
    csr : ``In(Axi4Lite)``
    start, stop : ``Out(1)``
    running, stopping, done, error, detail, cycle, busy, starved, full : ``In``
        As from `Accelerator`; `detail` of units that report causes.
    read_moves, write_moves : ``In(1)``
        A word is transferred over the bus.

    Notes
    -----
    The data of a read come `READ_CYCLES` + 2 cycles after its address. After a run and after a
    reset, reads and starts wait until the counters have settled; a start also waits for a soft
    reset. Error code and counters are pipelined, so that the clock frequency does not depend on the
    number of units and channels.
    """

    def __init__(self, channels: int, units: int, reporting=(), *, counted, part=inline):
        self.channels, self.units, self.counted = channels, units, counted
        self.reporting = reporting
        self.part = part
        self.address_bits = address_bits(channels)
        super().__init__(
            {
                "csr": In(Axi4Lite(self.address_bits)),
                "start": Out(1),
                "stop": Out(1),
                "running": In(1),
                "stopping": In(1),
                "done": In(1),
                "error": In(units),
                **({"detail": In(DETAIL_BITS * len(reporting))} if reporting else {}),
                "cycle": In(CYCLE_BITS),
                **dict.fromkeys(EVENTS, In(len(counted))),
                "read_moves": In(1),
                "write_moves": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        csr = self.csr

        write = Signal()
        m.d.comb += [
            write.eq(csr.awvalid & csr.wvalid & ~csr.bvalid),
            csr.awready.eq(write),
            csr.wready.eq(write),
        ]
        m.d.sync += csr.bvalid.eq(write | csr.bvalid & ~csr.bready)

        settled = Signal(init=1)
        wanted, controls, starts, stops = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            controls.eq(write & (csr.awaddr == registers.CONTROL.offset) & csr.wstrb[0]),
            starts.eq(controls & csr.wdata[registers.START.position]),
            stops.eq(controls & csr.wdata[registers.SOFT_RESET.position]),
            self.start.eq(wanted & settled & ~(self.running | self.stopping | self.stop)),
        ]
        m.d.sync += self.stop.eq(stops)
        with m.If(starts & (stops | self.stopping | self.stop | ~self.running)):
            m.d.sync += wanted.eq(1)
        with m.Elif(stops | self.start):
            m.d.sync += wanted.eq(0)

        reads, writes = Signal(32), Signal(32)
        for count, moves in ((reads, self.read_moves), (writes, self.write_moves)):
            with m.If(self.start):
                m.d.sync += count.eq(0)
            with m.Else():
                m.d.sync += count.eq(count + moves)

        code = _first(m, self.error)
        detail = self._detail(m, code)
        single = Signal(32)
        address = Signal(self.address_bits)
        status = {
            registers.RUNNING: self.running,
            registers.DONE: self.done,
            registers.ERROR: code != 0,
            registers.STOPPING: self.stopping | self.stop,
        }
        words = {
            registers.STATUS: [_word(status)],
            registers.ERROR_CODE: [code],
            registers.DETAIL: [detail],
            registers.CYCLES: [self.cycle[:32], self.cycle[32:]],
            registers.READ_BEATS: [reads],
            registers.WRITE_BEATS: [writes],
        }
        value, above = _at(address, words)
        m.d.sync += single.eq(value)
        with m.If(above != 0):
            m.d.sync += single.eq(0)

        counted = Signal(32)
        if self.counted:
            m.submodules.counters = counters = Counters(self.channels, self.counted, part=self.part)
            channel = (address - CHANNEL_BASE)[exact_log2(CHANNEL_STRIDE) :]
            m.d.comb += [
                *(getattr(counters, event).eq(getattr(self, event)) for event in EVENTS),
                counters.running.eq(self.running),
                counters.clear.eq(self.start),
                settled.eq(counters.settled),
            ]
            value, _ = _at(address, {c: [counters.shown[c.name]] for c in COUNTERS})
            m.d.sync += [counters.channel.eq(channel), counted.eq(value)]
            with m.If((address < CHANNEL_BASE) | (channel >= self.channels)):
                m.d.sync += counted.eq(0)

        busy = Signal()
        passed = Signal(range(READ_CYCLES + 1))
        m.d.comb += csr.arready.eq(~busy)
        with m.If(~busy):
            m.d.sync += [busy.eq(csr.arvalid), address.eq(csr.araddr), passed.eq(0)]
        with m.Elif(csr.rvalid):
            m.d.sync += [busy.eq(~csr.rready), csr.rvalid.eq(~csr.rready)]
        with m.Elif(passed != READ_CYCLES):
            m.d.sync += passed.eq(Mux(settled | self.running, passed + 1, 0))
        with m.Else():
            m.d.sync += [csr.rvalid.eq(1), csr.rdata.eq(single | counted)]
        return m

    def _detail(self, m, code):
        """The cause that the unit of an error code reports, two cycles after it; 0 for others."""
        if not self.reporting:
            return Const(0, DETAIL_BITS)
        chosen, detail = Signal(len(self.reporting)), Signal(DETAIL_BITS)
        words = [self.detail.word_select(n, DETAIL_BITS) for n in range(len(self.reporting))]
        m.d.sync += [
            chosen.eq(Cat(code == unit + 1 for unit in self.reporting)),
            detail.eq(select(chosen, words)),
        ]
        return detail


def _word(bits):
    """A register's value from its bits."""
    places = {bit.position: value for bit, value in bits.items()}
    return Cat(places.get(k, Const(0, 1)) for k in range(max(places) + 1))


def _at(address, words):
    """The word at an address, from the words of each register; and the address bits not decoded."""
    places = {
        offset // WORD: word
        for register, values in words.items()
        for offset, word in zip(register.offsets, values, strict=True)
    }
    low, bits = exact_log2(WORD), ceil_log2(max(places) + 1)
    table = Array(places.get(k, 0) for k in range(1 << bits))
    return table[address[low : low + bits]], address[low + bits :]


def _first(m: Module, bits):
    """Priority encoder, a stage per factor of 8: number of the lowest set bit plus one; 0 for none.

    A stage adds the bits of a place within a group of 8 above those of the group that is chosen.
    """
    # The first place is nobody's, so a bit's place is its number plus one.
    found = [(bit, Const(0, 0)) for bit in (Const(0, 1), *bits_of(m, bits))]
    while len(found) > 1:
        following = []
        for k in range(0, len(found), 8):
            group = found[k : k + 8]
            some, number = Signal(), Signal(len(group[0][1]) + 3)
            m.d.sync += [some.eq(Cat(bit for bit, _ in group).any()), number.eq(0)]
            for place, (bit, below) in reversed([*enumerate(group)]):
                with m.If(bit):
                    m.d.sync += number.eq(Cat(below, Const(place, 3)))
            following.append((some, number))
        found = following
    ((_, number),) = found
    return number
