"""Blocks of an iCE40 UltraPlus after Lattice's description, so that wiring can be simulated."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import memory

IDLE = ("AHOLD", "BHOLD", "CHOLD", "DHOLD", "IRSTTOP", "IRSTBOT", "ORSTTOP", "ORSTBOT")
IDLE += ("OLOADTOP", "OLOADBOT", "ADDSUBTOP", "ADDSUBBOT", "OHOLDTOP", "OHOLDBOT", "CI", "ACCUMCI")


def instance(kind: str, **connections) -> Module:
    """Stands in for Amaranth's `Instance` of a block."""
    return {"SB_MAC16": _multiplier, "SB_SPRAM256KA": _single_port}[kind](connections)


def _widths(c, wanted) -> None:
    for name, bits in wanted.items():
        assert len(Value.cast(c[name])) == bits, name


def _multiplier(c) -> Module:
    """Four products of bytes, their sum, and a register behind each that may be left out."""
    m = Module()
    _widths(c, dict.fromkeys(("i_A", "i_B", "i_C", "i_D"), 16) | {"o_O": 32})
    assert not any(c[f"i_{name}"].value for name in IDLE)
    assert c["p_TOPOUTPUT_SELECT"].value == c["p_BOTOUTPUT_SELECT"].value == 3

    def register(value, name):
        if not c[f"p_{name}"].value:
            return value
        later = Signal.like(value)
        with m.If(c["i_CE"]):
            m.d.sync += later.eq(value)
        return later

    halves = {}
    for side in "AB":
        port = register(Value.cast(c[f"i_{side}"]), f"{side}_REG")
        high = port[8:].as_signed() if c[f"p_{side}_SIGNED"].value else port[8:]
        halves[side] = (port[:8], high)
    (a_low, a_high), (b_low, b_high) = halves["A"], halves["B"]
    parts = {
        "TOP_8x8_MULT_REG": [(a_high * b_high, 16)],
        "PIPELINE_16x16_MULT_REG1": [(a_low * b_high, 8), (a_high * b_low, 8)],
        "BOT_8x8_MULT_REG": [(a_low * b_low, 0)],
    }
    total = Const(0, 1)
    for name, products in parts.items():
        for product, shift in products:
            total = total + (register(product, name) << shift)
    whole = Signal(32)
    m.d.comb += [whole.eq(total), c["o_O"].eq(register(whole, "PIPELINE_16x16_MULT_REG2"))]
    return m


def _single_port(c) -> Module:
    m = Module()
    _widths(c, {"i_ADDRESS": 14, "i_DATAIN": 16, "i_MASKWREN": 4, "o_DATAOUT": 16})
    assert (c["i_STANDBY"].value, c["i_SLEEP"].value, c["i_POWEROFF"].value) == (0, 0, 1)
    m.submodules.cells = cells = memory.Memory(shape=16, depth=1 << 14, init=[])
    write, read = cells.write_port(granularity=4), cells.read_port()
    chosen, writes = Value.cast(c["i_CHIPSELECT"]), Value.cast(c["i_WREN"])
    wrote = Signal()
    m.d.sync += wrote.eq(Mux(chosen, writes, wrote))
    m.d.comb += [
        write.en.eq(Mux(chosen & writes, Value.cast(c["i_MASKWREN"]), 0)),
        write.addr.eq(c["i_ADDRESS"]),
        write.data.eq(c["i_DATAIN"]),
        read.en.eq(chosen & ~writes),
        read.addr.eq(c["i_ADDRESS"]),
        # After a write the output is not defined.
        c["o_DATAOUT"].eq(Mux(wrote, Cat(~read.data[k] for k in range(16)), read.data)),
    ]
    return m
