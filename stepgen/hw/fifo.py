"""FIFOs: the channels between units, and the units' output registers."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ..ir.wire import BARE
from .design import stages
from .design.block_rams import FEW
from .design.table import BLOCKRAM, LEAST_DEPTH, READ_AHEAD, Channel
from .primitives import BlockRam, after, delayed, is_ice40
from .stream import payload_shape, signature

__all__ = ["Fifo"]


class Fifo(wiring.Component):
    """FIFO of one channel.

    Beat i, taken in cycle w, is at the head from cycle ``w + latency`` on; a slot that is popped in
    cycle r is free from cycle ``r + 1`` on. ``w.ready`` and ``r.valid`` are registers, and
    ``r.payload`` is one or a row of LUT RAM at a registered address. With a ``delay`` of p the
    payload arrives p cycles after the handshake: the slot is reserved at the handshake (credit), so
    a pipeline in front of the FIFO never has to stall.
    A channel without lanes gets the structure alone: the data of a value is zero. Of short rows
    only the lanes that hold columns are stored, and zeros leave in place of the padding.

    Parameters
    ----------
    channel : Channel
        Width, depth, delay; the kind of memory follows from the depth.

    Members
    -------
    w : ``In(stream)``
        Tail.
    r : ``Out(stream)``
        Head.

    Notes
    -----
    Latency 1 + delay from a register (depth 2) or LUT RAM, 4 + delay from block RAM (write, read,
    output register of the RAM, output register of the FIFO). One beat per cycle when the depth is
    at least the latency + 1. Resources and clock: ``benchmarks/RESULTS.md``, d.
    """

    def __init__(self, channel: Channel):
        self.channel = channel
        super().__init__({"w": In(signature(channel)), "r": Out(signature(channel))})

    def elaborate(self, platform):
        m = Module()
        depth = self.channel.depth
        push = self.w.valid & self.w.ready
        pop = self.r.valid & self.r.ready

        level = Signal(range(depth + 1))
        full = Signal()
        m.d.comb += self.w.ready.eq(~full)
        m.d.sync += full.eq(~pop & (full | self.w.valid & (level == depth - 1)))
        with m.If(push != pop):
            m.d.sync += level.eq(Mux(push, level + 1, level - 1))

        payload = Signal.like(self.w.payload)
        m.d.comb += payload.eq(self.w.payload)
        if self.channel.rank is not None and not self.channel.lanes:
            with m.If(self.w.payload.kind != BARE):
                m.d.comb += payload.data.eq(0)

        stored = self.channel.stored
        if self.channel.memory == BLOCKRAM:
            store = _BlockStore(stored, platform)
        else:
            store = _small(stored, depth, platform)
        m.submodules.store = store
        m.d.comb += [
            store.w_valid.eq(delayed(m, push, self.channel.delay)),
            store.w_open.eq(store.w_valid if self.channel.delay else ~full),
            self._copied(store.w_payload, payload),
            self.r.valid.eq(store.r.valid),
            self._copied(self.r.payload, store.r.payload),
            store.r.ready.eq(self.r.ready),
        ]
        return m

    def _copied(self, to, payload):
        """Assign a payload; of short rows only the stored lanes, and zeros to the others."""
        if not self.channel.short:
            return to.eq(payload)
        return [getattr(to, name).eq(getattr(payload, name)) for name in ("kind", "stop", "data")]


def _small(channel, depth, platform):
    """What stores a few beats: LUT RAM, where there is some, from three on."""
    registers = depth == LEAST_DEPTH or is_ice40(platform)
    return (_Store if registers else _LutRam)(channel, depth)


def _ports(shape, channel):
    return {
        "w_valid": In(1),
        "w_open": In(1),
        "w_payload": In(shape),
        "r": Out(signature(channel)),
    }


class _LutRam(wiring.Component):
    """LUT RAM that is read at its first row; latency 1. Does not check overflow.

    There is no output register: the row is read within the cycle, so a beat takes no multiplexer
    between the memory and what has just arrived. The write enable is `w_open`, which shows ahead
    that the next row is free: a row that nothing was pushed into is written again.
    """

    def __init__(self, channel: Channel, depth: int):
        self.shape = payload_shape(channel)
        self.depth = depth
        super().__init__(_ports(self.shape, channel))

    def elaborate(self, platform):
        m = Module()
        m.submodules.ram = ram = memory.Memory(
            shape=self.shape, depth=self.depth, init=[], attrs={"ram_style": "distributed"}
        )
        write, read = ram.write_port(), ram.read_port(domain="comb")
        stored, pop = Signal(range(self.depth + 1)), Signal()
        m.d.comb += [
            pop.eq(self.r.valid & self.r.ready),
            write.en.eq(self.w_open),
            write.data.eq(self.w_payload),
            self.r.payload.eq(read.data),
        ]
        with m.If(self.w_valid != pop):
            m.d.sync += [
                stored.eq(Mux(pop, stored - 1, stored + 1)),
                self.r.valid.eq(~pop | (stored != 1)),
            ]
        with m.If(self.w_valid):
            m.d.sync += write.addr.eq(after(write.addr, self.depth))
        with m.If(pop):
            m.d.sync += read.addr.eq(after(read.addr, self.depth))
        return m


class _Store(wiring.Component):
    """Output register behind registers or block RAM; latency 1. Does not check overflow.

    A beat that goes straight to the output register is written to the memory too, and ignored
    there: so the consumer's `ready` is not on the path to the memory's write enable. Nor is the
    producer's ``valid``, where `w_open` shows ahead that the next row is free. Block RAM is read a
    cycle ahead, at the row that will be the first.
    """

    def __init__(self, channel: Channel, depth: int):
        self.shape = payload_shape(channel)
        self.rows = depth - 1
        super().__init__(_ports(self.shape, channel))

    def elaborate(self, platform):
        m = Module()
        ahead = self.rows > FEW
        style = "block" if ahead else "registers"
        m.submodules.ram = ram = memory.Memory(
            shape=self.shape, depth=self.rows, init=[], attrs={"ram_style": style}
        )
        write = ram.write_port()
        read = ram.read_port(transparent_for=[write]) if ahead else ram.read_port(domain="comb")
        first = Signal.like(read.addr)

        stored = Signal(range(self.rows + 1))
        some = Signal()  # stored != 0
        load, to_ram, from_ram = Signal(), Signal(), Signal()
        m.d.comb += [
            load.eq(~self.r.valid | self.r.ready),
            from_ram.eq(load & some),
            to_ram.eq(self.w_valid & (some | ~load)),
            write.en.eq(self.w_open),
            write.data.eq(self.w_payload),
        ]
        m.d.sync += some.eq(Mux(load, some & (self.w_valid | (stored != 1)), some | self.w_valid))
        with m.If(to_ram != from_ram):
            m.d.sync += stored.eq(Mux(load, stored - 1, stored + 1))
        with m.If(to_ram):
            m.d.sync += write.addr.eq(after(write.addr, self.rows))
        with m.If(from_ram):
            m.d.sync += first.eq(after(first, self.rows))
        following = Mux(from_ram, after(first, self.rows), first) if ahead else first
        m.d.comb += read.addr.eq(following)
        with m.If(load):
            m.d.sync += [
                self.r.valid.eq(some | self.w_valid),
                self.r.payload.eq(Mux(some, read.data, self.w_payload)),
            ]
        return m


class _BlockStore(wiring.Component):
    """Block RAM with its output register, read ahead into a small `_Store`; latency 4."""

    def __init__(self, channel: Channel, platform):
        self.channel = channel
        self.shape = payload_shape(channel)
        self.depth = channel.depth
        self.ahead = _small(channel, READ_AHEAD, platform)
        super().__init__(_ports(self.shape, channel))

    def elaborate(self, platform):
        m = Module()
        m.submodules.ram = ram = BlockRam(self.channel.width, self.depth)
        m.submodules.ahead = ahead = self.ahead
        wiring.connect(m, ahead.r, wiring.flipped(self.r))

        stored = Signal(range(self.depth + 1))
        some = Signal()  # stored != 0
        out = Signal(range(READ_AHEAD + 1))
        credit = Signal(init=1)  # out != READ_AHEAD
        fetch = Signal()
        popped = self.r.valid & self.r.ready
        m.d.comb += [
            ram.w_en.eq(self.w_valid),
            ram.w_data.eq(self.w_payload),
            fetch.eq(some & credit),
            ahead.w_valid.eq(delayed(m, fetch, stages.BLOCK_RAM)),
            ahead.w_open.eq(ahead.w_valid),
            ahead.w_payload.eq(ram.r_data),
        ]
        with m.If(self.w_valid != fetch):
            m.d.sync += [
                stored.eq(Mux(fetch, stored - 1, stored + 1)),
                some.eq(~fetch | (stored != 1)),
            ]
        with m.If(popped != fetch):
            m.d.sync += [
                out.eq(Mux(fetch, out + 1, out - 1)),
                credit.eq(~fetch | (out != READ_AHEAD - 1)),
            ]
        with m.If(self.w_valid):
            m.d.sync += ram.w_addr.eq(after(ram.w_addr, self.depth))
        with m.If(fetch):
            m.d.sync += ram.r_addr.eq(after(ram.r_addr, self.depth))
        return m
