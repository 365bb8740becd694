"""A design with all that it needs on a board, behind two wires."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from stepgen.hw.board import cobs, uart
from stepgen.hw.board.buffers import BufferIn, BufferOut
from stepgen.hw.board.crc import FRAME_BYTE, Closer
from stepgen.hw.board.memory import BLOCK_TIMING, SINGLE_TIMING, BlockMemory, SingleMemory
from stepgen.hw.board.protocol import COUNT_WORDS, STREAM_BITS
from stepgen.hw.board.requests import Requests
from stepgen.hw.board.sdram import SdramMemory, SdramPins
from stepgen.hw.board.server import Server
from stepgen.hw.board.spaces import MemorySpace, RegisterSpace, identity, serve_identity
from stepgen.hw.design.registers import address_bits
from stepgen.hw.design.table import Channel, Design
from stepgen.hw.fifo import Fifo
from stepgen.hw.library import inline
from stepgen.hw.names import verilog_name
from stepgen.hw.primitives import resets
from stepgen.hw.sources import circuits
from stepgen.hw.system import System
from stepgen.hw.units.axi.params import Axi
from stepgen.hw.units.sink.params import Sink
from stepgen.hw.units.source.params import Source
from stepgen.ir.errors import StepError
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.sdram_timing import SdramTiming

__all__ = ["BoardTop", "Surroundings"]


@dataclass(frozen=True)
class Surroundings:
    """What stands around a design on a board.

    Parameters
    ----------
    clock : int
        Hz, of the design and all around it.
    bit_cycles : int
        Clock cycles of a bit on the serial link.
    memory_words : int
        Bus words of the off-chip memory, a power of two.
    beats : int
        Beats in the buffer of each stream port, a power of two.
    sdram : SdramTiming or None
        Of the memory; None for one on the chip.
    single_port : bool
        Whether a memory on the chip has one port, not two.

    Raises
    ------
    StepError
        If a bit is too short to be sampled.
    """

    clock: int
    bit_cycles: int
    memory_words: int
    beats: int
    sdram: SdramTiming | None = None
    single_port: bool = False

    def __post_init__(self) -> None:
        if self.bit_cycles < uart.LEAST_CYCLES:
            raise StepError(
                f"a bit on the link must last {uart.LEAST_CYCLES} clock cycles or more, not "
                f"{self.bit_cycles}: choose a slower link or a faster clock"
            )

    @property
    def memory(self) -> MemoryTiming:
        """When a memory on the chip answers."""
        return SINGLE_TIMING if self.single_port else BLOCK_TIMING

    def digest(self, design: Design) -> bytes:
        """SHA-256 of the design, its circuits, and what stands around it."""
        text = json.dumps([design.hash, circuits(design), asdict(self)])
        return hashlib.sha256(text.encode()).digest()


class BoardTop(wiring.Component):
    """A design, its memory, buffers for its streams, and the link to a host.

    Parameters
    ----------
    design : Design
    around : Surroundings
    part : callable
        As for `Accelerator`.

    Members
    -------
    rx : ``In(1)``
        From the host, asynchronous.
    tx : ``Out(1)``
        To the host.
    running : ``Out(1)``
    sdram : ``Out(SdramPins)``
        Of a design with a memory bus, where the memory is an SDRAM.
    """

    def __init__(self, design: Design, around: Surroundings, *, part=inline):
        self.design, self.around, self.part = design, around, part
        members = {"rx": In(1, init=1), "tx": Out(1, init=1), "running": Out(1)}
        self.pins = around.sdram is not None and next(design.of_kind(Axi), None) is not None
        if self.pins:
            members["sdram"] = Out(SdramPins(around.sdram))
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        self._reset = resets(m, platform)
        m.submodules.system = system = System(self.design, part=self.part)
        server, bad = self._link(m)
        around = self.around
        bus_words = around.memory_words if system.bus else 0
        words = identity(
            around.digest(self.design), around.clock, bus_words * self.design.bus.bytes // 4
        )
        serve_identity(m, server.identity, words, bad)
        m.submodules.registers = registers = RegisterSpace(address_bits(len(self.design.channels)))
        wiring.connect(m, server.registers, registers.access)
        _drive(m, registers.csr, system, "csr")
        self._memory(m, system, server.memory)
        self._streams(m, system, server)
        m.d.comb += self.running.eq(system.running)
        return m

    def _parted(self, m, name, part, *identity):
        """Add a part with a reset of its own."""
        kind = f"board_{name.partition('_')[0]}"
        m.submodules[name] = self.part(part, kind, identity, next(self._reset))
        return part

    def _link(self, m):
        """Requests from one wire, answers on the other."""
        m.submodules.receiver = receiver = uart.Receiver(self.around.bit_cycles)
        m.submodules.decoder = decoder = cobs.Decoder()
        requests = self._parted(m, "requests", Requests())
        server = self._parted(m, "server", Server())
        m.submodules.closer = closer = Closer()
        m.submodules.encoder = encoder = cobs.Encoder()
        m.submodules.sender = sender = uart.Sender(self.around.bit_cycles)
        m.d.comb += [receiver.wire.eq(self.rx), self.tx.eq(sender.wire)]
        for name in ("valid", "data", "broken"):
            m.d.comb += getattr(decoder, name).eq(getattr(receiver, name))
        for name in ("byte", "content", "ends", "whole"):
            m.d.comb += getattr(requests, name).eq(getattr(decoder, name))
        wiring.connect(m, requests.o, server.i)
        # Registers between them: each decides from the next one's ready what it does.
        for name, giver, taker in (("answers", server, closer), ("closed", closer, encoder)):
            m.submodules[name] = between = Fifo(Channel(name, 0, FRAME_BYTE, None, depth=2))
            wiring.connect(m, giver.o, between.w)
            wiring.connect(m, between.r, taker.i)
        wiring.connect(m, encoder.o, sender.i)
        return server, requests.bad

    def _memory(self, m, system, access):
        """The off-chip memory, used by the design while it runs, else by the host."""
        if not system.bus:
            _refuse(m, access)
            return
        bus, words = self.design.bus, self.around.memory_words
        if self.pins:
            memory = SdramMemory(self.around.sdram, bus)
            self._parted(m, "memory", memory, asdict(self.around.sdram), asdict(bus))
            m.d.comb += memory.running.eq(system.running)
            wiring.connect(m, memory.pins, wiring.flipped(self.sdram))
        else:
            kind = SingleMemory if self.around.single_port else BlockMemory
            memory = kind(bus.address_bits, bus.data_bits, words)
            self._parted(m, "memory", memory, kind.__name__, asdict(bus), words)
        m.submodules.memory_space = space = MemorySpace(
            bus.address_bits, bus.data_bits, words * bus.bytes // 4
        )
        wiring.connect(m, access, space.access)
        wiring.connect(m, space.memory, memory.port)
        _take(m, system, "mem", space.design)
        m.d.comb += space.running.eq(system.running)

    def _streams(self, m, system, server):
        """A buffer for each port, in the order of the design's units."""
        buffers = []
        for unit in self.design.units:
            if not isinstance(unit.params, (Source, Sink)):
                continue
            name = verilog_name(unit.name)
            valid, ready, payload = (
                getattr(system, f"{name}_{what}") for what in ("valid", "ready", "payload")
            )
            kind = BufferIn if isinstance(unit.params, Source) else BufferOut
            buffer = kind(len(payload), self.around.beats)
            self._parted(
                m, f"buffer_{name}", buffer, kind.__name__, len(payload), self.around.beats
            )
            if kind is BufferIn:
                m.d.comb += [
                    valid.eq(buffer.o.valid),
                    payload.eq(buffer.o.payload),
                    buffer.o.ready.eq(ready),
                ]
            else:
                m.d.comb += [
                    buffer.i.valid.eq(valid),
                    buffer.i.payload.eq(payload),
                    ready.eq(buffer.i.ready),
                ]
            buffers.append(buffer)
        _share(m, server.streams, [b.beats for b in buffers], STREAM_BITS)
        _share(m, server.counts, [b.counts for b in buffers], exact_log2(COUNT_WORDS))


