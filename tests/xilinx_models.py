"""Blocks of the 7 series after AMD's description, so that their wiring can be simulated."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import memory

SHAPES = {36: 9, 18: 10, 9: 11, 4: 12, 2: 13, 1: 14}
"""Address bits by data bits."""
PORTS = {
    "DSP48E1": {"i_A": 30, "i_B": 18, "i_C": 48, "i_D": 25, "o_P": 48}
    | {"i_OPMODE": 7, "i_INMODE": 5, "i_ALUMODE": 4, "i_CARRYINSEL": 3},
    "RAMB18E1": {"i_ADDRARDADDR": 14, "i_ADDRBWRADDR": 14, "i_WEA": 2, "i_WEBWE": 4}
    | {f"i_DI{side}DI": 16 for side in "AB"}
    | {f"i_DIP{side}DIP": 2 for side in "AB"}
    | {f"o_DO{side}DO": 16 for side in "AB"}
    | {f"o_DOP{side}DOP": 2 for side in "AB"},
}
PRODUCT = 0b0000101
"""OPMODE by which a DSP48E1 passes its product on."""


def instance(kind: str, **connections) -> Module:
    """Stands in for Amaranth's `Instance` of a block."""
    for name, bits in PORTS[kind].items():
        assert len(Value.cast(connections[name])) == bits, name
    return {"DSP48E1": _multiplier, "RAMB18E1": _memory}[kind](connections)


def _register(m, value, enable):
    later = Signal.like(value)
    with m.If(enable):
        m.d.sync += later.eq(value)
    return later


def _multiplier(c) -> Module:
    m = Module()
    assert c["i_OPMODE"].value == PRODUCT
    assert c["i_ALUMODE"].value == c["i_INMODE"].value == c["i_CARRYINSEL"].value == 0
    assert all(c[f"p_{name}REG"] == 1 for name in "ABMP")
    assert all(c[f"p_{name}REG"] == 0 for name in ("OPMODE", "ALUMODE", "INMODE", "CARRYINSEL"))
    a = _register(m, Value.cast(c["i_A"])[:25].as_signed(), c["i_CEA2"])
    b = _register(m, Value.cast(c["i_B"]).as_signed(), c["i_CEB2"])
    m.d.comb += c["o_P"].eq(_register(m, _register(m, a * b, c["i_CEM"]), c["i_CEP"]))
    return m


def _bytes(data, parity):
    """A word of bytes of nine bits, the last of which is the parity's."""
    data, parity = Value.cast(data), Value.cast(parity)
    return Cat(Cat(data.word_select(k, 8), parity[k]) for k in range(len(parity)))


def _memory(c) -> Module:
    m = Module()
    bits, wide = c["p_READ_WIDTH_A"], c["p_RAM_MODE"] == "SDP"
    assert c["p_WRITE_WIDTH_B"] == bits
    assert wide == (bits == 36)
    assert c["p_WRITE_MODE_A"] == c["p_WRITE_MODE_B"]
    assert all(c[f"i_RST{name}"].value == 0 for name in ("RAMARSTRAM", "REGARSTREG", "RAMB"))
    assert c["i_WEA"].value == 0
    assert c["i_WEBWE"].value == 15
    unused = 14 - SHAPES[bits]
    m.submodules.cells = cells = memory.Memory(shape=bits, depth=1 << SHAPES[bits], init=[])
    write, read = cells.write_port(), cells.read_port()
    sides = "AB" if wide else "B"
    written = Cat(_bytes(c[f"i_DI{side}DI"], c[f"i_DIP{side}DIP"]) for side in sides)
    m.d.comb += [
        write.en.eq(c["i_ENBWREN"]),
        write.addr.eq(Value.cast(c["i_ADDRBWRADDR"])[unused:]),
        write.data.eq(written[:bits]),
        read.en.eq(c["i_ENARDEN"]),
        read.addr.eq(Value.cast(c["i_ADDRARDADDR"])[unused:]),
    ]
    seen = _register(m, read.data, c["i_REGCEAREGCE"]) if c["p_DOA_REG"] else read.data
    found = Signal(36)
    m.d.comb += found.eq(seen)
    for k, side in enumerate("AB"):
        half = found.word_select(k, 18)
        m.d.comb += [
            c[f"o_DO{side}DO"].eq(Cat(half[:8], half[9:17])),
            c[f"o_DOP{side}DOP"].eq(Cat(half[8], half[17])),
        ]
    return m
