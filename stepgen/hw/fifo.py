"""FIFOs: the channels between units, and the units' output registers."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.design.block_rams import FEW
from stepgen.hw.design.table import BLOCKRAM, LEAST_DEPTH, Channel
from stepgen.hw.primitives import BlockRam, after, delayed, is_ice40, stepped, stored_in
from stepgen.hw.stream import payload_shape, signature
from stepgen.ir.wire import BARE

__all__ = ["Fifo"]

FEW_ROWS = 16
"""Rows up to which the row after one is compared without a carry chain."""


class Fifo(wiring.Component):
    """FIFO of one channel.

    Beat i, taken in cycle w, is at the head from cycle ``w + latency`` on; a slot that is popped in
    cycle r is free from cycle ``r + 1`` on. ``w.ready`` and ``r.valid`` are registers, and
    ``r.payload`` is one, which may be a block RAM's own, or a row of LUT RAM at a registered
    address. With a ``delay`` of p the payload arrives p cycles after the handshake: the slot is
    reserved at the handshake (credit), so a pipeline in front of the FIFO never has to stall.
    A channel without lanes gets the structure alone: the data of a value is zero. Of short rows
    only the lanes that hold columns are stored, and zeros leave in place of the padding.

    Parameters
    ----------
    channel : Channel
        Width, depth, delay; the kind of memory follows from the size.
    registered : bool
        Whether the head of one in LUT RAM is in a register, at the same latency: for a head that
        has far to go within the cycle, as many rows need a multiplexer already.

    Members
    -------
    w : ``In(stream)``
        Tail.
    r : ``Out(stream)``
        Head.

    Notes
    -----
    Latency 1 + delay from a register (depth 2) or LUT RAM, 3 + delay from block RAM (write, latch,
    output register of the RAM). One beat per cycle when the depth is at least the latency + 1.
    Resources and clock: ``benchmarks/RESULTS.md``, d.
    """

    def __init__(self, channel: Channel, *, registered: bool = False):
        self.channel, self.registered = channel, registered
        super().__init__({"w": In(signature(channel)), "r": Out(signature(channel))})

    def elaborate(self, platform):
        m = Module()
        push = self.w.valid & self.w.ready

        payload = Signal.like(self.w.payload)
        m.d.comb += payload.eq(self.w.payload)
        if self.channel.rank is not None and not self.channel.lanes:
            with m.If(self.w.payload.kind != BARE):
                m.d.comb += payload.data.eq(0)

        m.submodules.store = store = self._store(platform)
        m.d.comb += [
            self.w.ready.eq(self._credit(m, push) if store.reserved else store.w_ready),
            store.w_valid.eq(delayed(m, push, self.channel.delay)),
            self._converted(store.w_payload, payload, self.channel, self.channel.stored),
            self.r.valid.eq(store.r.valid),
            self._converted(self.r.payload, store.r.payload, self.channel.stored, self.channel),
            store.r.ready.eq(self.r.ready),
        ]
        return m

    def _store(self, platform):
        """What stores the beats; slots are reserved for those that come later than their push."""
        stored, depth, reserved = self.channel.stored, self.channel.depth, self.channel.delay > 0
        if self.channel.memory == BLOCKRAM:
            return _BlockStore(stored)
        if self.registered and depth > LEAST_DEPTH and not is_ice40(platform):
            return _Registers(stored, depth, "distributed")
        return _small(stored, depth, platform, reserved)

    def _credit(self, m, push):
        """Whether a slot is neither taken nor reserved; a register."""
        pop, depth = self.r.valid & self.r.ready, self.channel.depth
        level, full = Signal(range(depth + 1)), Signal()
        m.d.sync += full.eq(~pop & (full | self.w.valid & (level == depth - 1)))
        with m.If(push != pop):
            m.d.sync += level.eq(stepped(level, back=pop))
        return ~full

    def _converted(self, to, payload, before, after):
        """Assign a payload, whose lanes are as in the channel `before`, to one as in `after`."""
        if before == after:
            return to.eq(payload)
        data = payload.data
        if before.bits != after.bits:
            lanes = (data.word_select(k, before.bits) for k in range(before.lanes))
            data = Cat(_resized(lane, after.bits) for lane in lanes)
        return [to.kind.eq(payload.kind), to.stop.eq(payload.stop), to.data.eq(data)]


def _resized(lane, bits):
    """A signed lane with so many bits: cut off above, or with copies of the sign there."""
    if len(lane) >= bits:
        return lane[:bits]
    return Cat(lane, lane[-1].replicate(bits - len(lane)))


def _small(channel, depth, platform, reserved):
    """What stores a few beats: LUT RAM, where there is some, from three on."""
    if depth == LEAST_DEPTH:
        return _Pair(channel, reserved)
    if is_ice40(platform):
        rows = depth - 1
        return _Registers(channel, rows, "registers" if rows <= FEW else "block")
    return _LutRam(channel, depth, reserved)


def _row_after(m, row, other, moves, depth):
    """The row after `row`, and whether that is `other`, which goes to its next row with `moves`.

    With more than a few rows the row before `other` is kept, so that no adder is in front of the
    comparison.
    """
    following = after(row, depth)
    if depth <= FEW_ROWS:
        return following, following == other
    before = Signal.like(other, name="before", init=depth - 1)
    with m.If(moves):
        m.d.sync += before.eq(other)
    return following, row == before


class _Store(wiring.Component):
    """Stores the beats of a FIFO in order.

    Parameters
    ----------
    channel : Channel
        Width.
    reserved : bool
        Whether a beat comes only where its slot was reserved before; without, `w_ready` says where
        there is one.

    Members
    -------
    w_valid, w_payload : ``In``
        A beat to store; it is at the head in the next cycle, if no other one is before it.
    w_ready : ``Out``
        Whether a slot is free; a register. Not driven where slots are reserved.
    r : ``Out(stream)``
        Head.
    """

    def __init__(self, channel: Channel, reserved: bool):
        self.shape = payload_shape(channel)
        self.reserved = reserved
        super().__init__(
            {
                "w_valid": In(1),
                "w_ready": Out(1),
                "w_payload": In(self.shape),
                "r": Out(signature(channel)),
            }
        )


class _Pair(_Store):
    """Output register and a second one behind it; latency 1.

    While the second register is free it takes what comes in each cycle, so that the producer's
    ``valid`` is not on the path to its enable; a beat that goes straight to the output register is
    ignored there.
    """

    def elaborate(self, platform):
        m = Module()
        m.submodules.second = second = memory.Memory(
            shape=self.shape, depth=1, init=[], attrs=stored_in("registers")
        )
        write, read = second.write_port(), second.read_port(domain="comb")
        load, full = Signal(), Signal()
        m.d.comb += [
            self.w_ready.eq(~full),
            load.eq(~self.r.valid | self.r.ready),
            write.en.eq(~full),
            write.data.eq(self.w_payload),
        ]
        m.d.sync += full.eq(~load & (full | self.w_valid))
        with m.If(load):
            m.d.sync += [
                self.r.valid.eq(full | self.w_valid),
                self.r.payload.eq(Mux(full, read.data, self.w_payload)),
            ]
        return m


class _LutRam(_Store):
    """LUT RAM that is read at its first row; latency 1.

    There is no output register: the row is read within the cycle, so a beat takes no multiplexer
    between the memory and what has just arrived. Where slots are not reserved, the next row is
    written in every cycle in which it is free, so the producer's ``valid`` is not on that path.
    """

    def __init__(self, channel: Channel, depth: int, reserved: bool):
        self.depth = depth
        super().__init__(channel, reserved)

    def elaborate(self, platform):
        m = Module()
        m.submodules.ram = ram = memory.Memory(
            shape=self.shape, depth=self.depth, init=[], attrs=stored_in("distributed")
        )
        write, read = ram.write_port(), ram.read_port(domain="comb")
        push, pop = Signal(), self.r.valid & self.r.ready
        next_write, reaches_read = _row_after(m, write.addr, read.addr, pop, self.depth)
        next_read, reaches_write = _row_after(m, read.addr, write.addr, push, self.depth)
        # Both addresses are alike in an empty and in a full memory; the flags say which it is.
        if self.reserved:
            m.d.comb += [push.eq(self.w_valid), write.en.eq(self.w_valid)]
        else:
            full = Signal()
            m.d.comb += [
                self.w_ready.eq(~full),
                write.en.eq(~full),
                push.eq(self.w_valid & ~full),
            ]
            m.d.sync += full.eq(~pop & (full | self.w_valid & reaches_read))
        m.d.comb += [write.data.eq(self.w_payload), self.r.payload.eq(read.data)]
        m.d.sync += self.r.valid.eq(push | self.r.valid & ~(self.r.ready & reaches_write))
        with m.If(push):
            m.d.sync += write.addr.eq(next_write)
        with m.If(pop):
            m.d.sync += read.addr.eq(next_read)
        return m


class _Registers(_Store):
    """Output register behind a memory; latency 1.

    A beat that goes straight to the output register is written to the memory too, and ignored
    there: so the consumer's `ready` is not on the path to the memory's write enable. Block RAM is
    read a cycle ahead, at the row that will be the first.
    """

    def __init__(self, channel: Channel, rows: int, style: str):
        self.rows, self.style = rows, style
        super().__init__(channel, reserved=True)

    def elaborate(self, platform):
        m = Module()
        ahead = self.style == "block"
        m.submodules.ram = ram = memory.Memory(
            shape=self.shape, depth=self.rows, init=[], attrs=stored_in(self.style)
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
            write.en.eq(self.w_valid),
            write.data.eq(self.w_payload),
        ]
        m.d.sync += some.eq(Mux(load, some & (self.w_valid | (stored != 1)), some | self.w_valid))
        with m.If(to_ram != from_ram):
            m.d.sync += stored.eq(stepped(stored, back=load))
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


class _BlockStore(_Store):
    """Block RAM whose latch and output register are stages that a beat moves through; latency 3.

    Each stage takes the next beat once it is free or its own beat moves on, so the head needs no
    other registers.
    """

    def __init__(self, channel: Channel):
        self.channel = channel
        super().__init__(channel, reserved=True)

    def elaborate(self, platform):
        m = Module()
        depth = self.channel.depth
        m.submodules.ram = ram = BlockRam(self.channel.width, depth, held=True)
        some = Signal()  # a row is stored that was not read
        latched = Signal()  # the latch holds a beat
        next_read, reaches_write = _row_after(m, ram.r_addr, ram.w_addr, self.w_valid, depth)
        m.d.comb += [
            ram.w_en.eq(self.w_valid),
            ram.w_data.eq(self.w_payload),
            ram.out_en.eq(~self.r.valid | self.r.ready),
            ram.r_en.eq(~latched | ram.out_en),
            self.r.payload.eq(ram.r_data),
        ]
        m.d.sync += some.eq(self.w_valid | some & ~(ram.r_en & reaches_write))
        with m.If(self.w_valid):
            m.d.sync += ram.w_addr.eq(after(ram.w_addr, depth))
        with m.If(ram.r_en):
            m.d.sync += latched.eq(some)
            with m.If(some):
                m.d.sync += ram.r_addr.eq(next_read)
        with m.If(ram.out_en):
            m.d.sync += self.r.valid.eq(latched)
        return m
