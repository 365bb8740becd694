"""A memory with a registered output."""

from collections.abc import Sequence

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from stepgen.hw.design import stages
from stepgen.hw.design.block_rams import SHALLOW, SHAPES
from stepgen.hw.primitives.delay import delayed
from stepgen.hw.primitives.device import is_ecp5, is_gowin, is_ice40, is_xilinx, stored_in

__all__ = ["BlockRam"]

ADDRESS_BITS, HALF, BYTE = 14, 18, 9
MOST_ROWS = 2048
"""With contents from the start: shapes that use all 9 bits of a byte."""


class BlockRam(wiring.Component):
    """Simple dual-port memory: one write port and one read port, each one access per cycle.

    Parameters
    ----------
    width, depth : int
        Bits of a row, and rows.
    init : sequence of int
        What the first rows hold from the start, of at most `MOST_ROWS`.
    held : bool
        Whether a reader may stop each of the two registers behind the rows.

    Members
    -------
    w_en, w_addr, w_data : ``In``
        Write a row; it can be read from the next cycle on.
    r_addr : ``In``
        Row to read.
    r_en, out_en : ``In``
        Whether the latch takes the row that is addressed, and the output register what is in the
        latch. Only if `held`, else they do in each cycle.
    r_data : ``Out``
        The output register: the row addressed two cycles ago. Undefined if it was written in that
        cycle.

    Notes
    -----
    ECP5: DP16KD with their output registers, which no tool packs by itself; Gowin and Xilinx: SDPB,
    SDPX9B and RAMB18E1 likewise, but where there are contents. Up to 32 rows, and elsewhere, a
    memory for the tool to map.
    """

    def __init__(self, width: int, depth: int, init: Sequence[int] = (), *, held: bool = False):
        self.width = width
        self.depth = depth
        self.init = init
        self.held = held
        address = ceil_log2(depth)
        super().__init__(
            {
                "w_en": In(1),
                "w_addr": In(address),
                "w_data": In(width),
                "r_addr": In(address),
                **({"r_en": In(1), "out_en": In(1)} if held else {}),
                "r_data": Out(width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        fits = SHALLOW < self.depth <= 1 << ADDRESS_BITS
        if is_ecp5(platform) and fits:
            self._blocks(m, self._ecp5)
            return m
        for has, block in ((is_gowin, self._gowin), (is_xilinx, self._xilinx)):
            if has(platform) and fits and not self.init:
                self._blocks(m, block)
                return m
        style = "distributed" if self.depth <= SHALLOW and not is_ice40(platform) else "block"
        m.submodules.rows = rows = memory.Memory(
            shape=self.width, depth=self.depth, init=self.init, attrs=stored_in(style)
        )
        write, read = rows.write_port(), rows.read_port()
        m.d.comb += [
            write.en.eq(self.w_en),
            write.addr.eq(self.w_addr),
            write.data.eq(self.w_data),
            read.addr.eq(self.r_addr),
        ]
        if self.held:
            seen = Signal(self.width, reset_less=True)
            m.d.comb += [read.en.eq(self.r_en), self.r_data.eq(seen)]
            with m.If(self.out_en):
                m.d.sync += seen.eq(read.data)
        else:
            seen = delayed(m, read.data, stages.BLOCK_RAM - 1, reset_less=True)
            m.d.comb += self.r_data.eq(seen)
        return m

    def _enables(self):
        """Of the latch and of the output register."""
        return (self.r_en, self.out_en) if self.held else (Const(1, 1), Const(1, 1))

    def _blocks(self, m, block):
        """Blocks in parallel, each of the widest shape that has enough rows."""
        bits, address_bits = next(s for s in SHAPES if self.depth <= 1 << s[1])
        w_addr, r_addr = (
            self._address(address, address_bits) for address in (self.w_addr, self.r_addr)
        )
        if bits >= HALF:
            enables = bits // BYTE
            w_addr = Cat(Const(-1, enables), w_addr[enables:])
        for start in range(0, self.width, bits):
            count = min(bits, self.width - start)
            written = Cat(self.w_data[start : start + count], Const(0, 36 - count))
            unused = Signal(36 - count, name=f"unused_{start}")
            seen = Cat(self.r_data[start : start + count], unused)
            rows = [row >> start & (1 << count) - 1 for row in self.init]
            m.submodules[f"block_{start}"] = block(bits, written, w_addr, r_addr, seen, rows)

    def _address(self, address, bits):
        """`address` in the upper of a port's address bits."""
        padded = Cat(address, Const(0, bits - len(address)))
        return Cat(Const(0, ADDRESS_BITS - bits), padded)

    def _ecp5(self, bits, written, w_addr, r_addr, seen, rows):
        ports = self._ports(bits, written, w_addr, r_addr, seen)
        return Instance("DP16KD", **ports, **_contents(bits, rows))

    def _gowin(self, bits, written, w_addr, r_addr, seen, rows):
        """Port A writes, port B reads; only the larger block has the ninth bit of a byte."""
        kind, size = ("SDPX9B", 36) if bits >= BYTE else ("SDPB", 32)
        zero, one, none = Const(0, 1), Const(1, 1), Const(0, 3)
        latched, output = self._enables()
        return Instance(
            kind,
            p_READ_MODE=one,
            p_BIT_WIDTH_0=bits,
            p_BIT_WIDTH_1=bits,
            p_BLK_SEL_0=none,
            p_BLK_SEL_1=none,
            p_RESET_MODE="SYNC",
            i_CLKA=ClockSignal(),
            i_CEA=self.w_en,
            i_RESETA=zero,
            i_BLKSELA=none,
            i_ADA=w_addr,
            i_DI=written[:size],
            i_CLKB=ClockSignal(),
            i_CEB=latched,
            i_OCE=output,
            i_RESETB=zero,
            i_BLKSELB=none,
            i_ADB=r_addr,
            o_DO=seen[:size],
        )

    def _xilinx(self, bits, written, w_addr, r_addr, seen, rows):
        """Port A reads, port B writes. With 36 bits each side uses the data of both."""
        zero, one, wide = Const(0, 1), Const(1, 1), bits > HALF
        latched, output = self._enables()
        (data, parity), (found, found_parity) = _parity(written), _parity(seen)
        first, second = "BA" if not wide else "AB"
        return Instance(
            "RAMB18E1",
            p_RAM_MODE="SDP" if wide else "TDP",
            p_READ_WIDTH_A=bits,
            p_READ_WIDTH_B=0,
            p_WRITE_WIDTH_A=0,
            p_WRITE_WIDTH_B=bits,
            p_WRITE_MODE_A="READ_FIRST",
            p_WRITE_MODE_B="READ_FIRST",
            p_DOA_REG=1,
            p_DOB_REG=int(wide),
            p_SIM_DEVICE="7SERIES",
            i_CLKARDCLK=ClockSignal(),
            i_ADDRARDADDR=r_addr,
            i_ENARDEN=latched,
            i_REGCEAREGCE=output,
            i_RSTRAMARSTRAM=zero,
            i_RSTREGARSTREG=zero,
            i_WEA=Const(0, 2),
            i_CLKBWRCLK=ClockSignal(),
            i_ADDRBWRADDR=w_addr,
            i_ENBWREN=self.w_en,
            i_REGCEB=one if wide else zero,
            i_RSTRAMB=zero,
            i_RSTREGB=zero,
            i_WEBWE=Const(0b1111, 4),
            **{
                f"i_DI{first}DI": data[:16],
                f"i_DIP{first}DIP": parity[:2],
                f"i_DI{second}DI": data[16:],
                f"i_DIP{second}DIP": parity[2:],
            },
            o_DOADO=found[:16],
            o_DOPADOP=found_parity[:2],
            o_DOBDO=found[16:],
            o_DOPBDOP=found_parity[2:],
        )

    def _ports(self, bits, written, w_addr, r_addr, seen):
        """Port A writes, port B reads. With 36 bits each side uses both halves of the data."""
        zero, one = Const(0, 1), Const(1, 1)
        latched, output = self._enables()
        low, high = range(HALF), range(HALF, 36)
        # A word of up to 18 bits leaves at B; a word of 36 leaves with its lower half at A.
        first = "A" if bits > HALF else "B"
        outputs = {f"o_DO{first}{k}": seen[k] for k in low}
        if bits > HALF:
            outputs |= {f"o_DOB{k - HALF}": seen[k] for k in high}
        return dict(
            p_DATA_WIDTH_A=bits,
            p_DATA_WIDTH_B=bits,
            p_REGMODE_A="OUTREG",
            p_REGMODE_B="OUTREG",
            p_RESETMODE="SYNC",
            p_ASYNC_RESET_RELEASE="SYNC",
            p_CSDECODE_A="0b000",
            p_CSDECODE_B="0b000",
            p_GSR="DISABLED",
            i_CLKA=ClockSignal(),
            i_CEA=self.w_en,
            i_WEA=one,
            i_OCEA=output,
            i_RSTA=zero,
            i_CLKB=ClockSignal(),
            i_CEB=latched,
            i_WEB=zero,
            i_OCEB=output,
            i_RSTB=zero,
            **{f"i_CS{side}{k}": zero for side in "AB" for k in range(3)},
            **{f"i_ADA{k}": bit for k, bit in enumerate(w_addr)},
            **{f"i_ADB{k}": bit for k, bit in enumerate(r_addr)},
            **{f"i_DIA{k}": written[k] for k in low},
            **{f"i_DIB{k - HALF}": written[k] for k in high},
            **outputs,
        )


def _parity(word):
    """The bits of a word's bytes, and their ninth bits."""
    starts = range(0, len(word), BYTE)
    return Cat(word[k : k + BYTE - 1] for k in starts), Cat(word[k + BYTE - 1] for k in starts)


def _contents(bits, rows):
    """Parameters of a DP16KD that holds these rows: 16 halves of 18 bits in each of 320."""
    whole = sum(row << n * bits for n, row in enumerate(rows))
    parameters = {}
    for n in range(-(-len(rows) * bits // (16 * HALF))):
        halves = (whole >> (n * 16 + k) * HALF & (1 << HALF) - 1 for k in range(16))
        parameters[f"p_INITVAL_{n:02X}"] = Const(
            sum(h << 20 * k for k, h in enumerate(halves)), 320
        )
    return parameters
