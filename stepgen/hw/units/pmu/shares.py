"""Counts references to pages that come back, and frees pages that nothing refers to any more."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.fifo import Fifo
from stepgen.hw.primitives import read_at_once, stepped

__all__ = ["Shares"]


class Shares(wiring.Component):
    """Counts references that come back; with the last one the pages of a chunk are free.

    Parameters
    ----------
    params : Pmu
        `shares`, `pages`, `page_bits`, `share_bits`, `entry_bits`.
    sources : int
        Number of streams of messages.
    heads : Channel or None
        FIFO of first pages, where the pages of a chunk are linked.

    Members
    -------
    valid, ready : ``In(sources)``, ``Out(sources)``
        Handshakes of the messages; the first one that is there is taken.
    page_0, amount_0, … : ``In``
        Of which page, and how many references.
    free, page : ``Out``
        A page that is free.
    link : ``Out``, entry : ``In``
        A page, and its entry in the table in the same cycle.
    stored, ended : ``In(1)``
        A chunk was stored; there will be no more.
    finished : ``Out(1)``
        All chunks that were stored are free. Registered.

    Notes
    -----
    A message per cycle, and a page per cycle. A memory of counts is not there if one reference
    frees a chunk; its words mean nothing until a bit per page says that they were written.
    """

    def __init__(self, params, sources, heads):
        self.params, self.sources, self.heads = params, sources, heads
        ports = {}
        for n in range(sources):
            ports[f"page_{n}"] = In(params.page_bits)
            ports[f"amount_{n}"] = In(params.share_bits)
        super().__init__(
            {
                **ports,
                "valid": In(sources),
                "ready": Out(sources),
                "free": Out(1),
                "page": Out(params.page_bits),
                "link": Out(params.page_bits),
                "entry": In(params.entry_bits),
                "stored": In(1),
                "ended": In(1),
                "running": In(1),
                "finished": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        page, amount = Signal(self.params.page_bits), Signal(self.params.share_bits)
        for n in reversed(range(self.sources)):
            with m.If(self.valid[n]):
                m.d.comb += [
                    self.ready.eq(1 << n),
                    page.eq(getattr(self, f"page_{n}")),
                    amount.eq(getattr(self, f"amount_{n}")),
                ]
        last = self._count(m, self.valid.any(), page, amount, platform)
        closed = self._sweep(m, last, page)

        live, over = Signal(range(self.params.pages + 1)), Signal()
        with m.If(self.stored != closed):
            m.d.sync += live.eq(stepped(live, back=closed))
        with m.If(~self.running):
            m.d.sync += [over.eq(0), self.finished.eq(0)]
        with m.Else():
            m.d.sync += [
                over.eq(over | self.ended),
                self.finished.eq(self.finished | over & (live == 0)),
            ]
        return m

    def _count(self, m, some, page, amount, platform):
        """Whether the last reference to a page comes back."""
        params = self.params
        if params.shares == 1:
            return some
        m.submodules.counts = counts = memory.Memory(
            shape=params.share_bits,
            depth=params.pages,
            init=[],
            attrs=read_at_once(platform),
        )
        write, read = counts.write_port(), counts.read_port(domain="comb")
        written, total, last = Signal(params.pages), Signal(params.share_bits), Signal()
        before = Mux(written.bit_select(page, 1), read.data, 0)
        m.d.comb += [
            read.addr.eq(page),
            total.eq(before + amount),
            last.eq(some & (total == params.shares)),
            write.en.eq(some),
            write.addr.eq(page),
            write.data.eq(Mux(last, 0, total)),
        ]
        with m.If(some):
            m.d.sync += written.bit_select(page, 1).eq(1)
        return last

    def _sweep(self, m, last, page):
        """Free the pages of chunks; returns whether the last one of a chunk is."""
        if self.heads is None:
            m.d.comb += [self.free.eq(last), self.page.eq(page), self.link.eq(Const(0))]
            return last
        m.submodules.heads = heads = Fifo(self.heads)
        inside, current, go = Signal(), Signal.like(page), Signal()
        m.d.comb += [
            heads.w.valid.eq(last),
            heads.w.payload.eq(page),
            go.eq(inside | heads.r.valid),
            heads.r.ready.eq(~inside),
            self.page.eq(Mux(inside, current, heads.r.payload)),
            self.link.eq(self.page),
            self.free.eq(go),
        ]
        m.d.sync += inside.eq(go & ~self.entry[0])
        with m.If(go):
            m.d.sync += current.eq(Cat(self.entry[1:])[: len(current)])
        return go & self.entry[0]
