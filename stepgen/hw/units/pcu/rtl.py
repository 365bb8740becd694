"""A pipeline of arithmetic on the lanes of aligned beats."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal

from stepgen.hw.primitives import BlockRam, counter, delayed
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, TILE_LEVELS, VALUE


class PcuCore(UnitCore):
    """Map of an element-wise function.

    One actor. Operands that are broadcast stay at the heads of their FIFOs as long as they are
    needed: one column for a row, one element for a tile. One row of several beats is written to a
    memory while the first row passes, and read for the others; of a tile without rows it is
    dropped. A tile ends with the operand that has all rows.

    Parameters
    ----------
    unit.params : Pcu

    Notes
    -----
    One result per cycle, across rows and tiles too. Latency and hardware multipliers are those of
    the pipeline (`stepgen.hw.arithmetic.operations`), and the memory's if there is one. ``error``
    rises when beats that meet differ in kind or stop.
    Resources: ``benchmarks/RESULTS.md``, u1; clock: d.
    """

    def elaborate(self, platform):
        m = Module()
        y, pipeline, reading = self.y, self.params.pipeline, self.params.reading
        together = self._broadcast if any(self.params.broadcast) else self._aligned
        lead, stop, operands = together(m)

        lanes = self.lanes(m, pipeline, operands)
        low = lead.data[: len(lead.stop)]
        kind, stop, low = (
            delayed(m, value, reading + pipeline.stages, reset_less=True)
            for value in (lead.kind, stop, low)
        )
        m.d.comb += [
            y.payload.kind.eq(kind),
            y.payload.stop.eq(stop),
            y.payload.data.eq(self.data_of("y", kind, Cat(lanes), low)),
        ]
        return m

    def _aligned(self, m):
        """A beat of every operand: the first one's payload, its stop, and the data of all."""
        y = self.y
        first, *others = (x.payload for x in self.inputs)
        fire = Signal()
        m.d.comb += fire.eq(Cat(*(x.valid for x in self.inputs), y.ready).all())
        m.d.comb += [x.ready.eq(fire) for x in self.inputs]
        m.d.comb += y.valid.eq(fire)
        if others:
            apart = [(x.kind != first.kind) | (x.stop != first.stop) for x in others]
            m.d.sync += self.error.eq(fire & Cat(apart).any())
        return first, first.stop, [x.payload.data for x in self.inputs]

    def _broadcast(self, m):
        """As `_aligned`, `reading` cycles late in the data, with operands that are broadcast."""
        params, y = self.params, self.y
        lead = self.inputs[params.lead].payload
        fire, first = Signal(), Signal(init=1)  # of a tile, the first row
        value = lead.kind == VALUE
        empty = (lead.kind == BARE) & (lead.data[: len(lead.stop)] <= TILE_LEVELS)
        counts = value | empty if params.rows_stored else value
        if params.single:
            at, last = Const(0, 0), lead.stop != 0
        else:
            at, last = counter(m, fire & counts, params.slices)
        ends_row, ends, sends = Signal(), Signal(), Signal()
        m.d.comb += [
            ends_row.eq(~counts | last),
            ends.eq(ends_row & (~value | (lead.stop >= TILE_LEVELS))),
            sends.eq(value | ends_row),
            fire.eq(Cat(self._there(first)).all() & (y.ready | ~sends)),
            y.valid.eq(fire & sends),
        ]
        with m.If(fire & ends_row):
            m.d.sync += first.eq(ends)

        stop = Mux(ends_row, lead.stop, 0)
        operands, wrong = [], []
        for number, (how, x) in enumerate(zip(params.broadcast, self.inputs, strict=True)):
            data, differs = x.payload.data, x.payload.stop != lead.stop
            bits = self.channels[params.inputs[number]].bits
            alike = Mux(empty, BARE if how in ("", "cols") else VALUE, lead.kind)
            strange = x.payload.kind != alike
            if how in ("cols", "both"):
                data = data[:bits].replicate(params.beat_lanes(self.design.lanes))
            if params.stored(number):
                m.d.comb += x.ready.eq(fire & first)
                data = self._stored(m, number, fire & first & value, at, first)
                kept = Signal.like(lead.stop)
                with m.If(fire & first):
                    m.d.sync += kept.eq(x.payload.stop)
                misplaced = counts & ((x.payload.stop >= TILE_LEVELS) != last)
                wrong.append(first & (strange | misplaced))
                differs = Mux(first, differs, kept != lead.stop)
            else:
                data = delayed(m, data, params.reading, reset_less=True)
                done = {"": sends, "cols": ends_row}.get(how, ends)
                m.d.comb += x.ready.eq(fire & done)
                wrong.append(strange)
                if how == "":
                    wrong.append(sends & (x.payload.stop != stop))
            wrong.append((ends_row if how == "cols" else ends) & differs)
            operands.append(data)
        if params.broadcast[params.lead] == "":
            wrong.append(value & ((lead.stop != 0) != last))
        m.d.sync += self.error.eq(fire & Cat(wrong).any())
        return lead, stop, operands

    def _there(self, first):
        """By operand, whether its beat is: at the head of its FIFO, or in a memory."""
        for number, x in enumerate(self.inputs):
            yield x.valid | ~first if self.params.stored(number) else x.valid

    def _stored(self, m, number, write, at, first):
        """A row that is written as it passes, and read for all rows behind it."""
        params = self.params
        port = params.inputs[number]
        width = self.design.lanes * self.channels[port].bits
        m.submodules[f"row_{number}"] = row = BlockRam(width, params.slices)
        data = getattr(self, port).payload.data[:width]
        m.d.comb += [
            row.w_en.eq(write),
            row.w_addr.eq(at),
            row.w_data.eq(data),
            row.r_addr.eq(at),
        ]
        passes, data = (delayed(m, s, params.reading, reset_less=True) for s in (first, data))
        return Mux(passes, data, row.r_data)
