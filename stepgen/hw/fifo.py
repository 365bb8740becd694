"""FIFOs: the registers between units."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ..compile.design import BLOCKRAM, Channel
from ..compile.units.fifo import AHEAD
from .stream import payload_shape, signature

__all__ = ["Fifo"]


class Fifo(wiring.Component):
    """FIFO of one channel.

    Beat i, taken in cycle w, is at the head from cycle ``w + latency`` on; a slot that is popped in
    cycle r is free from cycle ``r + 1`` on. ``w.ready``, ``r.valid`` and ``r.payload`` are
    registers. With a ``delay`` of p the payload arrives p cycles after the handshake: the room
    was taken at the handshake, so a pipeline in front of the FIFO never has to stall.

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
    Latency 1 + delay from registers or LUT RAM, 4 + delay from block RAM (read, output register of
    the RAM, output register of the FIFO). One beat per cycle when the depth is at least the latency + 1.
    """

    def __init__(self, channel: Channel):
        self.channel = channel
        super().__init__({"w": In(signature(channel)), "r": Out(signature(channel))})

    def elaborate(self, platform):
        m = Module()
        depth = self.channel.depth

        level = Signal(range(depth + 1))
        full = Signal()
        push = self.w.valid & self.w.ready
        pop = self.r.valid & self.r.ready
        next_level = Signal.like(level)
        m.d.comb += [self.w.ready.eq(~full), next_level.eq(level + push - pop)]
        m.d.sync += [level.eq(next_level), full.eq(next_level == depth)]

        arrives = push
        for _ in range(self.channel.delay):
            later = Signal()
            m.d.sync += later.eq(arrives)
            arrives = later

        m.submodules.store = store = (
            _BlockStore if self.channel.memory == BLOCKRAM else _Store
        )(self.channel)
        m.d.comb += [
            store.w_valid.eq(arrives),
            store.w_payload.eq(self.w.payload),
            self.r.valid.eq(store.r.valid),
            self.r.payload.eq(store.r.payload),
            store.r.ready.eq(self.r.ready),
        ]
        return m


class _Store(wiring.Component):
    """Output register with registers or LUT RAM behind it; latency 1. Never asked to overflow."""

    def __init__(self, channel: Channel, depth: int | None = None):
        self.shape = payload_shape(channel)
        self.depth = channel.depth if depth is None else depth
        self.style = "distributed" if channel.memory != "registers" else "registers"
        super().__init__(
            {"w_valid": In(1), "w_payload": In(self.shape), "r": Out(signature(channel))}
        )

    def elaborate(self, platform):
        m = Module()
        rows = self.depth - 1
        m.submodules.ram = ram = memory.Memory(
            shape=self.shape, depth=rows, init=[], attrs={"ram_style": self.style}
        )
        write = ram.write_port()
        read = ram.read_port(domain="comb")

        stored = Signal(range(rows + 1))
        load = Signal()
        to_ram = Signal()
        from_ram = Signal()
        m.d.comb += [
            load.eq(~self.r.valid | self.r.ready),
            from_ram.eq(load & (stored != 0)),
            to_ram.eq(self.w_valid & ~(load & (stored == 0))),
            write.en.eq(to_ram),
            write.data.eq(self.w_payload),
        ]
        m.d.sync += stored.eq(stored + to_ram - from_ram)
        with m.If(to_ram):
            m.d.sync += write.addr.eq(Mux(write.addr == rows - 1, 0, write.addr + 1))
        with m.If(from_ram):
            m.d.sync += read.addr.eq(Mux(read.addr == rows - 1, 0, read.addr + 1))
        with m.If(load):
            m.d.sync += [
                self.r.valid.eq(from_ram | self.w_valid),
                self.r.payload.eq(Mux(stored != 0, read.data, self.w_payload)),
            ]
        return m


class _BlockStore(wiring.Component):
    """Block RAM with two read registers in front of a small `_Store`; latency 4."""

    def __init__(self, channel: Channel):
        self.channel = channel
        self.shape = payload_shape(channel)
        self.depth = channel.depth
        super().__init__(
            {"w_valid": In(1), "w_payload": In(self.shape), "r": Out(signature(channel))}
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.ram = ram = memory.Memory(
            shape=self.shape, depth=self.depth, init=[], attrs={"ram_style": "block"}
        )
        m.submodules.ahead = ahead = _Store(self.channel, AHEAD)
        write = ram.write_port()
        read = ram.read_port(domain="sync")
        wiring.connect(m, ahead.r, wiring.flipped(self.r))

        stored = Signal(range(self.depth + 1))
        out = Signal(range(AHEAD + 1))
        fetch = Signal()
        fetched = Signal()
        held = Signal()
        held_payload = Signal(self.shape)
        popped = self.r.valid & self.r.ready
        m.d.comb += [
            write.en.eq(self.w_valid),
            write.data.eq(self.w_payload),
            fetch.eq((stored != 0) & (out != AHEAD)),
            read.en.eq(1),
            ahead.w_valid.eq(held),
            ahead.w_payload.eq(held_payload),
        ]
        m.d.sync += [
            stored.eq(stored + self.w_valid - fetch),
            out.eq(out + fetch - popped),
            fetched.eq(fetch),
            held.eq(fetched),
            held_payload.eq(read.data),
        ]
        with m.If(self.w_valid):
            m.d.sync += write.addr.eq(Mux(write.addr == self.depth - 1, 0, write.addr + 1))
        with m.If(fetch):
            m.d.sync += read.addr.eq(Mux(read.addr == self.depth - 1, 0, read.addr + 1))
        return m
