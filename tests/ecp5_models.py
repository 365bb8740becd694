"""Blocks of an ECP5 after Lattice's description, so that their wiring can be simulated."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import memory

SHAPES = {36: 9, 18: 10, 9: 11, 4: 12, 2: 13, 1: 14}
"""Address bits by data bits of a DP16KD."""


def instance(kind: str, **connections) -> Module:
    """Stands in for Amaranth's `Instance` of a block, whose ports are of one bit each."""
    for name, value in connections.items():
        assert name[0] == "p" or len(Value.cast(value)) == 1, name
    kinds = {"MULT18X18D": _mult18x18d, "DP16KD": _dp16kd, "TRELLIS_FF": _trellis_ff}
    return kinds[kind](connections)


def _port(connections, name, bits):
    return Cat(connections[f"{name}{k}"] for k in range(bits))


def _mult18x18d(c) -> Module:
    m = Module()

    def register(value, name):
        if c.get(f"p_REG_{name}_CLK", "NONE") == "NONE":
            return value
        assert c[f"p_REG_{name}_CE"] == "CE0"
        later = Signal.like(value)
        with m.If(c["i_CE0"]):
            m.d.sync += later.eq(value)
        with m.If(c["i_RST0"]):
            m.d.sync += later.eq(0)
        return later

    a, b = (
        register(port.as_signed() if c[f"i_SIGNED{side}"].value else port, f"INPUT{side}")
        for side in "AB"
        for port in [_port(c, f"i_{side}", 18)]
    )
    product = Signal(36)
    m.d.comb += product.eq(a * b)
    product = register(register(product, "PIPELINE"), "OUTPUT")
    m.d.comb += _port(c, "o_P", 36).eq(product)
    return m


def _trellis_ff(c) -> Module:
    assert (c["p_CEMUX"], c["p_CLKMUX"], c["p_LSRMUX"]) == ("1", "CLK", "LSR")
    m = Module()
    kept = Signal(reset_less=True)
    m.d.sync += kept.eq(c["i_DI"])
    with m.If(c["i_LSR"]):
        m.d.sync += kept.eq(c["p_REGSET"] == "SET")
    m.d.comb += c["o_Q"].eq(kept)
    return m


def _dp16kd(c) -> Module:
    m = Module()
    bits = c["p_DATA_WIDTH_A"]
    assert bits == c["p_DATA_WIDTH_B"]
    unused = 14 - SHAPES[bits]
    init = [_row(c, bits, n) for n in range(1 << SHAPES[bits])] if "p_INITVAL_00" in c else []
    m.submodules.cells = cells = memory.Memory(shape=bits, depth=1 << SHAPES[bits], init=init)
    write, read = cells.write_port(), cells.read_port()
    w_addr, r_addr = _port(c, "i_ADA", 14), _port(c, "i_ADB", 14)
    enables = w_addr[: bits // 9].all() if bits >= 18 else 1
    data = Cat(_port(c, "i_DIA", 18), _port(c, "i_DIB", 18))
    selected = ~Cat(c[f"i_CS{side}{k}"] for side in "AB" for k in range(3)).any()
    m.d.comb += [
        write.en.eq(c["i_CEA"] & c["i_WEA"] & enables & selected),
        write.addr.eq(w_addr[unused:]),
        write.data.eq(data[:bits]),
        read.en.eq(c["i_CEB"] & ~c["i_WEB"] & selected),
        read.addr.eq(r_addr[unused:]),
    ]
    seen = read.data
    if c["p_REGMODE_B"] == "OUTREG":
        seen = Signal(bits)
        with m.If(c["i_OCEB"]):
            m.d.sync += seen.eq(read.data)
    if bits == 36:
        assert c["p_REGMODE_A"] == c["p_REGMODE_B"]
        m.d.comb += [
            _port(c, "o_DOA", 18).eq(seen[:18]),
            _port(c, "o_DOB", 18).eq(seen[18:]),
        ]
    else:
        m.d.comb += _port(c, "o_DOB", 18).eq(seen)
    return m


def _row(c, bits, number) -> int:
    """A row from the initial contents, whose words of 20 bits hold two bytes of 9."""
    value = 0
    for byte in range(bits // 9):
        at = number * (bits // 9) + byte
        word = c.get(f"p_INITVAL_{at // 32:02X}")
        value |= (
            word.value >> at % 32 // 2 * 20 + at % 2 * 9 & 511 if word is not None else 0
        ) << 9 * byte
    return value
