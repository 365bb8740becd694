"""Takes a dim of known extent apart."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal

from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, DONE


class SplitCore(UnitCore):
    """Sends the first chunks of each group to the first output, the next to the second (Split).

    The end of a part closes the same dims as the end of the group. Where these are several, only
    only the group's last beat shows which; until then the last beat of each other part waits in a
    register of its own, and all leave together with it.

    Parameters
    ----------
    unit.params : Split

    Notes
    -----
    One beat per cycle. Latency 0 in addition to the FIFOs'. Cost: a counter, and the registers. A
    group of another number of chunks raises ``error``.
    """

    def elaborate(self, platform):
        m = Module()
        x, level, sizes = self.x, self.params.level, self.params.sizes
        rank, count = self.channels["x"].rank, len(sizes)
        kind, stop = x.payload.kind, x.payload.stop
        ys, holds = self.outputs, self.params.holds(rank)

        part, chunk = Signal(range(count)), Signal(range(max(sizes)))
        to_all, ends_chunk, ends_part, ends_group = Signal(), Signal(), Signal(), Signal()
        ends, fire = Signal(), Signal()
        m.d.comb += [
            to_all.eq((kind == DONE) | (kind == BARE) & (x.payload.data[: len(stop)] > level)),
            ends_chunk.eq(~to_all & (stop >= level)),
            ends_part.eq(ends_chunk & (chunk == Array(size - 1 for size in sizes)[part])),
            ends_group.eq(ends_part & (part == count - 1)),
            ends.eq(ends_part & ~ends_group),
        ]
        to = Signal(count)
        together = to_all | ends_group if holds else to_all
        with m.If(together):
            m.d.comb += to.eq(-1)
        with m.Else():
            m.d.comb += to.bit_select(part, 1).eq(~ends if holds else 1)
        full = Cat(~y.ready for y in ys)
        m.d.comb += [fire.eq(x.valid & ~(to & full).any()), x.ready.eq(fire)]
        with m.If(fire & ends_part):
            m.d.sync += [part.eq(Mux(ends_group, 0, part + 1)), chunk.eq(0)]
        with m.Elif(fire & ends_chunk):
            m.d.sync += chunk.eq(chunk + 1)

        for n, y in enumerate(ys):
            m.d.comb += [
                y.valid.eq(fire & to[n]),
                y.payload.kind.eq(kind),
                y.payload.stop.eq(stop),
                y.payload.data.eq(x.payload.data),
            ]
            if n == count - 1 or rank == level:
                continue
            if not holds:
                with m.If(ends):
                    m.d.comb += y.payload.stop.eq(level + 1)
                continue
            held = Signal.like(x.payload, name=f"held_{n}")
            with m.If(fire & ends & (part == n)):
                m.d.sync += held.eq(x.payload)
            with m.If(ends_group):
                m.d.comb += [
                    y.payload.kind.eq(held.kind),
                    y.payload.data.eq(held.data),
                ]
        if rank > level:
            m.d.sync += self.error.eq(fire & ~to_all & ((stop > level) != ends_group))
        return m
