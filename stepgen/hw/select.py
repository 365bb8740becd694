"""Round-robin arbiter, pipelined multiplexer and rotation."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.design.stages import MUX_WAYS
from stepgen.hw.onehot import from_lowest, select
from stepgen.hw.primitives import delayed

__all__ = ["RoundRobin", "bits_of", "rotated", "select_in_stages"]


def bits_of(m: Module, value):
    """The bits of a value, each a signal of its own.

    Elaborating a slice takes time by the width of what it is cut from, so a wide value is cut into
    its bits in two steps.
    """
    bits, width = [], 1 << (len(value).bit_length() // 2)
    for start in range(0, len(value), width):
        part = Signal(min(width, len(value) - start), name="part")
        m.d.comb += part.eq(value[start : start + width])
        bits += list(part)
    return bits


def rotated(m: Module, value, places, bits: int, *, width: int = 0, up: bool = False):
    """A value whose parts of `bits` bits are rotated down, or up, by a number of places.

    Rotated down it may be cut off after `width` bits. `value` has a power of two of parts, and
    `places` is an index of them.
    """
    whole = len(value)
    for n, turns in reversed(list(enumerate(places))):
        by = bits << n
        needed = min(whole, width + by - bits) if width else whole
        turned = Cat(value[by:], value[: by if len(value) == whole else 0])
        if up:
            turned = Cat(value[whole - by :], value[: whole - by])
        moved = Signal(needed, name="rotated")
        m.d.comb += moved.eq(Mux(turns, turned[:needed], value[:needed]))
        value = moved
    return value[: width or whole]


def select_in_stages(m: Module, onehot, words):
    """Pipelined one-hot multiplexer: a tree of `MUX_WAYS` to one with registers between.

    The latency is `stages.multiplexer` cycles.
    """
    words = [_group(onehot, words, k) for k in range(0, len(words), MUX_WAYS)]
    while len(words) > 1:
        words = [delayed(m, word, 1) for word in words]
        words = [reduce(or_, words[k : k + MUX_WAYS]) for k in range(0, len(words), MUX_WAYS)]
    return words[0]


def _group(onehot, words, start):
    end = min(start + MUX_WAYS, len(words))
    return select([onehot[k] for k in range(start, end)], words[start:end])


class RoundRobin(wiring.Component):
    """Round-robin arbiter: grants the next requester after the one granted last.

    Parameters
    ----------
    count : int
        Number of requesters.

    Members
    -------
    asks : ``In(count)``
        Requests.
    grant : ``Out(count)``
        At most one bit; depends on `asks` and a register.
    taken : ``In(1)``
        The grant is used: the requesters after it come next.
    restart : ``In(1)``
        Start over with requester 0.

    Notes
    -----
    The depth of logic grows with the logarithm of the count.
    """

    def __init__(self, count: int):
        self.count = count
        super().__init__({"asks": In(count), "grant": Out(count), "taken": In(1), "restart": In(1)})

    def elaborate(self, platform):
        m = Module()
        after = Signal(self.count)  # requesters after the one granted last
        asking = Signal(self.count)
        m.d.comb += asking.eq(Mux((self.asks & after).any(), self.asks & after, self.asks))

        behind = Signal(self.count)
        m.d.comb += [behind.eq(from_lowest(m, asking) << 1), self.grant.eq(asking & ~behind)]

        with m.If(self.restart):
            m.d.sync += after.eq(0)
        with m.Elif(self.taken):
            m.d.sync += after.eq(behind)
        return m
