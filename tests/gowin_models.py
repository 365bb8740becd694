"""Blocks of a Gowin GW2A after Gowin's description, so that their wiring can be simulated."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import memory

SHAPES = {
    "SDPX9B": {36: 9, 18: 10, 9: 11},
    "SDPB": {32: 9, 16: 10, 8: 11, 4: 12, 2: 13, 1: 14},
}
"""Address bits by data bits."""


def instance(kind: str, **connections) -> Module:
    """Stands in for Amaranth's `Instance` of a block."""
    if kind.startswith("MULT"):
        return _multiplier(int(kind[4 : kind.index("X")]), connections)
    return _memory(kind, connections)


def _widths(c, wanted) -> None:
    for name, bits in wanted.items():
        assert len(Value.cast(c[name])) == bits, name


def _multiplier(bits, c) -> Module:
    m = Module()
    _widths(c, {name: bits for name in ("i_A", "i_B", "i_SIA", "i_SIB")} | {"o_DOUT": 2 * bits})
    assert c["i_ASEL"].value == c["i_BSEL"].value == 0

    def register(value, name):
        if not c[f"p_{name}"].value:
            return value
        later = Signal.like(value)
        with m.If(c["i_RESET"]):
            m.d.sync += later.eq(0)
        with m.Elif(c["i_CE"]):
            m.d.sync += later.eq(value)
        return later

    factors = []
    for side in "AB":
        assert c[f"p_{side}SIGN_REG"].value == c[f"p_{side}REG"].value
        signed = c[f"i_{side}SIGN"].value
        port = Value.cast(c[f"i_{side}"])
        factors.append(register(port.as_signed() if signed else port, f"{side}REG"))
    product = Signal(2 * bits)
    m.d.comb += product.eq(factors[0] * factors[1])
    m.d.comb += c["o_DOUT"].eq(register(register(product, "PIPE_REG"), "OUT_REG"))
    return m


def _memory(kind, c) -> Module:
    m = Module()
    bits = c["p_BIT_WIDTH_0"]
    assert bits == c["p_BIT_WIDTH_1"]
    data = max(SHAPES[kind])
    _widths(c, {"i_ADA": 14, "i_ADB": 14, "i_DI": data, "o_DO": data})
    for side, select in (("A", "p_BLK_SEL_0"), ("B", "p_BLK_SEL_1")):
        assert c[f"i_BLKSEL{side}"].value == c[select].value
    unused = 14 - SHAPES[kind][bits]
    m.submodules.cells = cells = memory.Memory(shape=bits, depth=1 << SHAPES[kind][bits], init=[])
    write, read = cells.write_port(), cells.read_port()
    w_addr, r_addr = Value.cast(c["i_ADA"]), Value.cast(c["i_ADB"])
    enables = w_addr[: bits // 9].all() if bits > 9 else Const(1, 1)
    m.d.comb += [
        write.en.eq(c["i_CEA"] & enables),
        write.addr.eq(w_addr[unused:]),
        write.data.eq(Value.cast(c["i_DI"])[:bits]),
        read.en.eq(c["i_CEB"]),
        read.addr.eq(r_addr[unused:]),
    ]
    seen = read.data
    if c["p_READ_MODE"].value:
        seen = Signal(bits)
        with m.If(c["i_OCE"]):
            m.d.sync += seen.eq(read.data)
    m.d.comb += c["o_DO"].eq(seen)
    return m