def _share(m, access, others, bits):
    """Give each of some an equal range of addresses."""
    number, below = access.address >> bits, access.address[:bits]
    beyond = Signal()
    m.d.sync += beyond.eq(access.valid & (number >= len(others)) & ~access.done)
    done, refused, found = beyond, beyond, Const(0, 32)
    for k, other in enumerate(others):
        m.d.comb += [
            other.valid.eq(access.valid & (number == k)),
            other.write.eq(access.write),
            other.address.eq(below),
            other.word.eq(access.word),
        ]
        done, refused = done | other.done, refused | other.done & other.refused
        found = Mux(other.done, other.found, found)
    m.d.comb += [access.done.eq(done), access.refused.eq(refused), access.found.eq(found)]


def _refuse(m, access):
    """Nothing is there."""
    m.d.sync += [access.done.eq(access.valid & ~access.done), access.refused.eq(1)]


def _drive(m, port, system, prefix):
    """Connect a master with the plain ports of a system."""
    for name, member in port.signature.members.items():
        ours, theirs = getattr(port, name), getattr(system, f"{prefix}_{name}")
        m.d.comb += theirs.eq(ours) if member.flow == Out else ours.eq(theirs)


def _take(m, system, prefix, port):
    """Connect the plain ports of a system, which is the master, with a slave."""
    for name, member in port.signature.members.items():
        ours, theirs = getattr(port, name), getattr(system, f"{prefix}_{name}")
        m.d.comb += theirs.eq(ours) if member.flow == Out else ours.eq(theirs)
