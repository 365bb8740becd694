"""An SDR SDRAM behind the AXI4 port of a design."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from stepgen.hw.axi import Axi4
from stepgen.hw.board.sdram.pins import SdramPins
from stepgen.hw.board.sdram.scheduler import Scheduler
from stepgen.hw.design.sdram import LENGTH_BITS, sdram_queues
from stepgen.hw.design.table import Bus
from stepgen.hw.fifo import Fifo
from stepgen.hw.primitives import delayed
from stepgen.ir.sdram_timing import SdramTiming

__all__ = ["SdramMemory"]


class SdramMemory(wiring.Component):
    """Queues for the channels of a bus, and the way of the data to the pins and back.

    Parameters
    ----------
    timing : SdramTiming
    bus : Bus

    Members
    -------
    port : ``In(Axi4)``
    running : ``In(1)``
        Of the design; cycle 0 is the first in which it is high.
    pins : ``Out(SdramPins)``
        Registers drive them. The SDRAM takes a command within the cycle that shows it, and what
        it reads is taken at the end of a cycle, of ``late`` cycles later.

    Raises
    ------
    StepError
        If the bus does not fit the pins, or its bursts not a row.

    Notes
    -----
    A word per cycle, or per as many cycles as it has transfers on the pins. From a read's address
    to its first word, while its row is open and nothing else goes on,
    ``6 + cas + transfers + late`` cycles; 3 more where the queue of words is in block RAM.
    """

    def __init__(self, timing: SdramTiming, bus: Bus):
        self.timing, self.bus = timing, bus
        timing.check(bus.data_bits, bus.burst)
        super().__init__(
            {
                "port": In(Axi4(bus.address_bits, bus.data_bits)),
                "running": In(1),
                "pins": Out(SdramPins(timing)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        timing, pins = self.timing, self.pins
        m.submodules.scheduler = scheduler = Scheduler(timing, self.bus.data_bits)
        m.d.comb += [
            scheduler.running.eq(self.running),
            Cat(pins.we_n, pins.cas_n, pins.ras_n).eq(scheduler.command),
            pins.ba.eq(scheduler.bank),
            pins.a.eq(scheduler.address),
        ]
        queues = sdram_queues(timing, self.bus)
        self._read(m, scheduler, queues)
        self._write(m, scheduler, queues)
        return m

    def _requests(self, m, way, channel, head):
        """The queue of the bursts of a direction."""
        port = self.port
        valid, ready, address, length = (
            getattr(port, f"a{way}{name}") for name in ("valid", "ready", "addr", "len")
        )
        word = address[exact_log2(self.bus.bytes) :][: len(head) - LENGTH_BITS]
        m.submodules[f"a{way}"] = queue = Fifo(channel)
        m.d.comb += [
            ready.eq(queue.w.ready),
            queue.w.valid.eq(valid),
            queue.w.payload.eq(Cat(length, word)),
            head.eq(queue.r.payload),
        ]
        return queue.r

    def _read(self, m, scheduler, queues):
        """From the pins to ``r``, as much as there is space for."""
        port, bits = self.port, self.timing.data_bits
        transfers, depth = self.timing.transfers(self.bus.data_bits), queues["r"].depth
        request = self._requests(m, "r", queues["ar"], scheduler.read)
        m.submodules.r = words = Fifo(queues["r"])
        spare, returned = Signal(range(depth + 1), init=depth), Signal()
        length = request.payload[:LENGTH_BITS]
        m.d.comb += [
            scheduler.reads.eq(request.valid & (spare > length)),
            request.ready.eq(scheduler.take_read),
        ]
        m.d.sync += [
            returned.eq(words.r.valid & words.r.ready),
            spare.eq(spare - Mux(scheduler.take_read, length + 1, 0) + returned),
        ]

        moves, ends = Signal(), Signal()
        later = Signal()
        m.d.sync += later.eq(scheduler.ends)
        m.d.comb += [
            moves.eq((scheduler.fires | scheduler.second) & ~scheduler.writing),
            ends.eq(Mux(scheduler.second, later, scheduler.ends & ~scheduler.pair)),
        ]
        seen = Signal(bits, reset_less=True)
        m.d.sync += seen.eq(self.pins.dq_i)
        earlier = [delayed(m, seen, k, reset_less=True) for k in range(transfers)]
        last = delayed(m, ends, queues["r"].delay, reset_less=True)
        m.d.comb += [
            words.w.valid.eq(moves),
            words.w.payload.eq(Cat(last, *reversed(earlier))),
            port.rvalid.eq(words.r.valid),
            words.r.ready.eq(port.rready),
            Cat(port.rlast, port.rdata).eq(words.r.payload),
        ]

    def _write(self, m, scheduler, queues):
        """From ``w`` to the pins, and the answers."""
        port, pins, bits = self.port, self.pins, self.timing.data_bits
        transfers = self.timing.transfers(self.bus.data_bits)
        request = self._requests(m, "w", queues["aw"], scheduler.write)
        m.submodules.w = words = Fifo(queues["w"])
        m.submodules.b = answers = Fifo(queues["b"])
        whole, comes = Signal(range(queues["w"].depth + 1)), Signal()
        moves = (scheduler.fires | scheduler.second) & scheduler.writing
        m.d.comb += [
            port.wready.eq(words.w.ready),
            words.w.valid.eq(port.wvalid),
            words.w.payload.eq(Cat(port.wdata, port.wstrb)),
            words.r.ready.eq(moves),
            # A burst is whole once its last word is at the head or behind the others.
            comes.eq(delayed(m, port.wvalid & port.wready & port.wlast, queues["w"].latency - 1)),
            scheduler.writes.eq(request.valid & (whole != 0)),
            request.ready.eq(scheduler.take_write),
            scheduler.answered.eq(answers.w.ready),
            answers.w.valid.eq(scheduler.fires & scheduler.ends & scheduler.writing),
            port.bvalid.eq(answers.r.valid),
            answers.r.ready.eq(port.bready),
        ]
        m.d.sync += whole.eq(whole + comes - scheduler.take_write)

        # The head leaves when its first transfer does; the others wait here.
        data, strobes = words.r.payload[: self.bus.data_bits], words.r.payload[-self.bus.bytes :]
        kept, masks = Signal(len(data) - bits), Signal(len(strobes) - bits // 8)
        left = Signal(range(self.timing.burst(self.bus.data_bits)))
        m.d.sync += [
            pins.dq_oe.eq(moves | (left != 0)),
            pins.dq_o.eq(Mux(moves, data[:bits], kept[:bits])),
            pins.dqm.eq(0),
            kept.eq(Mux(moves, data[bits:], kept >> bits)),
            masks.eq(Mux(moves, ~strobes[bits // 8 :], masks >> bits // 8)),
        ]
        with m.If(moves):
            m.d.sync += [
                pins.dqm.eq(~strobes[: bits // 8]),
                left.eq(Mux(scheduler.second, 0, self.timing.burst(self.bus.data_bits) - 1)),
            ]
        with m.Elif(left != 0):
            # A single word of a pair: the other one stays as it is.
            others = masks[: bits // 8] if transfers > 1 else -1
            m.d.sync += [left.eq(left - 1), pins.dqm.eq(others)]
