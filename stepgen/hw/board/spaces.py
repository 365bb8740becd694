"""What a host can read and write: identity, registers of the design, its memory."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from stepgen.hw.axi import Axi4, Axi4Lite
from stepgen.hw.board.access import Access
from stepgen.hw.board.protocol import IDENTITY_WORDS, MAGIC, VERSION, WORD, Identity

INCR = 1

__all__ = ["MemorySpace", "RegisterSpace", "identity", "serve_identity"]


def identity(digest: bytes, clock: int, memory_words: int) -> dict[int, int]:
    """The words that identify a board.

    Parameters
    ----------
    digest : bytes
        32 bytes that name what the bitstream was made from.
    clock : int
        Hz.
    memory_words : int
        Words of 32 bits of the off-chip memory.
    """
    words = {Identity.MAGIC: MAGIC, Identity.VERSION: VERSION, Identity.CLOCK: clock}
    words[Identity.MEMORY_WORDS] = memory_words
    for k in range(0, len(digest), WORD):
        words[Identity.HASH + k // WORD] = int.from_bytes(digest[k : k + WORD], "little")
    return {int(place): word for place, word in words.items()}


def serve_identity(m: Module, access, words, bad):
    """Answer reads of `identity`, and of the number of frames that were not taken."""
    count = Signal(32)
    with m.If(bad):
        m.d.sync += count.eq(count + 1)
    table = Array(Const(words.get(k, 0), 32) for k in range(IDENTITY_WORDS))
    place = access.address[: exact_log2(IDENTITY_WORDS)]
    m.d.sync += [
        access.done.eq(access.valid & ~access.done),
        access.found.eq(Mux(place == Identity.BAD_FRAMES, count, table[place])),
        access.refused.eq(access.write | (access.address >= IDENTITY_WORDS)),
    ]


class RegisterSpace(wiring.Component):
    """Reads and writes registers of a design.

    Parameters
    ----------
    address_bits : int
        Of its AXI4-Lite slave.

    Members
    -------
    access : ``In(Access)``
    csr : ``Out(Axi4Lite)``
    """

    def __init__(self, address_bits: int):
        super().__init__({"access": In(Access()), "csr": Out(Axi4Lite(address_bits))})

    def elaborate(self, platform):
        m = Module()
        access, csr = self.access, self.csr
        address = Cat(Const(0, 2), access.address)
        beyond = access.address >> (len(csr.araddr) - 2) != 0
        begun = Signal()
        m.d.comb += [
            csr.awaddr.eq(address),
            csr.araddr.eq(address),
            csr.wdata.eq(access.word),
            csr.wstrb.eq((1 << WORD) - 1),
            csr.bready.eq(1),
            csr.rready.eq(1),
        ]
        m.d.sync += access.done.eq(0)
        with m.If(~begun & access.valid & ~access.done):
            m.d.sync += [
                access.refused.eq(beyond),
                access.done.eq(beyond),
                begun.eq(~beyond),
                csr.awvalid.eq(~beyond & access.write),
                csr.wvalid.eq(~beyond & access.write),
                csr.arvalid.eq(~beyond & ~access.write),
            ]
        for ready, valid in (
            (csr.awready, csr.awvalid), (csr.wready, csr.wvalid), (csr.arready, csr.arvalid),
        ):  # fmt: skip
            with m.If(valid & ready):
                m.d.sync += valid.eq(0)
        with m.If(begun & (csr.bvalid | csr.rvalid)):
            m.d.sync += [begun.eq(0), access.done.eq(1), access.found.eq(csr.rdata)]
        return m


class MemorySpace(wiring.Component):
    """Reads and writes the memory of a design while that does not run.

    Parameters
    ----------
    address_bits, data_bits : int
        Of the memory bus.
    words : int
        Words of 32 bits in the memory.

    Members
    -------
    access : ``In(Access)``
    design : ``In(Axi4)``
        From the design, connected with `memory` while it runs.
    memory : ``Out(Axi4)``
    running : ``In(1)``
        The design runs, or a burst of it is under way.
    """

    def __init__(self, address_bits: int, data_bits: int, words: int):
        self.words, self.data_bits, self.address_bits = words, data_bits, address_bits
        port = Axi4(address_bits, data_bits)
        super().__init__(
            {"access": In(Access()), "design": In(port), "memory": Out(port), "running": In(1)}
        )

    def elaborate(self, platform):
        m = Module()
        access, memory, design = self.access, self.memory, self.design
        bytes_, own = self.data_bits // 8, Signal()  # whether this has the memory
        asks, reads, gives = Signal(), Signal(), Signal()
        lanes = self.data_bits // 32
        lane = access.address[: exact_log2(lanes)]
        address = Cat(Const(0, exact_log2(bytes_)), access.address[exact_log2(lanes) :])
        driven = {
            "araddr": address,
            "awaddr": address,
            "arsize": exact_log2(bytes_),
            "awsize": exact_log2(bytes_),
            "arburst": INCR,
            "awburst": INCR,
            "arvalid": asks & reads,
            "awvalid": asks & ~reads,
            "wvalid": gives,
            "wlast": 1,
            "wdata": access.word.replicate(lanes),
            "wstrb": Const((1 << WORD) - 1, bytes_) << WORD * lane,
            "rready": 1,
            "bready": 1,
        }
        for name, member in memory.signature.members.items():
            theirs, here = getattr(design, name), getattr(memory, name)
            if member.flow == Out:
                m.d.comb += here.eq(Mux(own, driven.get(name, 0), theirs))
            elif name.endswith(("valid", "ready")):
                m.d.comb += theirs.eq(here & ~own)
            else:
                m.d.comb += theirs.eq(here)

        m.d.sync += access.done.eq(0)
        with m.If(~own), m.If(access.valid & ~access.done):
            out = self.running | (access.address >= self.words)
            m.d.sync += [
                access.done.eq(out),
                access.refused.eq(out),
                own.eq(~out),
                asks.eq(~out),
                reads.eq(~access.write),
                gives.eq(~out & access.write),
            ]
        with m.Else():
            with m.If(Mux(reads, memory.arready, memory.awready)):
                m.d.sync += asks.eq(0)
            with m.If(memory.wready):
                m.d.sync += gives.eq(0)
            with m.If(memory.rvalid | memory.bvalid):
                m.d.sync += [
                    own.eq(0),
                    access.done.eq(1),
                    access.found.eq(memory.rdata.word_select(lane, 32)),
                    access.refused.eq(Mux(reads, memory.rresp[1], memory.bresp[1])),
                ]
        return m
