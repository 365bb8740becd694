"""The round-robin arbiter between the off-chip units of a design and its AXI4 master."""

from amaranth.hdl import C, Cat, Module, Mux, Signal

from stepgen.hw.design import stages
from stepgen.hw.design.params import numbered
from stepgen.hw.fifo import Fifo
from stepgen.hw.occupancy import Occupancy
from stepgen.hw.primitives import delayed
from stepgen.hw.select import RoundRobin, select_in_stages
from stepgen.hw.unit import UnitCore
from stepgen.hw.units.axi.params import LENGTH_BITS, request_bits


class MemoryCore(UnitCore):
    """Round-robin arbiter of loads and stores for one bus, burst by burst.

    Five actors. *read* chooses the next requesting load, round robin, and passes its request on to
    ``ar`` while fewer than ``bus.outstanding`` bursts are in flight; in the same cycle it makes the
    next choice, among the other loads. *return* passes a word of ``r`` to the load that requested
    it, which has reserved the space (credit). *write* does the same as *read* for stores and
    ``aw``. *move* passes the words of the bursts on to ``w``, burst after burst. *acknowledge*
    passes ``b`` to the store with the oldest burst.

    While the design is not running no burst is issued, and outstanding bursts complete regardless
    of the units: a load has reserved space for all words that it requested, and a store requests a
    burst only when it holds all its words.

    Parameters
    ----------
    unit.params : loads, stores : int

    Notes
    -----
    One word per cycle and direction; a request per cycle, or every other cycle with a single
    requester. Latency 1 cycle for requests, 0 for words, in addition to the FIFOs'; more than 8
    units take a register stage per factor of 8 on the way to the bus (the channels' ``delay``), so
    that the clock frequency does not depend on their number.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        bursts = []
        if self.params.loads:
            bursts.append(self._reads(m))
        if self.params.stores:
            bursts.append(self._writes(m))
        m.d.comb += self.under_way.eq(Cat(tokens.any for tokens in bursts).any())
        return m

    def _ports(self, name: str, count: int):
        return [getattr(self, port) for port in numbered(name, count)]

    def _queue(self, m: Module, name: str):
        """Whose burst is next, in the order of the requests; one-hot, so that no word waits for it
        to be decoded on its way to units all over the device."""
        m.submodules[name] = fifo = Fifo(self.params.turns(self.design.bus)[name])
        return fifo

    def _grant(self, m: Module, name: str, requests, request_port):
        """Arbitrate; whether a request is granted, its unit (one-hot), its payload, the count."""
        count = len(requests)
        m.submodules[f"{name}_turns"] = turns = RoundRobin(count)
        m.submodules[f"{name}_under_way"] = under_way = Occupancy(self.design.bus.outstanding)
        chosen, any_chosen = Signal(count), Signal()  # the choice of the cycle before
        fire = Signal(name=f"{name}_fire")
        m.d.comb += [
            turns.asks.eq(Cat(r.valid for r in requests) & ~chosen),
            fire.eq(any_chosen & request_port.ready & under_way.room & self.running),
            turns.taken.eq(turns.asks.any() & (fire | ~any_chosen)),
            turns.restart.eq(~self.running),
            under_way.put.eq(fire),
            request_port.valid.eq(fire),
        ]
        with m.If(fire | ~any_chosen):
            m.d.sync += [chosen.eq(turns.grant), any_chosen.eq(turns.asks.any())]
        for bit, request in zip(chosen, requests, strict=True):
            m.d.comb += request.ready.eq(fire & bit)
        payload = select_in_stages(m, chosen, [r.payload for r in requests])
        owner = delayed(m, chosen, stages.multiplexer(count))
        m.d.comb += request_port.payload.eq(payload)
        return fire, owner, payload, under_way

    def _reads(self, m: Module):
        r, reqs = self.r, self._ports("req", self.params.loads)
        fire, owner, _, under_way = self._grant(m, "read", reqs, self.ar)
        owners = self._queue(m, "read_owners")
        returns = Signal()
        m.d.comb += [
            owners.w.valid.eq(fire),
            owners.w.payload.eq(owner),
            returns.eq(r.valid & owners.r.valid),
            r.ready.eq(returns),
            owners.r.ready.eq(returns & r.payload[0]),
            under_way.take.eq(returns & r.payload[0]),
        ]
        for number, data in enumerate(self._ports("data", self.params.loads)):
            m.d.comb += [
                data.valid.eq(returns & owners.r.payload[number]),
                data.payload.eq(r.payload[1:]),
            ]
        return under_way

    def _writes(self, m: Module):
        w, b, bus, count = self.w, self.b, self.design.bus, self.params.stores
        wreqs, wdatas, acks = (self._ports(name, count) for name in ("wreq", "wdata", "ack"))
        fire, owner, wreq, under_way = self._grant(m, "write", wreqs, self.aw)
        tail = wreq[request_bits(bus) :]
        movers = self._queue(m, "write_movers")
        owners = self._queue(m, "write_owners")
        m.d.comb += [
            movers.w.valid.eq(fire),
            movers.w.payload.eq(Cat(owner, wreq[:LENGTH_BITS], tail)),
            owners.w.valid.eq(fire),
            owners.w.payload.eq(owner),
        ]

        mover = movers.r.payload
        turn, length, tails = (
            mover[:count],
            mover[count:][:LENGTH_BITS],
            mover[count + LENGTH_BITS :],
        )
        byte_bits = (bus.bytes - 1).bit_length()
        tail, start = tails[:byte_bits], tails[byte_bits:]
        moved, first = Signal(LENGTH_BITS), Signal(init=1)
        moves, last = Signal(), Signal()
        strobes = Signal(bus.bytes)
        before = C(0, bus.bytes)  # bytes of the first word that belong to no burst
        if self.params.within:
            before = Cat(first & (start > lane) for lane in range(bus.bytes))
        m.d.comb += [
            moves.eq(movers.r.valid & w.ready & (turn & Cat(d.valid for d in wdatas)).any()),
            last.eq(moved == length),
            strobes.eq(Cat(~last | (tail >= lane) for lane in range(bus.bytes)) & ~before),
            movers.r.ready.eq(moves & last),
            w.valid.eq(moves),
            w.payload.eq(
                Cat(
                    delayed(m, last, stages.multiplexer(count)),
                    delayed(m, strobes, stages.multiplexer(count)),
                    select_in_stages(m, turn, [d.payload for d in wdatas]),
                )
            ),
        ]
        for number, data in enumerate(wdatas):
            m.d.comb += data.ready.eq(moves & turn[number])
        with m.If(moves):
            m.d.sync += moved.eq(Mux(last, 0, moved + 1))
            if self.params.within:
                m.d.sync += first.eq(last)

        answered = Signal()
        m.d.comb += [
            answered.eq(b.valid & owners.r.valid),
            b.ready.eq(answered),
            owners.r.ready.eq(answered),
            under_way.take.eq(answered),
        ]
        for number, ack in enumerate(acks):
            m.d.comb += [
                ack.valid.eq(answered & owners.r.payload[number]),
                ack.payload.eq(0),
            ]
        return under_way
