"""A large memory with one port."""

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from stepgen.hw.primitives.device import is_ice40, stored_in

__all__ = ["SinglePortRam"]

ROW_BITS, ADDRESS_BITS = 16, 14
"""Of SB_SPRAM256KA."""

BYTE = 8


class SinglePortRam(wiring.Component):
    """A memory that reads or writes in a cycle.

    Parameters
    ----------
    width, depth : int
        Bits of a row, which is of whole bytes, and rows.

    Members
    -------
    active : ``In(1)``
        There is an access.
    writes : ``In(1)``
        It writes the bytes of `w_data` whose bit in `strobes` is set.
    addr, strobes, w_data : ``In``
    r_data : ``Out``
        What was read in the cycle before; undefined if nothing was.

    Notes
    -----
    iCE40 UltraPlus: SB_SPRAM256KA side by side, and one behind the other; elsewhere a memory for
    the tool to map.
    """

    def __init__(self, width: int, depth: int):
        self.width, self.depth = width, depth
        super().__init__(
            {
                "active": In(1),
                "writes": In(1),
                "addr": In(ceil_log2(depth)),
                "strobes": In(width // BYTE),
                "w_data": In(width),
                "r_data": Out(width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        if is_ice40(platform):
            self._spram(m)
            return m
        m.submodules.rows = rows = memory.Memory(
            shape=self.width, depth=self.depth, init=[], attrs=stored_in("block")
        )
        write, read = rows.write_port(granularity=BYTE), rows.read_port()
        m.d.comb += [
            write.en.eq(Mux(self.active & self.writes, self.strobes, 0)),
            write.addr.eq(self.addr),
            write.data.eq(self.w_data),
            read.en.eq(self.active & ~self.writes),
            read.addr.eq(self.addr),
            self.r_data.eq(read.data),
        ]
        return m

    def _spram(self, m):
        zero, one = Const(0, 1), Const(1, 1)
        row, bank = self.addr[:ADDRESS_BITS], self.addr[ADDRESS_BITS:]
        place = Cat(row, Const(0, ADDRESS_BITS - len(row)))
        columns = -(-self.width // ROW_BITS)
        unused = ROW_BITS * columns - self.width
        data = Cat(self.w_data, Const(0, unused))
        nibbles = Cat(bit.replicate(2) for bit in Cat(self.strobes, Const(0, unused // BYTE)))
        found = []
        for k in range(-(-self.depth >> ADDRESS_BITS)):
            seen = Signal(ROW_BITS * columns, name=f"seen_{k}")
            for c in range(columns):
                m.submodules[f"block_{k}_{c}"] = Instance(
                    "SB_SPRAM256KA",
                    i_CLOCK=ClockSignal(),
                    i_ADDRESS=place,
                    i_DATAIN=data.word_select(c, ROW_BITS),
                    i_MASKWREN=nibbles.word_select(c, ROW_BITS // 4),
                    i_WREN=self.writes,
                    i_CHIPSELECT=self.active & (bank == k),
                    i_STANDBY=zero,
                    i_SLEEP=zero,
                    i_POWEROFF=one,
                    o_DATAOUT=seen.word_select(c, ROW_BITS),
                )
            found.append(seen)
        was = Signal.like(bank)
        m.d.sync += was.eq(bank)
        chosen = found[0]
        for k, seen in enumerate(found[1:], 1):
            chosen = Mux(was == k, seen, chosen)
        m.d.comb += self.r_data.eq(chosen)
