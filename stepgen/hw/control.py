"""Control registers: start a run, give it up, see how it went."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .accelerator import CYCLE_BITS
from .axi import Axi4Lite
from .counters import Counters
from .library import whole
from .select import bits_of

__all__ = ["Control", "address_bits"]

COUNTERS, STRIDE = 0x1000, 16
"""Address of the counters of channel 0, and from one channel's to the next's."""

READ_CYCLES = 5
"""Cycles from the address of a read until all that it may show is there."""


def address_bits(channels: int) -> int:
    """Bits of an address that reaches the counters of so many channels, at least 16."""
    return max(16, (COUNTERS + STRIDE * channels - 1).bit_length())


class Control(wiring.Component):
    """AXI4-Lite registers of 32 bits.

    ====== ===========================================================================
    0x00   control, write only: bit 0 starts a run, unless one is running; bit 1 is the soft
           reset, with bit 0 beside it a run follows
    0x04   status: bit 0 running, 1 done, 2 error, 3 stopping
    0x08   index of the first unit in error, in the order of the design table, plus one
    0x10   cycles of the run, low word; 0x14 high word
    0x18   words read over the bus; 0x1c words written
    0x1000 counters of channel 0: busy (beats that left), 0x1004 starved (cycles with
           nothing at the head), 0x1008 full (cycles without room); then every 16 bytes
           those of the next channel
    ====== ===========================================================================

    Parameters
    ----------
    channels, units : int
    counters : bool
        Whether channels are counted; else their counters read 0.
    part : callable
        As for `Counters`.

    Members
    -------
    csr : ``In(Axi4Lite)``
    start, stop : ``Out(1)``
    running, stopping, done, error, cycle, moves_out, empty, full : ``In``
        As from `Accelerator`.
    read_moves, write_moves : ``In(1)``
        A word moves over the bus.

    Notes
    -----
    A read takes 6 cycles; a read or a start that comes before the counters of a finished run, or
    those after a reset, have settled waits for them, and a start waits for a soft reset. Error code
    and counters go through registers, so that the clock does not depend on the number of units and
    channels.
    """

    def __init__(self, channels: int, units: int, *, counters: bool, part=whole):
        self.channels, self.units, self.counters = channels, units, counters
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
                "cycle": In(CYCLE_BITS),
                "moves_out": In(channels),
                "empty": In(channels),
                "full": In(channels),
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
        wanted, starts, stops = Signal(), Signal(), Signal()
        m.d.comb += [
            Cat(starts, stops).eq(Mux(write & (csr.awaddr == 0) & csr.wstrb[0], csr.wdata[:2], 0)),
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
        registers = Signal(32)
        address = Signal(self.address_bits)
        status = Cat(self.running, self.done, code != 0, self.stopping | self.stop)
        words = [0, status, code, 0, self.cycle[:32], self.cycle[32:], reads, writes]
        m.d.sync += registers.eq(Array(words)[address[2:5]])
        with m.If(address[5:] != 0):
            m.d.sync += registers.eq(0)

        counted = Signal(32)
        if self.counters and self.channels:
            m.submodules.counters = counters = Counters(self.channels, part=self.part)
            channel = (address - COUNTERS)[4:]
            m.d.comb += [
                counters.busy.eq(self.moves_out),
                counters.starved.eq(self.empty),
                counters.full.eq(self.full),
                counters.running.eq(self.running),
                counters.clear.eq(self.start),
                settled.eq(counters.settled),
            ]
            shown = counters.shown
            m.d.sync += [
                counters.channel.eq(channel),
                counted.eq(Array([shown.busy, shown.starved, shown.full, 0])[address[2:4]]),
            ]
            with m.If((address < COUNTERS) | (channel >= self.channels)):
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
            m.d.sync += [csr.rvalid.eq(1), csr.rdata.eq(registers | counted)]
        return m


def _first(m: Module, bits):
    """Number of the lowest bit that is set, plus one, or 0; through a register per 8 to one."""
    found = [(bit, number + 1) for number, bit in enumerate(bits_of(m, bits))]
    while len(found) > 1:
        following = []
        for k in range(0, len(found), 8):
            some = Signal()
            number = Signal(range(len(bits) + 1))
            group = found[k : k + 8]
            m.d.sync += some.eq(Cat(bit for bit, _ in group).any())
            for bit, value in reversed(group):
                with m.If(bit):
                    m.d.sync += number.eq(value)
            following.append((some, number))
        found = following
    ((some, number),) = found
    return Mux(some, number, 0)
